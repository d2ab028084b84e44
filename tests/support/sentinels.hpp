// SPDX-License-Identifier: Apache-2.0
//
// A Redis that fails over: a master, its replicas, and three Sentinels who watch them and promote a replica when the
// master is gone. They are told to be quick about it: about two seconds.
#pragma once

#include "support/redis_server.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

namespace cremone::test {

/// Up when the constructor returns: the replicas have what the master has, and the Sentinels know them and each other.
class sentinels {
 public:
  explicit sentinels(std::size_t replicas = 2);

  /// What the Sentinels call the master, whoever it is.
  static constexpr const char* name = "story";
  /// The Sentinels, as a URL lists them: "127.0.0.1:5001,127.0.0.1:5002,127.0.0.1:5003".
  [[nodiscard]] std::string nodes() const;

  static constexpr std::size_t count = 3;
  /// One of them, to be killed or stopped; when it starts again it knows what it knew.
  [[nodiscard]] redis_server& one(std::size_t which) { return sentinels_.at(which); }

  /// The first master, also when it is one no more.
  [[nodiscard]] redis_server& master() noexcept { return servers_.front(); }

  /// From here on nothing that the master is told reaches a replica, which has all from before. The replicas stay fit
  /// to be promoted, if the master goes within some ten seconds; clients and Sentinels notice nothing.
  void cut_replication();
  void kill_master() { master().kill(); }
  /// The server to which all Sentinels send clients now that the first master is gone.
  [[nodiscard]] redis_server& new_master();

 private:
  void start_replica();
  void start_sentinel();
  [[nodiscard]] bool replicas_are_in_sync() const;
  [[nodiscard]] bool is_well_informed(const redis_server& sentinel) const;
  [[nodiscard]] redis_server* agreed_master();

  std::size_t replicas_;
  std::deque<redis_server> servers_;  // the first master, then the replicas; these do not move
  std::deque<redis_server> sentinels_;
};

}  // namespace cremone::test
