// SPDX-License-Identifier: Apache-2.0
//
// Marks in a SQLite database, opened by its path.
#include "base/text.hpp"
#include "fence/open_parts.hpp"

#include <cremone/fence_sqlite.hpp>

#include <sqlite3.h>
#include <sys/stat.h>

#include <cerrno>
#include <system_error>

namespace cremone::fence {

namespace {

/// SQLite says "unable to open database file" of them all.
error not_opened(const std::string& path, int os_error) {
  const std::string shown = "SQLite database '" + printable(path) + "'";
  struct stat found {};
  if (::stat(path.c_str(), &found) == 0 && S_ISDIR(found.st_mode)) {
    return {errc::invalid_argument, shown + " is a directory"};
  }
  const std::string why = os_error == 0 ? "SQLite cannot open it" : std::generic_category().message(os_error);
  if (os_error == ENOENT || os_error == ENOTDIR) {
    return {errc::misconfigured, shown + " is not there: " + why};
  }
  if (os_error == EACCES || os_error == EPERM) {
    return {errc::access_denied, shown + ": " + why};
  }
  return {errc::storage_error, shown + ": " + why};
}

}  // namespace

opened_marks open_sqlite(const destination& where) {
  const url& u = where.parts;
  if (auto fine = u.allow_only({}); !fine) {
    return fine.error();
  }
  if (!u.user.empty() || !u.password.empty() || !u.authority.empty() || u.path.size() < 2) {
    return error(errc::invalid_argument,
                 "sqlite:// takes the absolute path of a database, as in sqlite:///srv/shop.db");
  }
  struct stat found {};
  if (!where.how.make_file && ::stat(u.path.c_str(), &found) != 0) {
    const error why = not_opened(u.path, errno);
    return why == errc::misconfigured
               ? error(why.code(), why.detail() + "; `cremone fence init` with this URL creates it")
               : why;
  }
  sqlite3* raw = nullptr;
  const int flags = SQLITE_OPEN_READWRITE | (where.how.make_file ? SQLITE_OPEN_CREATE : 0);
  const int opened = ::sqlite3_open_v2(u.path.c_str(), &raw, flags, nullptr);
  const std::shared_ptr<sqlite3> database(raw, ::sqlite3_close_v2);
  if (opened != SQLITE_OK) {
    return not_opened(u.path, raw == nullptr ? ENOMEM : ::sqlite3_system_errno(raw));
  }
  constexpr auto patience = std::chrono::milliseconds(lock_patience);
  ::sqlite3_busy_timeout(raw, static_cast<int>(patience.count()));
  return std::unique_ptr<mark_store>(std::make_unique<sql_marks>(database, sqlite(raw), where.how.table));
}

}  // namespace cremone::fence
