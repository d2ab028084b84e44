// SPDX-License-Identifier: Apache-2.0
//
// A real PostgreSQL server for tests: on a free port of the loopback, in a directory of its own, gone with its owner or with the test
// process. Superuser `postgres`, no password, an empty database `shop`.
#pragma once

#include "support/server_process.hpp"
#include "support/sockets.hpp"
#include "support/temp_directory.hpp"

#include <cstdint>
#include <string>

namespace cremone::test {

struct postgres_options {
  bool synced =
      true;  ///< whether a commit waits for the disk; what is killed and not cut off from power keeps its data anyway
};

/// A server that does not start throws, which fails the test.
class postgres_server {
 public:
  explicit postgres_server(postgres_options options = {});
  postgres_server(const postgres_server&) = delete;
  postgres_server& operator=(const postgres_server&) = delete;
  ~postgres_server();

  [[nodiscard]] std::uint16_t port() const noexcept { return port_.number(); }
  /// For PQconnectdb.
  [[nodiscard]] std::string conninfo(const std::string& user = "postgres") const;
  /// What it has printed, for messages.
  [[nodiscard]] std::string log() const { return process_.log(); }

  /// With SIGKILL, it and its children.
  void kill() { process_.kill(); }
  /// On the same data and the same port; waits until it has recovered them.
  void start_again();

 private:
  void make_cluster();

  temp_directory directory_;
  reserved_port port_;
  server_user user_{"postgres"};
  postgres_options options_;
  server_process process_;
};

}  // namespace cremone::test
