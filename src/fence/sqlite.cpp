// SPDX-License-Identifier: Apache-2.0
//
// A user's connection to SQLite, as the gate speaks to one; and the look at the lock itself where data and locks are in one file. Statements are
// made anew each time and are gone before the call returns, so that the user may close the connection at any time in between.
#include "base/text.hpp"
#include "fence/sql.hpp"

#include <cremone/fence_sqlite.hpp>

#include <sqlite3.h>

#include <array>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

namespace cremone::fence {

namespace {

using statement = std::unique_ptr<sqlite3_stmt, decltype(&sqlite3_finalize)>;

// ---- what SQLite's codes mean -----------------------------------------------------------------------------

struct meaning {
  errc code;
  const char* advice;
};

meaning meaning_of(int code) {
  if (code == SQLITE_BUSY_SNAPSHOT) {
    return {
        errc::busy,
        "this transaction has read before another wrote: roll back and begin again, with BEGIN IMMEDIATE"};
  }
  switch (code & 0xFF) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return {errc::busy,
              "another's transaction takes longer than sqlite3_busy_timeout() allows, or this one has read "
              "already: roll back and begin again, with BEGIN IMMEDIATE"};
    case SQLITE_READONLY:
      return {errc::storage_error,
              "open it for writing; look at the permissions of the file and its directory"};
    case SQLITE_FULL: return {errc::storage_error, "the disk is full; make room, nothing was written"};
    case SQLITE_IOERR:
      return {errc::storage_error, "the disk fails; a COMMIT that ends so may have been done all the same"};
    case SQLITE_CORRUPT: return {errc::storage_error, "the database is damaged"};
    case SQLITE_NOTADB: return {errc::storage_error, "the file is no database"};
    case SQLITE_PERM:
    case SQLITE_AUTH:
      return {errc::access_denied, "this program has forbidden it to itself, or the file system does"};
    case SQLITE_ERROR: return {errc::misconfigured, "look at the table, and at the names of its columns"};
    case SQLITE_CONSTRAINT:
    case SQLITE_MISMATCH:
    case SQLITE_TOOBIG:
    case SQLITE_RANGE:
    case SQLITE_MISUSE: return {errc::invalid_argument, "look at the values, and at what the table allows"};
    case SQLITE_INTERRUPT: return {errc::cancelled, "it was interrupted; nothing was written"};
    default: return {errc::storage_error, "SQLite failed"};
  }
}

std::string name_of(sqlite3* database) {
  const char* const path = database == nullptr ? nullptr : sqlite3_db_filename(database, "main");
  return path == nullptr || *path == '\0' ? "a SQLite database without a file"
                                          : "SQLite database '" + printable(path) + "'";
}

/// Of the call before; SQLite's own sentence is in it.
error why(sqlite3* database) {
  const meaning found = meaning_of(sqlite3_extended_errcode(database));
  return {found.code, name_of(database) + ": " + printable(sqlite3_errmsg(database)) + "; " + found.advice};
}

error no_database() { return {errc::invalid_argument, "a null pointer was given for a SQLite database"}; }

// ---- statements -------------------------------------------------------------------------------------------

result<statement> prepare(sqlite3* database, const std::string& text) {
  sqlite3_stmt* made = nullptr;
  if (sqlite3_prepare_v3(database, text.c_str(), static_cast<int>(text.size()) + 1, 0, &made, nullptr) !=
      SQLITE_OK) {
    return why(database);
  }
  return statement(made, &sqlite3_finalize);
}

/// The value outlives the statement.
int bind(sqlite3_stmt* to, int place, const sql_value& value) {
  if (const auto* const number = std::get_if<std::int64_t>(&value)) {
    return sqlite3_bind_int64(to, place, *number);
  }
  if (const auto* const number = std::get_if<double>(&value)) {
    return sqlite3_bind_double(to, place, *number);
  }
  if (const auto* const text = std::get_if<std::string>(&value)) {
    return sqlite3_bind_text64(to, place, text->data(), text->size(), SQLITE_STATIC, SQLITE_UTF8);
  }
  return sqlite3_bind_null(to, place);
}

sql_value value_at(sqlite3_stmt* row, int column) {
  switch (sqlite3_column_type(row, column)) {
    case SQLITE_INTEGER: return std::int64_t{sqlite3_column_int64(row, column)};
    case SQLITE_FLOAT: return sqlite3_column_double(row, column);
    case SQLITE_NULL: return nullptr;
    default: {
      const auto* const at = static_cast<const char*>(sqlite3_column_blob(row, column));
      const auto size = static_cast<std::size_t>(sqlite3_column_bytes(row, column));
      return at == nullptr ? std::string() : std::string(at, size);
    }
  }
}

class sqlite_connection final : public sql_connection {
 public:
  explicit sqlite_connection(sqlite3* database) : database_(database) {}

