// SPDX-License-Identifier: Apache-2.0
//
// A Redis server of the simulator: bytes of connections go in, what it says comes out. It has no network, no thread and no clock:
// it is told the time with all it hears. What it stands in for is a single Redis 7.0.15 without replicas that keeps an
// append-only file; what survives a restart is decided by who restarts it.
//
// Knowingly different: one database; hashes are listed in order of their fields; SCAN counts and orders keys its own way; a key
// whose time has come goes when it is looked at, never by itself; see also lua.hpp and numbers.hpp.
#pragma once

#include "sim/redis/keyspace.hpp"
#include "sim/redis/lua.hpp"

#include <cremone/types.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cremone::sim {

/// What is said to a connection.
struct utterance {
  std::uint64_t to;
  std::string bytes;
};

struct server_state;

class redis_server {
 public:
  /// `run_id`: 40 hex digits.
  redis_server(lua& interpreter, std::string run_id, wall_time now);
  redis_server(redis_server&&) noexcept;
  redis_server& operator=(redis_server&&) noexcept;
  redis_server(const redis_server&) = delete;
  redis_server& operator=(const redis_server&) = delete;
  ~redis_server();

  /// Bytes of one connection, in pieces of any size; what is said in answer, and to subscribers, is appended in order. A
  /// connection that does not speak RESP is told so once and then ignored: whoever carries bytes may close it.
  void receive(std::uint64_t connection, std::string_view bytes, wall_time now, std::vector<utterance>& out);
  void disconnect(std::uint64_t connection);

  /// Another life: statistics, scripts, connections and subscriptions are gone; the keys are those of `kept`, minus what has
  /// expired by now.
  void restart(std::string run_id, wall_time now, keyspace kept);

  [[nodiscard]] const keyspace& keys() const;

  /// Called after each command of a connection with its words, its reply in RESP and which keys it has changed, each once (for
  /// checkers, snapshots and traces). It must not call the server. Stays through restarts.
  using witness = std::function<void(std::span<const std::string_view> words, std::string_view reply,
                                     const std::vector<std::string>& changed_keys)>;
  void on_command(witness w);

 private:
  std::unique_ptr<server_state> state_;
  witness witness_;
};

}  // namespace cremone::sim
