// SPDX-License-Identifier: Apache-2.0
//
// What a simulated server knows during one life, and what a command is told when it runs. No decisions.
#pragma once

#include "sim/redis/keyspace.hpp"
#include "sim/redis/lua.hpp"
#include "sim/redis/resp.hpp"
#include "sim/redis/server.hpp"

#include <cremone/types.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cremone::sim {

struct connection_state {
  command_reader reader{};
  std::vector<std::string> channels{};  ///< in the order in which it subscribed
  bool broken = false;                  ///< it does not speak RESP
};

struct command_count {
  std::uint64_t calls = 0;
  std::uint64_t rejected = 0;  ///< before they ran
  std::uint64_t failed = 0;
};

struct server_state {
  lua* interpreter;
  std::string run_id;
  wall_time started;
  wall_time now;  ///< of what is being done

  keyspace keys{};
  std::map<std::uint64_t, connection_state> connections{};
  std::map<std::string, std::vector<std::uint64_t>, std::less<>>
      channels{};                                             ///< who listens, first come first
  std::map<std::string, lua::handle, std::less<>> scripts{};  ///< by SHA-1
  std::vector<command_count> counts{};                        ///< by the place of a command in the table

  std::vector<utterance>* out = nullptr;  ///< while something is received
  std::vector<std::string> changed{};     ///< keys, by the command of a connection that runs
  bool notes_changes = false;
};

/// One command that runs.
struct request {
  server_state& server;
  std::span<const std::string_view> words;
  std::uint64_t connection;
  bool from_script;
  std::string& out;  ///< its reply is appended

  [[nodiscard]] std::string_view word(std::size_t i) const { return words[i]; }
  [[nodiscard]] wall_ms now() const {
    return std::chrono::floor<std::chrono::milliseconds>(server.now).time_since_epoch().count();
  }
};

}  // namespace cremone::sim
