// SPDX-License-Identifier: Apache-2.0
#include "backends/redis/info.hpp"

#include "base/reading.hpp"

#include <algorithm>

namespace cremone::redis {

namespace {

constexpr std::size_t id_size = 40;

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view blank = " \t\r";
  const auto from = text.find_first_not_of(blank);
  return from == std::string_view::npos ? std::string_view()
                                        : text.substr(from, text.find_last_not_of(blank) - from + 1);
}

/// The number that `text` begins with; 0 when there is none, as in "rc1".
std::uint32_t leading_number(std::string_view text) {
  return whole_number<std::uint32_t>(text.substr(0, text.find_first_not_of("0123456789"))).value_or(0);
}

/// An id is used in messages, in scripts and in files: nothing but an id must get there.
std::string id_in(std::string_view text) {
  const bool is_id =
      text.size() == id_size && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
  return is_id ? std::string(text) : std::string();
}

/// A word for people to read, likewise.
std::string word_in(std::string_view text) {
  constexpr std::size_t longest = 32;
  const bool is_word = text.size() <= longest &&
                       text.find_first_not_of("abcdefghijklmnopqrstuvwxyz-") == std::string_view::npos;
  return is_word ? std::string(text) : std::string();
}

std::optional<bool> status_in(std::string_view text) {
  if (text.empty()) {
    return std::nullopt;
  }
  return text == "ok";
}

std::optional<std::chrono::seconds> seconds_in(std::optional<std::uint64_t> n) {
  constexpr std::uint64_t century =
      100ULL * 366 * 24 * 3600;  // more is no time that a server was up, and might overflow
  if (!n || *n > century) {
    return std::nullopt;
  }
  return std::chrono::seconds(*n);
}

server_role role_in(std::string_view text) {
  if (text == "master") {
    return server_role::master;
  }
  return text == "slave" || text == "replica" ? server_role::replica : server_role::untold;
}

std::optional<std::uint64_t> forgetting(const info_text& info) {
  std::uint64_t sum = 0;
  for (const std::string_view command : {"flushall", "flushdb", "swapdb", "debug", "replicaof", "slaveof"}) {
    const auto calls = info.calls(command);
    if (!calls) {
      return std::nullopt;
    }
    sum += std::min(*calls, std::uint64_t{1} << 32U);  // no sum of these overflows
  }
  return sum;
}

/// "calls=3,usec=15,…".
std::uint64_t calls_in(std::string_view statistics) {
  while (!statistics.empty()) {
    auto value = cut(statistics, ',');
    if (cut(value, '=') == "calls") {
      // Told, and not to be read: better too many than none.
      return whole_number<std::uint64_t>(value).value_or(1);
    }
  }
  return 1;
}

/// As the scripts read it, for both must name a life alike: whatever else there is to read, and 0 for what makes no sense.
std::uint64_t swaps_in(std::string_view statistics) {
  constexpr std::string_view begins = "calls=";
  if (!statistics.starts_with(begins)) {
    return 0;
  }
  const std::string_view rest = statistics.substr(begins.size());
  return whole_number<std::uint64_t>(rest.substr(0, rest.find_first_not_of("0123456789"))).value_or(0);
}

}  // namespace

std::string_view info_text::text(std::string_view key) const {
  const auto found = values.find(key);
  return found == values.end() ? std::string_view() : std::string_view(found->second);
}

std::optional<std::uint64_t> info_text::number(std::string_view key) const {
  return whole_number<std::uint64_t>(text(key));
}

std::optional<std::uint64_t> info_text::calls(std::string_view command) const {
  if (!whole || !sections.contains("commandstats")) {
    return std::nullopt;
  }
  const std::string key = "cmdstat_" + std::string(command);
  const std::string part = key + "|";
  std::uint64_t sum = 0;
  for (auto at = values.lower_bound(key); at != values.end() && at->first.starts_with(key); ++at) {
    if (at->first == key || at->first.starts_with(part)) {
      sum += std::min(calls_in(at->second), std::uint64_t{1} << 32U);
    }
  }
  return sum;
}

info_text parse_info(std::string_view text) {
  info_text out;
  for (std::size_t lines = 0; !text.empty(); ++lines) {
    auto line = trimmed(cut(text, '\n'));
    if (lines == info_text::most_lines) {
      out.whole = false;
      break;
    }
    if (line.size() > info_text::longest_line) {
      out.whole = false;
    } else if (line.starts_with('#')) {
      std::string name(trimmed(line.substr(1)));
      std::transform(name.begin(), name.end(), name.begin(),
                     [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
      out.sections.insert(std::move(name));
    } else if (line.find(':') != std::string_view::npos) {
      const auto key = trimmed(cut(line, ':'));
      out.values.try_emplace(std::string(key), trimmed(line));
    }
  }
  return out;
}

std::optional<server_version> parse_version(std::string_view text) {
  const auto major = whole_number<std::uint32_t>(cut(text, '.'));
  if (!major) {
    return std::nullopt;
  }
  const auto minor = leading_number(cut(text, '.'));
  return server_version{*major, minor, leading_number(text)};
}

std::string to_string(const server_version& v) {
  return std::to_string(v.major) + "." + std::to_string(v.minor) + "." + std::to_string(v.patch);
}

bool server_facts::always_master() const {
  return role == server_role::master && master_replid2 == std::string(id_size, '0');
}

server_facts read_facts(const info_text& info) {
  server_facts f;
  f.version = parse_version(info.text("redis_version"));
  f.run_id = id_in(info.text("run_id"));
  f.redis_mode = word_in(info.text("redis_mode"));
  f.cluster = f.redis_mode == "cluster" || info.number("cluster_enabled") == 1U;
  f.uptime = seconds_in(info.number("uptime_in_seconds"));
  f.role = role_in(info.text("role"));
  f.connected_replicas = info.number("connected_slaves");
  if (f.connected_replicas) {  // INFO has the next field only while min-replicas is on
    f.min_replicas_on = info.number("min_slaves_good_slaves").has_value();
  }
  f.master_replid2 = id_in(info.text("master_replid2"));
  f.maxmemory = info.number("maxmemory");
  f.used_memory = info.number("used_memory");
  f.maxmemory_policy = word_in(info.text("maxmemory_policy"));
  f.evicted_keys = info.number("evicted_keys");
  if (const auto aof = info.number("aof_enabled")) {
    f.aof_enabled = *aof != 0;
  }
  f.aof_last_write_ok = status_in(info.text("aof_last_write_status"));
  f.rdb_last_save_ok = status_in(info.text("rdb_last_bgsave_status"));
  f.forgetting_calls = forgetting(info);
  f.swaps = swaps_in(info.text("cmdstat_swapdb"));
  return f;
}

void read_config(config_facts& into, std::string_view parameter, std::string_view value) {
  if (parameter == "appendfsync") {
    into.appendfsync = word_in(value);
  } else if (parameter == "no-appendfsync-on-rewrite") {
    into.no_appendfsync_on_rewrite = value == "yes";
  } else if (parameter == "save") {
    constexpr std::size_t longest = 200;
    if (value.size() <= longest && value.find_first_not_of("0123456789 ") == std::string_view::npos) {
      into.save = std::string(value);
    }
  } else if (parameter == "min-replicas-to-write") {
    into.min_replicas_to_write = whole_number<std::uint64_t>(value);
  } else if (parameter == "min-replicas-max-lag") {
    into.min_replicas_max_lag = seconds_in(whole_number<std::uint64_t>(value));
  }
}

}  // namespace cremone::redis
