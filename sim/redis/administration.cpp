// SPDX-License-Identifier: Apache-2.0
//
// Commands about the server itself, and what it tells of itself: a master without replicas that keeps an append-only file.
#include "backends/redis/digest.hpp"
#include "sim/redis/access.hpp"
#include "sim/redis/commands.hpp"
#include "sim/redis/numbers.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <set>
#include <utility>

namespace cremone::sim {

namespace {

using std::chrono::seconds;

struct parameter {
  std::string_view name;
  std::string_view value;
};

/// In the order of their names.
constexpr std::array parameters = {
    parameter{"appendfsync", "everysec"},
    parameter{"appendonly", "yes"},
    parameter{"databases", "1"},
    parameter{"maxmemory", "0"},
    parameter{"maxmemory-policy", "noeviction"},
    parameter{"min-replicas-max-lag", "10"},
    parameter{"min-replicas-to-write", "0"},
    parameter{"no-appendfsync-on-rewrite", "no"},
    parameter{"save", ""},
};

// ---- the sections of INFO ---------------------------------------------------------------------------------

/// In whole seconds of the wall clock, which may have been set meanwhile: it can be negative.
std::int64_t uptime(const server_state& s) {
  return (std::chrono::floor<seconds>(s.now) - std::chrono::floor<seconds>(s.started)).count();
}

std::string about_server(const server_state& s) {
  return "# Server\r\nredis_version:7.0.15\r\nredis_mode:standalone\r\nos:none\r\nrun_id:" + s.run_id +
         "\r\nserver_time_usec:" + std::to_string(s.now.time_since_epoch().count()) +
         "\r\nuptime_in_seconds:" + std::to_string(uptime(s)) + "\r\n";
}

std::string about_clients(const server_state& s) {
  return "# Clients\r\nconnected_clients:" + std::to_string(s.connections.size()) + "\r\n";
}

/// Nothing here depends on how much it is; a number that does not depend on the compiler either.
std::string about_memory(const server_state&) {
  return "# Memory\r\nused_memory:1000000\r\nmaxmemory:0\r\nmaxmemory_policy:noeviction\r\n";
}

std::string about_persistence(const server_state&) {
  return "# Persistence\r\nloading:0\r\nrdb_last_bgsave_status:ok\r\naof_enabled:1\r\n"
         "aof_last_write_status:ok\r\n";
}

std::string about_statistics(const server_state&) { return "# Stats\r\nevicted_keys:0\r\n"; }

std::string about_replication(const server_state& s) {
  return "# Replication\r\nrole:master\r\nconnected_slaves:0\r\nmaster_failover_state:no-failover\r\n"
         "master_replid:" +
         redis::sha1_hex(s.run_id) + "\r\nmaster_replid2:" + std::string(40, '0') +
         "\r\nmaster_repl_offset:0\r\nsecond_repl_offset:-1\r\n";
}

std::string about_commands(const server_state& s) {
  std::string out = "# Commandstats\r\n";
  const auto commands = all_commands();
  for (std::size_t i = 0; i < commands.size(); ++i) {
    const command_count& n = s.counts[i];
    if (n.calls + n.rejected + n.failed > 0) {
      out += "cmdstat_";
      out += commands[i].name;
      out += ":calls=" + std::to_string(n.calls) +
             ",usec=0,usec_per_call=0.00,rejected_calls=" + std::to_string(n.rejected) +
             ",failed_calls=" + std::to_string(n.failed) + "\r\n";
    }
  }
  return out;
}

std::string about_keys(const server_state& s) {
  const auto& all = s.keys.all();
  std::string out = "# Keyspace\r\n";
  if (!all.empty()) {
    const auto ending =
        std::count_if(all.begin(), all.end(), [](const auto& one) { return one.second.expiry; });
    out += "db0:keys=" + std::to_string(all.size()) + ",expires=" + std::to_string(ending) + ",avg_ttl=0\r\n";
  }
  return out;
}

struct section {
  std::string_view name;
  bool by_default;
  std::string (*text)(const server_state&);
};

constexpr std::array sections = {
    section{"server", true, about_server},          section{"clients", true, about_clients},
    section{"memory", true, about_memory},          section{"persistence", true, about_persistence},
    section{"stats", true, about_statistics},       section{"replication", true, about_replication},
    section{"commandstats", false, about_commands}, section{"keyspace", true, about_keys},
};

}  // namespace

void run_info(request& r) {
  std::set<std::string> wanted;
  for (const std::string_view word : r.words.subspan(1)) {
    wanted.insert(lowered(word));
  }
  const bool all = wanted.contains("all") || wanted.contains("everything");
  const bool usual = wanted.empty() || wanted.contains("default");
  std::string text;
  for (const section& s : sections) {
    if (all || (usual && s.by_default) || wanted.contains(std::string(s.name))) {
      text += text.empty() ? "" : "\r\n";
      text += s.text(r.server);
    }
  }
  append_bulk(r.out, text);
}

void run_config_get(request& r) {
  std::vector<const parameter*> found;
  for (const parameter& p : parameters) {
    const bool asked = std::any_of(r.words.begin() + 2, r.words.end(), [&](std::string_view pattern) {
      return glob_matches(lowered(pattern), p.name);
    });
    if (asked) {
      found.push_back(&p);
    }
  }
  append_array(r.out, 2 * found.size());
  for (const parameter* const p : found) {
    append_bulk(r.out, p->name);
    append_bulk(r.out, p->value);
  }
}

void run_config_resetstat(request& r) {
  std::fill(r.server.counts.begin(), r.server.counts.end(), command_count());
  append_status(r.out, "OK");
}

void run_auth(request& r) {
  if (r.words.size() > 3) {
    return append_error(r.out, syntax_error);
  }
  if (r.words.size() == 2) {
    return append_error(r.out,
                        "ERR AUTH <password> called without any password configured for the default user. "
                        "Are you sure your configuration is correct?");
  }
  if (r.word(1) == "default") {
    return append_status(r.out, "OK");
  }
  append_error(r.out, "WRONGPASS invalid username-password pair or user is disabled.");
}

void run_select(request& r) {
  std::int64_t number = 0;
  if (!read_integer(r, 1, number)) {
    return;
  }
  if (number != 0) {
    return append_error(r.out, "ERR DB index is out of range");
  }
  append_status(r.out, "OK");
}

void run_role(request& r) {
  append_array(r.out, 3);
  append_bulk(r.out, "master");
  append_number(r.out, 0);
  append_array(r.out, 0);
}

void run_time(request& r) {
  const std::int64_t now = r.server.now.time_since_epoch().count();
  append_array(r.out, 2);
  append_bulk(r.out, std::to_string(now / 1'000'000));
  append_bulk(r.out, std::to_string(now % 1'000'000));
}

void run_echo(request& r) { append_bulk(r.out, r.word(1)); }

void run_ping(request& r) {
  if (r.words.size() > 2) {
    return say_wrong_count(r, "ping");
  }
  const std::string_view text = r.words.size() == 2 ? r.word(1) : std::string_view();
  const auto self = r.server.connections.find(r.connection);
  if (!r.from_script && self != r.server.connections.end() && !self->second.channels.empty()) {
    append_array(r.out, 2);
    append_bulk(r.out, "pong");
    return append_bulk(r.out, text);
  }
  if (r.words.size() == 2) {
    append_bulk(r.out, text);
  } else {
    append_status(r.out, "PONG");
  }
}

}  // namespace cremone::sim
