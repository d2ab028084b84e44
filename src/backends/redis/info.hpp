// SPDX-License-Identifier: Apache-2.0
//
// What a Redis server says about itself: the text of INFO, and what CONFIG GET adds where the ACL allows it, as facts. Asks
// nothing and judges nothing. The text is not trusted: its size is bounded, and what is no number or no id is left out.
#pragma once

#include <chrono>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace cremone::redis {

/// The text of INFO, cut up.
struct info_text {
  /// Redis 7.0 has some 200 lines, and one for each command, error and replica. What comes after these is not read.
  static constexpr std::size_t most_lines = 5'000;
  static constexpr std::size_t longest_line = 1'024;  ///< longer ones are left out

  std::set<std::string, std::less<>> sections;  ///< "server", "commandstats", …; also those that are empty
  std::map<std::string, std::string, std::less<>>
      values;         ///< keys are unique across sections; else the first counts
  bool whole = true;  ///< nothing was left out

  /// Empty when there is no such line.
  [[nodiscard]] std::string_view text(std::string_view key) const;
  [[nodiscard]] std::optional<std::uint64_t> number(std::string_view key) const;

  /// How often a command was carried out or failed since the server started or CONFIG RESETSTAT, all its subcommands
  /// together. Empty when the text has no Commandstats, or not all of them.
  [[nodiscard]] std::optional<std::uint64_t> calls(std::string_view command) const;
};

[[nodiscard]] info_text parse_info(std::string_view text);

struct server_version {
  std::uint32_t major = 0;
  std::uint32_t minor = 0;
  std::uint32_t patch = 0;

  friend auto operator<=>(const server_version&, const server_version&) = default;
};

/// "7.0.15", "7.2", "8.0.0-rc1".
[[nodiscard]] std::optional<server_version> parse_version(std::string_view text);

[[nodiscard]] std::string to_string(const server_version& v);

enum class server_role : std::uint8_t { untold, master, replica };

/// Only CONFIG GET tells these. It may be denied or renamed: then they are empty.
struct config_facts {
  std::optional<std::string> appendfsync{};  ///< "always", "everysec", "no"
  std::optional<bool> no_appendfsync_on_rewrite{};
  std::optional<std::string> save{};  ///< "3600 1 300 100"; empty text: no snapshots
  std::optional<std::uint64_t> min_replicas_to_write{};
  std::optional<std::chrono::seconds> min_replicas_max_lag{};  ///< 0 switches min-replicas off
};

/// What is empty, the server did not tell.
struct server_facts {
  std::optional<server_version> version{};
  std::string run_id;      ///< 40 hex digits, nothing else: it becomes part of a script
  std::string redis_mode;  ///< "standalone", "cluster", "sentinel"
  bool cluster = false;
  std::optional<std::chrono::seconds> uptime{};

  server_role role = server_role::untold;
  std::optional<std::uint64_t> connected_replicas{};
  /// Whether the server refuses writes when too few replicas follow. Only CONFIG GET shows the
  /// number.
  std::optional<bool> min_replicas_on{};
  std::string
      master_replid2;  ///< 40 hex digits, nothing else: it becomes part of a script; zeros unless it was a replica once, or followed one

  std::optional<std::uint64_t> maxmemory{};  ///< 0: no limit
  std::optional<std::uint64_t> used_memory{};
  std::string maxmemory_policy;
  std::optional<std::uint64_t> evicted_keys{};

  std::optional<bool> aof_enabled{};
  std::optional<bool> aof_last_write_ok{};
  std::optional<bool> rdb_last_save_ok{};

  /// FLUSHALL, FLUSHDB, SWAPDB, DEBUG, REPLICAOF and SLAVEOF, which can make a server forget while it stays up. Empty: not told.
  std::optional<std::uint64_t> forgetting_calls{};

  std::uint64_t swaps = 0;  ///< calls of SWAPDB; 0 also when it does not tell

  config_facts config{};

  /// It has been a master, of its own data, for as long as it has been up. False also when it does not tell.
  [[nodiscard]] bool always_master() const;
};

[[nodiscard]] server_facts read_facts(const info_text& info);

/// One pair of what CONFIG GET answers; other parameters are passed over.
void read_config(config_facts& into, std::string_view parameter, std::string_view value);

/// The parameters that read_config() knows, one CONFIG GET for each: Redis 6 takes only one at a time.
inline constexpr std::string_view config_parameters[] = {"appendfsync", "no-appendfsync-on-rewrite", "save",
                                                         "min-replicas-to-write", "min-replicas-max-lag"};

}  // namespace cremone::redis
