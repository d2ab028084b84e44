// SPDX-License-Identifier: Apache-2.0
#include "backends/redis/settings.hpp"

#include "base/text.hpp"

#include <charconv>
#include <cstdlib>
#include <fstream>
#include <optional>

namespace cremone::redis {

namespace {

constexpr std::uint16_t default_port = 6379;
constexpr int most_databases = 1'000'000;  // servers have 16 by default; they say so when there are fewer
constexpr std::size_t longest_password = 4096;

error bad(std::string detail) { return {errc::invalid_argument, std::move(detail)}; }

std::string option(const url& u, const std::string& key) {
  const auto found = u.options.find(key);
  return found == u.options.end() ? std::string() : found->second;
}

template <class Number>
std::optional<Number> whole_number(std::string_view text) {
  Number n{};
  const auto [stop, failed] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (text.empty() || failed != std::errc() || stop != text.data() + text.size()) {
    return std::nullopt;
  }
  return n;
}

result<void> parse_host(const url& u, endpoint& into) {
  std::string_view rest = u.authority;
  if (rest.find(',') != std::string_view::npos) {
    return bad(
        u.scheme +
        ":// names one server; a list of them is for redlock://, which this version does not have yet");
  }
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
  if (into.host.empty()) {
    return bad(u.scheme + ":// needs a host, as in " + u.scheme + "://localhost:6379");
  }
  into.port = default_port;
  if (!rest.empty()) {
    const auto port = rest.starts_with(':') ? whole_number<std::uint16_t>(rest.substr(1)) : std::nullopt;
    if (!port || *port == 0) {
      return bad("the URL's port must be a number from 1 to 65535, as in " + u.scheme + "://localhost:6379");
    }
    into.port = *port;
  }
  return {};
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

/// One line, without its line break.
result<std::string> read_password(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  std::string line;
  if (!in || !std::getline(in, line)) {
    return error(errc::misconfigured,
                 "no password can be read from the file " + printable(file) + " of ?password_file=");
  }
  if (!line.empty() && line.back() == '\r') {
    line.pop_back();
  }
  if (line.empty() || line.size() > longest_password) {
    return error(errc::misconfigured, "the first line of the file " + printable(file) +
                                          " of ?password_file= is not a password: it has " +
                                          std::to_string(line.size()) + " bytes");
  }
  return line;
}

result<std::string> find_password(const url& u) {
  const std::string file = option(u, "password_file");
  const std::string variable = option(u, "password_env");
  if ((u.password.empty() ? 0 : 1) + (file.empty() ? 0 : 1) + (variable.empty() ? 0 : 1) > 1) {
    return bad(
        "the URL gives more than one password: in itself, by ?password_file= or by ?password_env=; keep one");
  }
  if (!file.empty()) {
    return read_password(file);
  }
  if (!variable.empty()) {
    const char* const value = std::getenv(variable.c_str());
    if (value == nullptr || *value == '\0') {
      return error(errc::misconfigured,
                   "the environment variable " + printable(variable) + " of ?password_env= is not set");
    }
    return std::string(value);
  }
  return u.password;
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

result<void> check_prefix(const std::string& prefix) {
  constexpr std::size_t longest = 64;
  if (prefix.empty() || prefix.size() > longest || find_control(prefix) != std::string::npos) {
    return bad("the prefix in the URL must have 1 to " + std::to_string(longest) +
               " bytes without control characters");
  }
  return {};
}

result<void> parse_place(const url& u, node_settings& into) {
  if (u.scheme == "redis+unix") {
    if (!u.authority.empty() || u.path.size() < 2) {
      return bad(
          "redis+unix:// takes the absolute path of a socket, as in "
          "redis+unix:///run/redis/redis.sock?layout=classic");
    }
    into.where.path = u.path;
    return {};
  }
  if (auto fine = parse_host(u, into.where); !fine) {
    return fine;
  }
  if (u.scheme == "rediss") {
    into.where.tls = tls_settings{.ca_file = option(u, "ca"),
                                  .cert_file = option(u, "cert"),
                                  .key_file = option(u, "key"),
                                  .server_name = option(u, "server_name")};
    if (into.where.tls->cert_file.empty() != into.where.tls->key_file.empty()) {
      return bad("a certificate of our own needs both ?cert= and ?key=");
    }
  }
  return {};
}

}  // namespace

result<node_settings> parse_settings(const url& u) {
  const bool tls = u.scheme == "rediss";
  if (auto fine = tls ? u.allow_only({"layout", "prefix", "max_ttl", "db", "password_file", "password_env",
                                      "ca", "cert", "key", "server_name"})
                      : u.allow_only({"layout", "prefix", "max_ttl", "db", "password_file", "password_env"});
      !fine) {
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
  const auto db = parse_db(u, u.scheme == "redis+unix" ? std::string_view() : std::string_view(u.path));
  if (!db) {
    return db.error();
  }
  out.db = *db;
  if (u.options.contains("prefix")) {
    out.prefix = option(u, "prefix");
    if (auto fine = check_prefix(out.prefix); !fine) {
      return fine.error();
    }
  }
  if (auto fine = parse_max_ttl(u, out); !fine) {
    return fine.error();
  }
  auto password = find_password(u);
  if (!password) {
    return password.error();
  }
  out.user = u.user;
  out.password = std::move(*password);
  if (!out.user.empty() && out.password.empty()) {
    return bad("the URL names a user and no password; add it, or ?password_file= or ?password_env=");
  }
  out.node = out.where.shown();
  out.store = u.shown();
  return out;
}

}  // namespace cremone::redis
