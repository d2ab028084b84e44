// SPDX-License-Identifier: Apache-2.0
//
// A real redis-server for tests: on free ports of the loopback, in a directory of its own, gone with its owner or with
// the test process, however that ends. And a way to talk to it behind the library's back.
#pragma once

#include "support/certificates.hpp"
#include "support/clock_file.hpp"
#include "support/resp.hpp"
#include "support/sockets.hpp"
#include "support/temp_directory.hpp"

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace cremone::test {

/// One blocking connection to a server. A server that is gone or silent for the generous bound answers with an error.
class redis_link {
 public:
  explicit redis_link(std::uint16_t port) : socket_(connect_to(port)) {}

  void say(const std::vector<std::string>& words);
  [[nodiscard]] resp hear();
  resp ask(const std::vector<std::string>& words) {
    say(words);
    return hear();
  }

 private:
  descriptor socket_;
  std::string heard_;
};

struct redis_options {
  bool tls = false;                  ///< also a port that speaks TLS only, with certificates of its own
  bool clock = false;                ///< with a wall clock that the test can set
  bool cluster = false;              ///< a node of a cluster, of which there is nothing else
  bool aof = false;                  ///< keeps its data: an append-only file, synced every second
  std::string config{};              ///< lines of a configuration file, which the server may rewrite
  std::vector<std::string> extra{};  ///< more arguments, as "--maxmemory", "10mb"
};

/// Always listens on a TCP port and on a unix socket. A server that does not start throws, which fails the test.
class redis_server {
 public:
  explicit redis_server(redis_options options = {});
  redis_server(const redis_server&) = delete;
  redis_server& operator=(const redis_server&) = delete;
  ~redis_server();

  [[nodiscard]] pid_t pid() const noexcept { return pid_; }
  [[nodiscard]] std::uint16_t port() const noexcept { return port_.number(); }
  [[nodiscard]] const temp_directory& directory() const noexcept { return directory_; }
  [[nodiscard]] const certificates& keys() const { return *certificates_; }
  /// As errors name it: "127.0.0.1:6379".
  [[nodiscard]] std::string node() const { return "127.0.0.1:" + port_.text(); }

  /// For the classic layout in logical database `db`, with more options as "&prefix=x".
  [[nodiscard]] std::string url(int db = 0, const std::string& more = "") const {
    return url_as("", db, more);
  }
  /// The same for a user: "ann:secret".
  [[nodiscard]] std::string url_as(const std::string& credentials, int db = 0,
                                   const std::string& more = "") const;
  [[nodiscard]] std::string tls_url(int db = 0, const std::string& more = "") const;
  [[nodiscard]] std::string unix_url(int db = 0, const std::string& more = "") const;

  /// Asks on a connection of its own, as the default user.
  resp ask(const std::vector<std::string>& words, int db = 0) const;
  /// What it has printed, for messages.
  [[nodiscard]] std::string log() const;
  /// The names of all keys of a database, in order.
  [[nodiscard]] std::vector<std::string> keys_in(int db = 0) const;

  /// How far the wall clock is ahead of ours, from now on and through restarts. For a server with `clock`.
  void set_clock(std::chrono::milliseconds offset) const { clock_.value().set(offset); }

  /// It stands still at this moment since the epoch, until it is set to another one.
  void freeze_clock(std::chrono::microseconds at) const { clock_.value().freeze(at); }

  void suspend() const;
  void resume() const;
  /// Without a chance to say goodbye.
  void kill();
  /// On the same ports, with other extra arguments if they are given. Does not wait for data to be loaded.
  void start_again();
  void start_again(std::vector<std::string> extra);
  /// Kills it and starts it on the same ports, with nothing of what it knew.
  void restart_empty();

  /// How many bytes of writes are in the append-only file, with all in it that was answered before. For a server with
  /// `aof`.
  [[nodiscard]] std::uintmax_t aof_size() const;
  /// Kills it, cuts its append-only file to `bytes` and starts it again: what a power cut leaves when not all was
  /// synced. A kill alone loses nothing, since the kernel has it all. Waits until the data are loaded.
  void restart_with_aof_cut_to(std::uintmax_t bytes);

 private:
  void launch();
  [[nodiscard]] std::vector<std::string> arguments() const;
  [[nodiscard]] std::vector<std::string> environment() const;
  [[nodiscard]] std::filesystem::path aof_directory() const { return directory_.file("appendonlydir"); }
  [[nodiscard]] std::filesystem::path aof_tail() const;

  temp_directory directory_;
  redis_options options_;
  std::optional<certificates> certificates_;
  std::optional<clock_file> clock_;
  reserved_port port_;
  std::optional<reserved_port> tls_port_;
  std::optional<reserved_port> bus_port_;  // by default a port ten thousand higher, which there may not be
  pid_t pid_ = -1;
};

}  // namespace cremone::test
