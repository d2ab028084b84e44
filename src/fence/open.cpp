// SPDX-License-Identifier: Apache-2.0
//
// Which URL is whose, and what is said of one that is nobody's. The only file of the fence that knows all kinds of databases; each is
// switched on by its CMake component.
#include "fence/open.hpp"

#include "base/suggest.hpp"
#include "base/text.hpp"
#include "fence/open_parts.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <stop_token>
#include <utility>
#include <vector>

namespace cremone::fence {

namespace {

struct scheme {
  std::string_view name;
  opened_marks (*open)(const destination&);
  std::optional<sql_dialect> dialect;  // none where nothing has to be made
};

constexpr std::array schemes = {
#ifdef CREMONE_WITH_SQLITE
    scheme{"sqlite", open_sqlite, sql_dialect::sqlite},
#endif
#ifdef CREMONE_WITH_POSTGRES
    scheme{"postgres", open_postgres, sql_dialect::postgres},
    scheme{"postgresql", open_postgres, sql_dialect::postgres},
#endif
#ifdef CREMONE_WITH_MARIADB
    scheme{"mariadb", open_mariadb, sql_dialect::mariadb},
    scheme{"mysql", open_mariadb, sql_dialect::mariadb},
#endif
#ifdef CREMONE_WITH_REDIS
    scheme{"redis", open_redis, std::nullopt},
    scheme{"rediss", open_redis, std::nullopt},
    scheme{"redis+unix", open_redis, std::nullopt},
#endif
    scheme{"", nullptr, std::nullopt},  // so that a build without any still compiles
};

error bad(std::string detail) { return {errc::invalid_argument, std::move(detail)}; }

error unknown_scheme(const std::string& name) {
  std::string known;
  std::vector<std::string_view> names;
  for (const scheme& s : schemes) {
    if (s.open != nullptr) {
      known += (known.empty() ? "" : ", ") + std::string(s.name) + "://";
      names.push_back(s.name);
    }
  }
  const std::string none = "no fence is behind " + name + "://; ";
  if (name.starts_with("redlock")) {
    return bad(none + "a lock may be kept by several servers, and what it protects is in one: " + known);
  }
  if (name.ends_with("+sentinel")) {
    return bad(
        none +
        "cremone fence does not ask Sentinels. Give the master's own address, with redis:// or rediss://");
  }
  const std::string_view meant = closest(name, names);
  return bad(none + (meant.empty() ? "this build has " + (known.empty() ? "none" : known)
                                   : "did you mean " + std::string(meant) + "://?"));
}

/// An identifier that all of these databases accept without quotes. Statements quote it
/// nevertheless. The limit is PostgreSQL's: it truncates a longer name, and would find another
/// table.
result<void> check_table(std::string_view name) {
  constexpr std::size_t longest = 63;
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  const bool fits =
      !name.empty() && name.size() <= longest && letter(name.front()) &&
      std::all_of(name.begin(), name.end(), [&](char c) { return letter(c) || (c >= '0' && c <= '9'); });
  if (fits) {
    return {};
  }
  return bad("--table: '" + printable(name) + "' is no identifier: write 1 to " + std::to_string(longest) +
             " letters, digits or '_', and no digit first");
}

struct known_destination {
  destination where;
  const scheme* kind = nullptr;
};

result<known_destination> find(std::string_view text, const open_options& how) {
  if (text.find("://") == std::string_view::npos) {
    return bad("the URL must look like scheme://…, for example sqlite:///srv/shop.db");
  }
  auto parsed = parse_url(text);
  if (!parsed) {
    return parsed.error();
  }
  const auto* const found = std::find_if(schemes.begin(), schemes.end(), [&](const scheme& s) {
    return s.open != nullptr && s.name == parsed->scheme;
  });
  if (found == schemes.end()) {
    return unknown_scheme(parsed->scheme);
  }
  if (auto fine = check_table(how.table); !fine) {
    return fine.error();
  }
  if (!found->dialect && how.table != default_table) {
    return bad(parsed->scheme + ":// has no tables; leave --table out");
  }
  // Capitals do not matter in a scheme, but to libpq they do.
  std::string as_known = parsed->scheme + std::string(text.substr(parsed->scheme.size()));
  return known_destination{{std::move(as_known), std::move(*parsed), how}, found};
}

}  // namespace

result<std::unique_ptr<mark_store>> open_marks(std::string_view url, const open_options& how) {
  const auto found = find(url, how);
  if (!found) {
    return found.error();
  }
  return found->kind->open(found->where);
}

result<std::optional<std::string>> needed_statement(std::string_view url, std::string_view table) {
  const auto found = find(url, {.table = std::string(table)});
  if (!found) {
    return found.error();
  }
  const auto& dialect = found->kind->dialect;
  return dialect ? std::optional(sql_gate::ddl(*dialect, table)) : std::nullopt;
}

answer_limit::answer_limit(int socket)
    : watch_([this, socket](const std::stop_token& done) {
        std::unique_lock lock(mutex_);
        if (!over_.wait_for(lock, done, answer_patience, [&] { return done.stop_requested(); })) {
          passed_ = true;
          ::shutdown(socket, SHUT_RDWR);
        }
      }) {}

std::string answer_limit::too_late(const std::string& name) {
  return name + ": no complete answer within " + std::to_string(answer_patience.count()) +
         " s, so the connection was closed; is the database stopped or overloaded?";
}

std::string one_line(std::string_view message) {
  std::string line;
  while (!message.empty()) {
    const auto end = std::min(message.find('\n'), message.size());
    std::string_view part = message.substr(0, end);
    message.remove_prefix(std::min(end + 1, message.size()));
    part.remove_prefix(std::min(part.find_first_not_of(" \t"), part.size()));
    if (!part.empty()) {
      line += (line.empty() ? "" : "; ") + std::string(part);
    }
  }
  std::replace(line.begin(), line.end(), '\t', ' ');
  return printable(line);
}

}  // namespace cremone::fence
