// SPDX-License-Identifier: Apache-2.0
//
// From a URL to what keeps marks there, with a connection of its own: for the command line tool, whose users have no connection to
// bring. Names the databases that this build knows. What a mark is, and how it is checked, is in the public headers. Not installed.
#pragma once

#include <cremone/fence.hpp>
#include <cremone/fence_sql.hpp>
#include <cremone/result.hpp>

#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace cremone::fence {

/// A database or a Redis server. Errors as those of sql_gate and redis_gate. Threads: one at a time.
class mark_store {
 public:
  mark_store() = default;
  mark_store(const mark_store&) = delete;
  mark_store& operator=(const mark_store&) = delete;
  virtual ~mark_store() = default;

  /// For messages, without secrets: "PostgreSQL database 'shop' on db1".
  [[nodiscard]] virtual std::string name() const = 0;

  /// Lets the token pass and remembers it, in a transaction of its own.
  [[nodiscard]] virtual result<void> check(const resource_name& resource, fence_token token) = 0;

  /// Zero for none.
  [[nodiscard]] virtual result<fence_token> highest(const resource_name& resource) = 0;

  /// Makes what is needed, where it is not there yet.
  [[nodiscard]] virtual result<void> create() = 0;
};

struct open_options {
  std::string table = std::string(default_table);
  bool make_file = false;  ///< a SQLite database that is not there is made; else *misconfigured*
};

/// sqlite:///path; postgres:// or postgresql://, all that libpq reads; mariadb:// or
/// mysql://[user[:password]@]host[:port]/database with the options password_file, password_env and
/// socket, else the password is MYSQL_PWD; redis://, rediss:// and redis+unix:// as for locks, but
/// no Sentinels. Time limits: open_parts.hpp, and redis_line.hpp for Redis.
///
/// *invalid_argument* names what is wrong with the URL or the table's name, or which ones this
/// build has; *misconfigured* (no such database, no such password file); *unreachable*;
/// *access_denied*. No message has a password in it.
[[nodiscard]] result<std::unique_ptr<mark_store>> open_marks(std::string_view url,
                                                             const open_options& how = {});

/// The statement that create() would run there, without asking anybody; none where nothing is needed. *invalid_argument* as above.
[[nodiscard]] result<std::optional<std::string>> needed_statement(std::string_view url,
                                                                  std::string_view table = default_table);

}  // namespace cremone::fence