  [[nodiscard]] sql_dialect dialect() const noexcept override { return sql_dialect::sqlite; }
  [[nodiscard]] std::string name() const override { return name_of(database_); }

  [[nodiscard]] result<void> in_transaction() const override {
    if (database_ == nullptr) {
      return no_database();
    }
    if (sqlite3_get_autocommit(database_) != 0) {
      return error(errc::misconfigured, name() + ": no transaction is open: BEGIN IMMEDIATE first");
    }
    return {};
  }

  [[nodiscard]] result<sql_answer> execute(const sql_statement& what) override {
    if (database_ == nullptr) {
      return no_database();
    }
    const auto made = prepare(database_, what.text);
    if (!made) {
      return made.error();
    }
    sqlite3_stmt* const run = made->get();
    for (std::size_t i = 0; i < what.values.size(); ++i) {
      if (bind(run, static_cast<int>(i) + 1, what.values[i]) != SQLITE_OK) {
        return why(database_);
      }
    }
    sql_answer answer;
    int code = sqlite3_step(run);
    while (code == SQLITE_ROW) {  // to the end: what it writes is sure only then
      if (!answer.first) {
        answer.first.emplace();
        for (int column = 0; column < sqlite3_column_count(run); ++column) {
          answer.first->push_back(value_at(run, column));
        }
      }
      code = sqlite3_step(run);
    }
    if (code != SQLITE_DONE) {
      return why(database_);
    }
    answer.changed = sqlite3_stmt_readonly(run) != 0 ? 0 : sqlite3_changes64(database_);
    return answer;
  }

  [[nodiscard]] result<void> examine(std::string_view table) override {
    if (database_ == nullptr) {
      return no_database();
    }
    // Nothing is executed, so that the transaction has read nothing yet and may wait for its turn to write.
    const auto gate = prepare(database_, sql::gate(dialect(), table, "", fence_token(1)).text);
    if (!gate) {
      return gate.error();
    }
    std::string fault = fault_of(std::string(table));
    if (!fault.empty()) {  // as far as this connection knows: it may have missed that the table was made anew
      (void)execute({.text = "SELECT 1 FROM sqlite_schema LIMIT 1"});
      fault = fault_of(std::string(table));
    }
    return fault.empty() ? result<void>()
                         : error(errc::misconfigured, name() + ": table '" + printable(table) + "' " + fault);
  }

 private:
  /// What SQLite itself would not mind: of tokens in a column of text, 9 is above 10.
  [[nodiscard]] std::string fault_of(const std::string& table) const {
    struct wanted {
      const char* column;
      const char* type;
    };
    // It would be taken before the one of that name that others see.
    if (sqlite3_table_column_metadata(database_, "temp", table.c_str(), nullptr, nullptr, nullptr, nullptr,
                                      nullptr, nullptr) == SQLITE_OK) {
      return "is a temporary table, which no other connection sees";
    }
    for (const auto& [column, wants] :
         {wanted{"resource", "TEXT"}, wanted{"token", "INT"}, wanted{"writes", "INT"}}) {
      const char* type = nullptr;
      const char* collation = nullptr;
      if (sqlite3_table_column_metadata(database_, nullptr, table.c_str(), column, &type, &collation, nullptr,
                                        nullptr, nullptr) != SQLITE_OK) {
        return std::string("has no column ") + column;
      }
      const std::string declared = type == nullptr ? "" : type;
      if (sqlite3_strlike((std::string("%") + wants + "%").c_str(), declared.c_str(), 0) != 0) {
        return std::string("has column ") + column + " of type '" + printable(declared) + "'";
      }
      if (collation != nullptr && std::strcmp(collation, "BINARY") != 0) {
        return std::string("has column ") + column + " with COLLATE " + collation;
      }
    }
    return {};
  }

