// SPDX-License-Identifier: Apache-2.0
#include "backends/redis/settings.hpp"

#include "base/password.hpp"
#include "base/reading.hpp"
#include "base/text.hpp"

#include <algorithm>
#include <array>
#include <optional>

namespace cremone::redis {

namespace {

constexpr std::uint16_t default_port = 6379;
constexpr std::uint16_t default_sentinel_port = 26379;
constexpr std::size_t most_sentinels = 16;  // a handful is usual; each may cost half a second of silence
constexpr std::size_t longest_master = 128;
constexpr int most_databases = 1'000'000;  // servers have 16 by default; they say so when there are fewer

error bad(std::string detail) { return {errc::invalid_argument, std::move(detail)}; }

std::string option(const url& u, const std::string& key) {
  const auto found = u.options.find(key);
  return found == u.options.end() ? std::string() : found->second;
}

bool has_sentinels(const url& u) { return u.scheme.ends_with("+sentinel"); }

bool has_tls(const url& u) { return u.scheme.starts_with("rediss"); }

}  // namespace

std::string several_logins(const std::string& scheme) {
  return "the URL has an '@' behind the first server; user and password stand once, before the list, and "
         "are for all, as in " +
         scheme + "://user@a,b,c?password_file=FILE; in a password write %40 for an '@'";
}

namespace {

/// One of the hosts in the URL, with its port.
result<endpoint> parse_host(const url& u, std::string_view rest, std::uint16_t usual_port) {
  endpoint into;
  if (rest.starts_with('[')) {
    const auto end = rest.find(']');
    if (end == std::string_view::npos) {
      return bad("the URL's host has a '[' without a ']'");
    }
    into.host = rest.substr(1, end - 1);
    rest.remove_prefix(end + 1);
  } else {
    const auto colon = rest.find(':');
    into.host = rest.substr(0, colon);
    rest.remove_prefix(std::min(colon, rest.size()));
  }
  const std::string example = u.scheme + "://localhost:" + std::to_string(usual_port);
  if (into.host.empty()) {
    return bad(u.scheme + ":// needs a host, as in " + example);
  }
  into.port = usual_port;
  if (!rest.empty()) {
    const auto port = rest.starts_with(':') ? whole_number<std::uint16_t>(rest.substr(1)) : std::nullopt;
    if (!port || *port == 0) {
      return bad("the port of " + printable(into.host) + " must be a number from 1 to 65535, as in " +
                 example);
    }
    into.port = *port;
  }
  return into;
}

result<int> parse_db(const url& u, std::string_view path) {
  const std::string by_option = option(u, "db");
  const std::string_view text = path.size() > 1 ? path.substr(1) : std::string_view(by_option);
  if (path.size() > 1 && !by_option.empty() && by_option != text) {
    return bad("the URL names two databases, in its path and by ?db=");
  }
  if (text.empty()) {
    return 0;
  }
  const auto db = whole_number<int>(text);
  if (!db || *db < 0 || *db > most_databases) {
    return bad("the database '" + printable(text) + "' in the URL is not a number from 0 on");
  }
  return *db;
}

result<layout> parse_layout(const url& u) {
  const std::string text = option(u, "layout");
  if (text == "classic") {
    return layout::classic;
  }
  if (text.empty() || text == "record") {
    return layout::record;
  }
  return bad("there is no layout '" + printable(text) + "'; there are layout=record and layout=classic");
}

/// "500ms", "2s", "5m".
std::optional<std::chrono::milliseconds> duration_in(std::string_view text) {
  const auto unit_at = std::min(text.find_first_not_of("0123456789"), text.size());
  const auto count = whole_number<std::int32_t>(text.substr(0, unit_at));
  const std::string_view unit = text.substr(unit_at);
  if (!count || (unit != "ms" && unit != "s" && unit != "m")) {
    return std::nullopt;
  }
  return std::chrono::milliseconds(std::int64_t{*count} * (unit == "ms" ? 1 : unit == "s" ? 1000 : 60'000));
}

result<void> parse_max_ttl(const url& u, node_settings& into) {
  constexpr std::chrono::milliseconds least{100};
  constexpr std::chrono::hours most{24};
  const std::string text = option(u, "max_ttl");
  if (text.empty()) {
    return {};
  }
  if (into.layout != layout::record) {
    return bad("max_ttl belongs to the layout 'record'; other programs do not know of it");
  }
  const auto given = duration_in(text);
  if (!given || *given < least || *given > most) {
    return bad("max_ttl in the URL must be a time from 100ms to 1440m, as in max_ttl=2s");
  }
  if (into.prefix == node_settings{}.prefix && *given != node_settings{}.max_ttl) {
    return bad(
        "the longest ttl of the usual prefix is 60s for all; for another one add a prefix of its own, "
        "as in prefix=fast&max_ttl=" +
        text);
  }
  into.max_ttl = *given;
  return {};
}

/// The keys of one prefix must never be those of another: 'a' has a lock 'lock:b' at a:lock:lock:b, where 'a:lock' has its 'b'.
bool looks_like_a_key_of_ours(std::string_view prefix) {
  constexpr std::array<std::string_view, 8> kinds = {"boot",  "count", "fence", "lock",
                                                     "queue", "wait",  "wake",  "trial"};
  for (auto at = prefix.find(':'); at != std::string_view::npos; at = prefix.find(':', at + 1)) {
    const std::string_view rest = prefix.substr(at + 1);
    if (std::find(kinds.begin(), kinds.end(), rest.substr(0, rest.find(':'))) != kinds.end()) {
      return true;
    }
  }
  return false;
}

result<void> check_prefix(const std::string& prefix, layout kind) {
  constexpr std::size_t longest = 64;
  if (prefix.empty() || prefix.size() > longest || find_control(prefix) != std::string::npos) {
    return bad("the prefix in the URL must have 1 to " + std::to_string(longest) +
               " bytes without control characters");
  }
  if (kind == layout::record && (prefix.find(' ') != std::string::npos || looks_like_a_key_of_ours(prefix))) {
    return bad("the prefix '" + printable(prefix) +
               "' in the URL must not have blanks, nor a part behind a colon that is the name of cremone's "
               "own keys (boot, "
               "count, fence, lock, queue, wait, wake, trial)");
  }
  return {};
}

result<std::optional<tls_settings>> parse_tls(const url& u) {
  if (!has_tls(u)) {
    return std::optional<tls_settings>();
  }
  tls_settings tls{.ca_file = option(u, "ca"),
                   .cert_file = option(u, "cert"),
                   .key_file = option(u, "key"),
                   .server_name = option(u, "server_name")};
  if (tls.cert_file.empty() != tls.key_file.empty()) {
    return bad("a certificate of our own needs both ?cert= and ?key=");
  }
  return std::optional(std::move(tls));
}

/// What Redis's own documentation allows in the name of a master, and a bound.
result<std::string> parse_master(const url& u) {
  const std::string_view name = std::string_view(u.path).substr(u.path.empty() ? 0 : 1);
  if (name.empty()) {
    return bad(u.scheme + ":// needs the name that the sentinels have for the master, as in " + u.scheme +
               "://one,two,three/mymaster");
  }
  const bool fine = std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '-' || c == '_';
  });
  if (!fine || name.size() > longest_master) {
    return bad("the master's name in the URL must have 1 to " + std::to_string(longest_master) +
               " letters, digits, '.', '-' or '_'; the database is given by ?db=");
  }
  return std::string(name);
}

result<void> parse_sentinels(const url& u, const std::optional<tls_settings>& tls, node_settings& into) {
  sentinel_settings made;
  if (u.bare_at) {
    return bad(several_logins(u.scheme));
  }
  for (std::string_view rest = u.authority;;) {
    const auto comma = rest.find(',');
    auto one = parse_host(u, rest.substr(0, comma), default_sentinel_port);
    if (!one) {
      return one.error();
    }
    one->tls = tls;
    made.at.push_back(std::move(*one));
    if (comma == std::string_view::npos) {
      break;
    }
    rest.remove_prefix(comma + 1);
  }
  if (made.at.size() > most_sentinels) {
    return bad("the URL names " + std::to_string(made.at.size()) + " sentinels; " +
               std::to_string(most_sentinels) + " of them are enough");
  }
  auto master = parse_master(u);
  if (!master) {
    return master.error();
  }
  auto password = password_of(u, "sentinel_", "");
  if (!password) {
    return password.error();
  }
  made.master = std::move(*master);
  made.user = option(u, "sentinel_user");
  made.password = std::move(*password);
  if (!made.user.empty() && made.password.empty()) {
    return bad("?sentinel_user= needs ?sentinel_password_file= or ?sentinel_password_env=");
  }
  into.node = made.master + " via";
  for (const endpoint& one : made.at) {
    into.node += (&one == &made.at.front() ? " " : ",") + one.shown();
  }
  into.sentinels = std::move(made);
  return {};
}

result<void> parse_place(const url& u, node_settings& into) {
  if (u.scheme == "redis+unix") {
    if (!u.authority.empty() || u.path.size() < 2) {
      return bad(
          "redis+unix:// takes the absolute path of a socket, as in "
          "redis+unix:///run/redis/redis.sock");
    }
    into.where.path = u.path;
    into.node = into.where.shown();
    return {};
  }
  auto tls = parse_tls(u);
  if (!tls) {
    return tls.error();
  }
  if (has_sentinels(u)) {
    into.where.tls = *tls;
    return parse_sentinels(u, *tls, into);
  }
  if (u.authority.find(',') != std::string::npos) {
    return bad(u.scheme + ":// names one server; a list of sentinels is for " + u.scheme +
               "+sentinel://, a list of servers that vote for redlock://");
  }
  auto one = parse_host(u, u.authority, default_port);
  if (!one) {
    return one.error();
  }
  into.where = std::move(*one);
  into.where.tls = std::move(*tls);
  into.node = into.where.shown();
  return {};
}

/// As duration_in() reads it.
std::string duration_text(std::chrono::milliseconds length) {
  const auto count = length.count();
  if (count % 60'000 == 0) {
    return std::to_string(count / 60'000) + "m";
  }
  return count % 1000 == 0 ? std::to_string(count / 1000) + "s" : std::to_string(count) + "ms";
}

/// Where, and which locks there: what is not as usual of the options that decide that. A URL that leads to the same locks, for
/// who may log in; the others may be secret, or are files of this machine.
std::string shown_store(const url& u, const node_settings& to) {
  const node_settings usual;
  std::string options;
  const auto add = [&](const std::string& key, const std::string& value) {
    options += (options.empty() ? "?" : "&") + key + "=" + value;
  };
  if (to.layout != usual.layout) {
    add("layout", "classic");
  }
  if (to.prefix != usual.prefix) {
    add("prefix", url_path(to.prefix));
  }
  if (to.max_ttl != usual.max_ttl) {
    add("max_ttl", duration_text(to.max_ttl));
  }
  if (to.db != usual.db && u.options.contains("db")) {  // else it stands in the path
    add("db", std::to_string(to.db));
  }
  return u.shown() + options;
}

result<void> check_options(const url& u) {
  if (has_sentinels(u)) {
    return has_tls(u) ? u.allow_only({"layout", "prefix", "max_ttl", "db", "password_file", "password_env",
                                      "sentinel_user", "sentinel_password_file", "sentinel_password_env",
                                      "ca", "cert", "key", "server_name"})
                      : u.allow_only({"layout", "prefix", "max_ttl", "db", "password_file", "password_env",
                                      "sentinel_user", "sentinel_password_file", "sentinel_password_env"});
  }
  return has_tls(u) ? u.allow_only({"layout", "prefix", "max_ttl", "db", "password_file", "password_env",
                                    "ca", "cert", "key", "server_name"})
                    : u.allow_only({"layout", "prefix", "max_ttl", "db", "password_file", "password_env"});
}

}  // namespace

result<node_settings> parse_settings(const url& u) {
  if (auto fine = check_options(u); !fine) {
    return fine.error();
  }
  node_settings out;
  if (auto fine = parse_place(u, out); !fine) {
    return fine.error();
  }
  const auto kind = parse_layout(u);
  if (!kind) {
    return kind.error();
  }
  out.layout = *kind;
  const bool path_is_db = u.scheme != "redis+unix" && !has_sentinels(u);
  const auto db = parse_db(u, path_is_db ? std::string_view(u.path) : std::string_view());
  if (!db) {
    return db.error();
  }
  out.db = *db;
  if (u.options.contains("prefix")) {
    out.prefix = option(u, "prefix");
    if (auto fine = check_prefix(out.prefix, out.layout); !fine) {
      return fine.error();
    }
  }
  if (auto fine = parse_max_ttl(u, out); !fine) {
    return fine.error();
  }
  auto password = password_of(u, "", u.password);
  if (!password) {
    return password.error();
  }
  out.user = u.user;
  out.password = std::move(*password);
  if (!out.user.empty() && out.password.empty()) {
    return bad("the URL names a user and no password; add it, or ?password_file= or ?password_env=");
  }
  out.store = shown_store(u, out);
  return out;
}

}  // namespace cremone::redis
