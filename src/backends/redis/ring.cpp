// SPDX-License-Identifier: Apache-2.0
//
// What a redlock:// URL says: which servers vote, and what they must agree on. Each server's own part is that of a redis:// URL.
#include "backends/redis/digest.hpp"
#include "backends/redis/settings.hpp"
#include "base/text.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

namespace cremone::redis {

namespace {

/// Nine stand four failures. More make every lock slower and nothing safer.
constexpr std::size_t most_voters = 31;
constexpr std::size_t longest_ring = 64;

error bad(std::string detail) { return {errc::invalid_argument, std::move(detail)}; }

std::string option(const url& u, const std::string& key) {
  const auto found = u.options.find(key);
  return found == u.options.end() ? std::string() : found->second;
}

/// Of those that all servers share.
constexpr std::array<std::string_view, 2> of_the_ring = {"ring", "amnesia"};
constexpr std::array<std::string_view, 3> of_the_locks = {"layout", "prefix", "max_ttl"};

struct listed {
  url server;
  std::string where{};  ///< it stands, if that is a file: for messages
};

result<std::vector<listed>> listed_in_the_url(const url& u) {
  if (u.bare_at) {
    return bad(several_logins(u.scheme) +
               ". Servers with passwords of their own are listed in a file: redlock:///etc/cremone/servers");
  }
  std::vector<listed> all;
  for (std::string_view rest = u.authority;;) {
    const auto comma = rest.find(',');
    url one = u;
    one.scheme = u.scheme == "redlocks" ? "rediss" : "redis";
    one.authority = rest.substr(0, comma);
    if (one.authority.empty()) {
      return bad(
          "redlock:// has a comma without a host beside it; servers are listed as in "
          "redlock://a:6379,b:6379,c:6379");
    }
    for (const std::string_view key : of_the_ring) {
      one.options.erase(std::string(key));
    }
    all.push_back({std::move(one)});
    if (comma == std::string_view::npos) {
      return all;
    }
    rest.remove_prefix(comma + 1);
  }
}

/// One line of the file. `here` names it.
result<url> server_in(const std::string& line, const url& u, const std::string& here) {
  auto one = parse_url(line);
  if (!one) {
    return error(errc::misconfigured, here + one.error().detail());
  }
  if (one->scheme != "redis" && one->scheme != "rediss" && one->scheme != "redis+unix") {
    return error(errc::misconfigured,
                 here + "a server that votes is named by redis://, rediss:// or redis+unix://");
  }
  for (const std::string_view key : of_the_locks) {
    if (one->options.contains(std::string(key))) {
      return error(errc::misconfigured, here + "'" + std::string(key) +
                                            "' is for all servers alike; it belongs to the redlock:// URL");
    }
    if (u.options.contains(std::string(key))) {
      one->options[std::string(key)] = option(u, std::string(key));
    }
  }
  return one;
}

result<std::vector<listed>> listed_in_a_file(const url& u) {
  // With an '@' the path may be a password and a host behind one slash too many.
  const std::string where =
      "the list of servers " +
      (u.path.find('@') == std::string::npos ? printable(u.path) : "that the URL's path names");
  if (!u.user.empty() || !u.password.empty()) {
    return bad("redlock:// with a file takes users and passwords from the lines of that file");
  }
  std::error_code unclear;
  if (std::filesystem::is_directory(u.path, unclear)) {
    return error(errc::misconfigured, where + " is a directory; name the file in it");
  }
  errno = 0;
  std::ifstream in(u.path, std::ios::binary);
  if (!in) {
    return error(errc::misconfigured,
                 where + " cannot be read: " + std::generic_category().message(errno == 0 ? EIO : errno));
  }
  std::vector<listed> all;
  std::string line;
  for (int number = 1; std::getline(in, line); ++number) {
    while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) {
      line.pop_back();
    }
    if (line.empty() || line.front() == '#') {
      continue;
    }
    const std::string here = where + ", line " + std::to_string(number) + ": ";
    auto one = server_in(line, u, here);
    if (!one) {
      return one.error();
    }
    all.push_back({std::move(*one), here});
    if (all.size() > most_voters) {
      break;
    }
  }
  if (in.bad()) {
    return error(errc::misconfigured, where + " cannot be read to its end");
  }
  if (all.empty()) {
    return error(errc::misconfigured, where + " names none");
  }
  return all;
}

/// What names the set of servers for all who use it: what they agreed to call it, else where each of them is.
result<std::string> name_of_the_ring(const url& u, const std::vector<node_settings>& nodes) {
  if (u.options.contains("ring")) {
    const std::string name = option(u, "ring");
    const bool fine =
        !name.empty() && name.size() <= longest_ring && std::all_of(name.begin(), name.end(), [](char c) {
          return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
                 c == '-' || c == '_';
        });
    if (!fine) {
      return bad("ring in the URL must have 1 to " + std::to_string(longest_ring) +
                 " letters, digits, '.', '-' or '_'");
    }
    return "named:" + name;
  }
  std::vector<std::string> places;
  places.reserve(nodes.size());
  for (const node_settings& n : nodes) {
    places.push_back(n.node + "/" + std::to_string(n.db));
  }
  std::sort(places.begin(), places.end());
  std::string all;
  for (const std::string& p : places) {
    all += p + " ";
  }
  return "listed:" + sha1_hex(all).substr(0, 16);
}

result<bool> parse_amnesia(const url& u, layout kind) {
  const std::string text = option(u, "amnesia");
  if (!text.empty() && kind != layout::record) {
    return bad("amnesia belongs to the layout 'record'; in the others nobody notices");
  }
  if (text.empty() || text == "time" || text == "strict") {
    return text == "strict";
  }
  return bad("amnesia in the URL is amnesia=time or amnesia=strict");
}

/// No two of them in one place. `by_file`: they stand in one.
result<void> check_places(const std::vector<node_settings>& nodes, bool by_file) {
  for (auto a = nodes.begin(); a != nodes.end(); ++a) {
    const bool twice =
        std::any_of(nodes.begin(), a, [&](const node_settings& b) { return b.node == a->node; });
    if (twice) {
      return error(by_file ? errc::misconfigured : errc::invalid_argument,
                   (by_file ? "the list of servers" : "redlock://") + std::string(" names ") + a->node +
                       " twice; each server has one vote");
    }
  }
  return {};
}

/// As a redis:// URL is shown: what decides which locks these are.
std::string shown_ring(const url& u, const node_settings& one, bool strict) {
  const auto options = one.store.find('?');
  std::string text = u.shown() + (options == std::string::npos ? "" : one.store.substr(options));
  const auto add = [&](const std::string& key, const std::string& value) {
    text += (text.find('?') == std::string::npos ? "?" : "&") + key + "=" + value;
  };
  if (u.options.contains("ring")) {
    add("ring", option(u, "ring"));
  }
  if (strict) {
    add("amnesia", "strict");
  }
  return text;
}

}  // namespace