  sqlite3* database_;
};

// ---- the lock itself --------------------------------------------------------------------------------------

// As src/backends/sqlite makes them.
constexpr std::int64_t our_application = 0x6372656D;
constexpr std::int64_t our_format = 1;

result<std::int64_t> number(sql_connection& from, const char* text) {
  const auto answer = from.execute({.text = text});
  if (!answer) {
    return answer.error();
  }
  const auto* const found = answer->first ? std::get_if<std::int64_t>(&answer->first->front()) : nullptr;
  return found == nullptr ? 0 : *found;
}

/// From here to the end of the transaction nobody else writes to the file; and if somebody has since this transaction first read, it is *busy*.
/// Whatever the transaction was begun with: without this, one that has only read could see a lock that is another's by now.
result<void> take_turn(sql_connection& connection) {
  const auto taken = connection.execute({.text = "UPDATE main.lock SET token = token WHERE 0"});
  return taken ? result<void>() : result<void>(taken.error());
}

result<void> check_store(sql_connection& connection) {
  const auto application = number(connection, "PRAGMA main.application_id");
  if (!application) {
    return application.error();
  }
  if (*application != our_application) {
    return error(
        errc::misconfigured,
        connection.name() +
            " is not the file of a sqlite:// store: it has no locks in it. Use a gate with a table instead");
  }
  const auto format = number(connection, "PRAGMA main.user_version");
  if (!format) {
    return format.error();
  }
  if (*format > our_format) {
    return error(errc::misconfigured, connection.name() + " was made by a newer cremone (format " +
                                          std::to_string(*format) + ", this one knows " +
                                          std::to_string(our_format) + "); use that one");
  }
  return {};
}

}  // namespace

std::unique_ptr<sql_connection> sqlite(sqlite3* database) {
  return std::make_unique<sqlite_connection>(database);
}

result<void> check_lock(sqlite3* database, const lock_name& lock, fence_token token) {
  sqlite_connection connection(database);
  if (auto fine = check_token(token); !fine) {
    return fine;
  }
  if (auto fine = check_resource(lock); !fine) {
    return fine;
  }
  if (auto open = connection.in_transaction(); !open) {
    return open;
  }
  if (auto turn = take_turn(connection); !turn) {
    const auto locks = check_store(connection);
    return turn.error().code() == errc::misconfigured && !locks ? locks : turn;
  }
  if (auto locks = check_store(connection); !locks) {
    return locks;
  }
  const auto answer = connection.execute(
      {.text = "SELECT token, owner IS NOT NULL FROM main.lock WHERE name = ?1", .values = {lock.str()}});
  if (!answer) {
    return answer.error();
  }
  const std::string where = "lock '" + lock.str() + "' in " + connection.name();
  const auto seen = answer->first ? std::get<std::int64_t>(answer->first->at(0)) : std::int64_t{0};
  const auto ours = static_cast<std::int64_t>(token.value());
  if (seen > ours) {
    return stale(where, token, fence_token(static_cast<std::uint64_t>(seen)));
  }
  if (seen < ours) {
    return error(errc::stale_token, where + " has given no token above " + std::to_string(seen) + ", and " +
                                        std::to_string(ours) + " is none of its own. Nothing was written");
  }
  if (std::get<std::int64_t>(answer->first->at(1)) == 0) {
    return error(errc::stale_token, where + " was released: token " + std::to_string(ours) +
                                        " holds it no longer. Nothing was written");
  }
  return {};
}

}  // namespace cremone::fence