result<ring_settings> parse_ring(const url& u) {
  const bool tls = u.scheme == "redlocks";
  const bool by_file = u.authority.empty() && u.path.size() > 1;
  if (u.authority.empty() && !by_file) {
    return bad(u.scheme + ":// needs servers, as in " + u.scheme +
               "://a:6379,b:6379,c:6379, or a file that lists them, as in " + u.scheme +
               ":///etc/cremone/servers");
  }
  auto fine = by_file ? u.allow_only({"layout", "prefix", "max_ttl", "ring", "amnesia"})
              : tls   ? u.allow_only({"layout", "prefix", "max_ttl", "db", "password_file", "password_env",
                                      "ring", "amnesia", "ca", "cert", "key", "server_name"})
                      : u.allow_only({"layout", "prefix", "max_ttl", "db", "password_file", "password_env",
                                      "ring", "amnesia"});
  if (!fine) {
    return fine.error();
  }
  const auto servers = by_file ? listed_in_a_file(u) : listed_in_the_url(u);
  if (!servers) {
    return servers.error();
  }
  if (servers->size() > most_voters) {
    return bad("redlock:// takes at most " + std::to_string(most_voters) +
               " servers; five or seven are usual");
  }
  ring_settings out;
  for (const listed& one : *servers) {
    auto node = parse_settings(one.server);
    if (!node && by_file) {
      return error(errc::misconfigured, one.where + node.error().detail());
    }
    if (!node) {
      return node.error();
    }
    out.nodes.push_back(std::move(*node));
  }
  if (auto apart = check_places(out.nodes, by_file); !apart) {
    return apart.error();
  }
  const auto strict = parse_amnesia(u, out.nodes.front().layout);
  const auto ring = name_of_the_ring(u, out.nodes);
  if (!strict || !ring) {
    return !strict ? strict.error() : ring.error();
  }
  out.store = shown_ring(u, out.nodes.front(), *strict);
  for (node_settings& n : out.nodes) {
    n.strict = *strict;
    n.voters = out.nodes.size();
    n.ring = n.voters == 1 ? std::string() : *ring;
  }
  return out;
}

}  // namespace cremone::redis
