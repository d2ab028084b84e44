// SPDX-License-Identifier: Apache-2.0
//
// A user's connection to MariaDB, as the gate speaks to one: how values get into a statement and rows come out, what the server's
// numbers mean to somebody who fences writes, and what must not be wrong with the gate's table. The statements themselves
// are not its business, nor whether a token may pass.
//
// Two habits of the server make it longer than that. Under REPEATABLE READ it lets a transaction write over what has changed since
// that transaction first read; it can be told not to, statement by statement. And when it gives up a transaction, for a
// deadlock say, the client's library goes on to show one: what comes then is committed by itself.
#include "base/reading.hpp"
#include "base/text.hpp"
#include "fence/sql.hpp"

#include <cremone/fence_mariadb.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include <errmsg.h>
#include <mysql.h>
#include <mysqld_error.h>

namespace cremone::fence {

namespace {

using rows_of_server = std::unique_ptr<MYSQL_RES, decltype(&mysql_free_result)>;

constexpr std::string_view needed_server =
    "fenced writes need innodb_snapshot_isolation, which MariaDB has from 10.6.18, 10.11.8 and 11.4.2 on";

// ---- what the server's numbers mean -----------------------------------------------------------------------

struct meaning {
  unsigned number;
  errc code;
  std::string_view advice;
};

constexpr std::string_view begin_again = "roll back and begin again";
constexpr std::string_view what_it_should_be = "look at the table, and at the names of its columns";
constexpr std::string_view undone = "what was not committed is undone; connect again";
constexpr std::string_view no_room = "nothing was written";
constexpr std::string_view primary = "this server takes no writes: connect to its primary";

constexpr std::array meanings = {
    meaning{ER_CHECKREAD, errc::busy,
            "this transaction began to read before another wrote: roll back and begin again, with the check "
            "first"},
    meaning{ER_LOCK_DEADLOCK, errc::busy, begin_again},
    meaning{ER_LOCK_WAIT_TIMEOUT, errc::busy, begin_again},
    meaning{ER_STATEMENT_TIMEOUT, errc::busy, begin_again},
    meaning{ER_QUERY_INTERRUPTED, errc::busy, begin_again},
    meaning{ER_NO_SUCH_TABLE, errc::misconfigured, what_it_should_be},
    meaning{ER_BAD_FIELD_ERROR, errc::misconfigured, what_it_should_be},
    meaning{ER_BAD_DB_ERROR, errc::misconfigured, what_it_should_be},
    meaning{ER_NO_DB_ERROR, errc::misconfigured, "connect to a database, or USE one"},
    meaning{ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION, errc::misconfigured,
            "START TRANSACTION READ WRITE instead"},
    meaning{ER_UNKNOWN_SYSTEM_VARIABLE, errc::unsupported, needed_server},
    meaning{ER_DBACCESS_DENIED_ERROR, errc::access_denied, ""},
    meaning{ER_ACCESS_DENIED_ERROR, errc::access_denied, ""},
    meaning{ER_TABLEACCESS_DENIED_ERROR, errc::access_denied, "grant it to this user"},
    meaning{ER_COLUMNACCESS_DENIED_ERROR, errc::access_denied, "grant it to this user"},
    meaning{ER_OPTION_PREVENTS_STATEMENT, errc::storage_error, primary},
    meaning{ER_READ_ONLY_MODE, errc::storage_error, primary},
    meaning{ER_RECORD_FILE_FULL, errc::storage_error, no_room},
    meaning{ER_DISK_FULL, errc::storage_error, no_room},
    meaning{ER_ERROR_ON_WRITE, errc::storage_error, no_room},
    meaning{ER_GET_ERRNO, errc::storage_error, no_room},  // what the storage engine says, such as 28
    meaning{ER_LOCK_TABLE_FULL, errc::storage_error, no_room},
    meaning{CR_SERVER_GONE_ERROR, errc::unreachable, undone},
    meaning{CR_SERVER_LOST, errc::unreachable, undone},
    meaning{CR_SERVER_LOST_EXTENDED, errc::unreachable, undone},
    meaning{CR_CONNECTION_ERROR, errc::unreachable, undone},
    meaning{CR_CONN_HOST_ERROR, errc::unreachable, undone},
    meaning{ER_SERVER_SHUTDOWN, errc::unreachable, undone},
    meaning{ER_CONNECTION_KILLED, errc::unreachable, undone},
    meaning{ER_CONSTRAINT_FAILED, errc::invalid_argument, ""},
    meaning{ER_WARN_DATA_OUT_OF_RANGE, errc::invalid_argument, ""},
    meaning{ER_TRUNCATED_WRONG_VALUE_FOR_FIELD, errc::invalid_argument, ""},
    meaning{ER_TRUNCATED_WRONG_VALUE, errc::invalid_argument, ""},
    meaning{ER_DATA_TOO_LONG, errc::invalid_argument, ""},
    meaning{ER_BAD_NULL_ERROR, errc::invalid_argument, ""},
    meaning{ER_DUP_ENTRY, errc::invalid_argument, ""},
    meaning{ER_NO_REFERENCED_ROW_2, errc::invalid_argument, ""},
    meaning{ER_ROW_IS_REFERENCED_2, errc::invalid_argument, ""},
};

meaning meaning_of(unsigned number) {
  const auto* const found = std::find_if(meanings.begin(), meanings.end(),
                                         [&](const meaning& one) { return one.number == number; });
  return found == meanings.end() ? meaning{number, errc::protocol_error, ""} : *found;
}

// ---- values -----------------------------------------------------------------------------------------------

result<std::string> literal(MYSQL* connection, const sql_value& value) {
  if (const auto* const number = std::get_if<std::int64_t>(&value)) {
    return std::to_string(*number);
  }
  if (const auto* const number = std::get_if<double>(&value)) {
    if (!std::isfinite(*number)) {
      return error(errc::invalid_argument, "MariaDB has no number for infinity or for what is no number");
    }
    std::array<char, 32> text{};  // the exponent makes it a floating point number, and not a decimal
    const auto end =
        std::to_chars(text.data(), text.data() + text.size(), *number, std::chars_format::scientific);
    return std::string(text.data(), end.ptr);
  }
  if (const auto* const text = std::get_if<std::string>(&value)) {
    std::string escaped(2 * text->size() + 1, '\0');
    escaped.resize(mysql_real_escape_string(connection, escaped.data(), text->data(), text->size()));
    return "'" + escaped + "'";
  }
  return std::string("NULL");
}

/// The text with a literal for each ? that is in no quotes. Other than a prepared statement this takes one round trip.
result<std::string> filled_in(MYSQL* connection, const sql_statement& what) {
  std::string out;
  char quote = '\0';
  std::size_t next = 0;
  for (const char c : what.text) {
    if (quote == '\0' && c == '?') {
      if (next == what.values.size()) {
        return error(errc::invalid_argument, "a statement has more placeholders than values: " + what.text);
      }
      auto text = literal(connection, what.values[next++]);
      if (!text) {
        return text;
      }
      out += *text;
      continue;
    }
    if (quote == '\0' && (c == '\'' || c == '"' || c == '`')) {
      quote = c;
    } else if (c == quote) {  // a doubled one opens the next piece at once
      quote = '\0';
    }
    out += c;
  }
  if (next != what.values.size()) {
    return error(errc::invalid_argument, "a statement has more values than placeholders: " + what.text);
  }
  return out;
}

bool is_whole(enum_field_types type) {
  return type == MYSQL_TYPE_TINY || type == MYSQL_TYPE_SHORT || type == MYSQL_TYPE_INT24 ||
         type == MYSQL_TYPE_LONG || type == MYSQL_TYPE_LONGLONG;
}

sql_value value_of(const char* bytes, std::size_t size, enum_field_types type) {
  if (bytes == nullptr) {
    return nullptr;
  }
  const std::string_view text(bytes, size);
  if (is_whole(type)) {
    if (const auto number = whole_number<std::int64_t>(text)) {
      return *number;
    }
  } else if (type == MYSQL_TYPE_FLOAT || type == MYSQL_TYPE_DOUBLE) {
    double number = 0;
    if (std::from_chars(text.data(), text.data() + text.size(), number).ec == std::errc()) {
      return number;
    }
  }
  return std::string(text);
}

std::optional<std::vector<sql_value>> first_row(MYSQL_RES* rows) {
  const char* const* const row = mysql_fetch_row(rows);
  if (row == nullptr) {
    return std::nullopt;
  }
  const unsigned long* const sizes = mysql_fetch_lengths(rows);
  std::vector<sql_value> values;
  for (unsigned column = 0; column < mysql_num_fields(rows); ++column) {
    values.push_back(value_of(row[column], sizes[column], mysql_fetch_field_direct(rows, column)->type));
  }
  return values;
}

/// Rows that an UPDATE has found. Unless the user connected with CLIENT_FOUND_ROWS, the count that the server gives leaves out those
/// that already were as they should be; "Rows matched: 1  Changed: 0  Warnings: 0" has both, in the server's language.
std::int64_t rows_met(MYSQL* connection) {
  const char* const info = mysql_info(connection);
  std::string_view text(info == nullptr ? "" : info);
  if (const auto digits = text.find_first_of("0123456789"); digits != std::string_view::npos) {
    text.remove_prefix(digits);
    text = text.substr(0, text.find_first_not_of("0123456789"));
    return whole_number<std::int64_t>(text).value_or(0);
  }
  return static_cast<std::int64_t>(mysql_affected_rows(connection));
}

// ---- the gate's table -------------------------------------------------------------------------------------

// ON DUPLICATE KEY UPDATE works with whatever keys there are: without one every token would be let pass, with a second one another
// resource's mark would be moved.
constexpr const char* shape_query =
    "SELECT t.ENGINE, "
    "(SELECT GROUP_CONCAT(CONCAT(c.COLUMN_NAME, ' ', c.DATA_TYPE, IF(c.IS_NULLABLE = 'NO', ' not null', ' "
    "null')) "
    "ORDER BY c.COLUMN_NAME SEPARATOR ', ') FROM information_schema.COLUMNS c "
    "WHERE c.TABLE_SCHEMA = DATABASE() AND c.TABLE_NAME = ? AND c.COLUMN_NAME IN ('resource', 'token', "
    "'writes')), "
    "(SELECT GROUP_CONCAT(CONCAT(s.INDEX_NAME, ' ', s.COLUMN_NAME, IF(s.SUB_PART IS NULL, ' whole', ' in "
    "part')) "
    "ORDER BY s.INDEX_NAME, s.SEQ_IN_INDEX SEPARATOR ', ') FROM information_schema.STATISTICS s "
    "WHERE s.TABLE_SCHEMA = DATABASE() AND s.TABLE_NAME = ? AND s.NON_UNIQUE = 0), "
    "(SELECT c.CHARACTER_MAXIMUM_LENGTH FROM information_schema.COLUMNS c "
    "WHERE c.TABLE_SCHEMA = DATABASE() AND c.TABLE_NAME = ? AND c.COLUMN_NAME = 'resource'), "
    "@@character_set_client = @@character_set_connection "
    "FROM information_schema.TABLES t WHERE t.TABLE_SCHEMA = DATABASE() AND t.TABLE_NAME = ?";

constexpr std::string_view right_columns =
    "resource varbinary not null, token bigint not null, writes bigint not null";
constexpr std::string_view right_keys = "PRIMARY resource whole";

std::string text_at(const std::vector<sql_value>& row, std::size_t column) {
  const auto* const text = column < row.size() ? std::get_if<std::string>(&row[column]) : nullptr;
  return text == nullptr ? std::string() : *text;
}

/// What is wrong with a table of this shape, for a sentence that begins with its name; empty if nothing is.
std::string fault_of(const std::vector<sql_value>& shape) {
  if (const std::string engine = text_at(shape, 0); engine != "InnoDB") {
    return "is kept by " + engine + ", which knows no transactions as InnoDB does";
  }
  const auto or_none = [](const std::string& text) { return text.empty() ? "none" : text; };
  if (const std::string columns = text_at(shape, 1); columns != right_columns) {
    return "should have the columns " + std::string(right_columns) + "; of these it has " + or_none(columns);
  }
  if (const std::string keys = text_at(shape, 2); keys != right_keys) {
    return "should have PRIMARY KEY (resource) and no other unique key; it has " + or_none(keys);
  }
  const auto* const size = std::get_if<std::int64_t>(&shape[3]);
  if (size == nullptr || *size < static_cast<std::int64_t>(resource_name::max_size)) {
    return "has too little room for names: resource should be VARBINARY(" +
           std::to_string(resource_name::max_size) + ")";
  }
  if (shape[4] != sql_value(std::int64_t{1})) {
    return "would get names in another spelling from this connection than from others, since its "
           "character_set_client and character_set_connection differ: SET NAMES utf8mb4";
  }
  return {};
}

std::string quoted(std::string_view table) { return sql::quoted(sql_dialect::mariadb, table); }

// ---- the connection ---------------------------------------------------------------------------------------

class maria_connection final : public sql_connection {
 public:
  explicit maria_connection(MYSQL* connection) : connection_(connection) {}

  [[nodiscard]] sql_dialect dialect() const noexcept override { return sql_dialect::mariadb; }

  [[nodiscard]] std::string name() const override {
    if (connection_ == nullptr) {
      return "MariaDB (no connection)";
    }
    const auto word = [](const char* text) { return printable(text == nullptr ? "" : text); };
    std::string all = "MariaDB database '" + word(connection_->db) + "' on ";
    if (connection_->unix_socket != nullptr) {
      return all + word(connection_->unix_socket);
    }
    return all + word(connection_->host) + ":" + std::to_string(connection_->port);
  }

  [[nodiscard]] result<void> in_transaction() const override {
    if (connection_ == nullptr) {
      return no_connection();
    }
    if (const unsigned last = mysql_errno(connection_); last == ER_LOCK_DEADLOCK || last == ER_CHECKREAD) {
      return error(errc::misconfigured, name() + ": the server has given up this transaction (error " +
                                            std::to_string(last) + "): ROLLBACK, and begin again");
    }
    // Where each statement is not committed by itself, the next one begins a transaction.
    if (shows_transaction() || (connection_->server_status & SERVER_STATUS_AUTOCOMMIT) == 0) {
      return {};
    }
    return error(errc::misconfigured, name() + ": no transaction is open: START TRANSACTION first");
  }

  [[nodiscard]] result<sql_answer> execute(const sql_statement& what) override {
    if (connection_ == nullptr) {
      return no_connection();
    }
    if (mysql_get_server_info(connection_) == nullptr) {
      return error(errc::unreachable, name() + ": the connection was never made");
    }
    if (mariadb_connection(connection_) == 0) {
      return error(errc::unsupported, name() + ": this server is " +
                                          printable(mysql_get_server_info(connection_)) + "; " +
                                          std::string(needed_server));
    }
    auto text = filled_in(connection_, what);
    if (!text) {
      return error(text.error().code(), name() + ": " + text.error().detail());
    }
    const bool writes = what.text.starts_with("INSERT") || what.text.starts_with("UPDATE");
    const bool within = shows_transaction();
    auto answer = ask(writes ? "SET STATEMENT innodb_snapshot_isolation = 1 FOR " + *text : *text);
    if (answer && writes && within && !shows_transaction()) {
      return error(errc::misconfigured,
                   name() +
                       ": the server had given up this transaction before, and what was asked for now was "
                       "committed by itself: after an error of another statement ROLLBACK, and begin again");
    }
    return answer;
  }

  [[nodiscard]] result<void> examine(std::string_view table) override {
    const auto shown = execute({"SHOW CREATE TABLE " + quoted(table), {}});
    if (!shown) {
      return shown.error();
    }
    const std::string wrong = name() + ": the table " + quoted(table) + " ";
    if (!shown->first || !text_at(*shown->first, 1).starts_with("CREATE TABLE ")) {
      return error(errc::misconfigured,
                   wrong + "is a view, or a temporary table that no other connection sees");
    }
    const auto knows = execute({"SHOW VARIABLES LIKE 'innodb_snapshot_isolation'", {}});
    if (!knows) {
      return knows.error();
    }
    if (!knows->first) {
      return error(errc::unsupported, name() + ": this server is " +
                                          printable(mysql_get_server_info(connection_)) + "; " +
                                          std::string(needed_server));
    }
    const std::string text(table);
    const auto found = execute({shape_query, {text, text, text, text}});
    if (!found) {
      return found.error();
    }
    const std::string fault = found->first ? fault_of(*found->first) : "is in no database";
    return fault.empty() ? result<void>() : error(errc::misconfigured, wrong + fault);
  }

 private:
  [[nodiscard]] static error no_connection() {
    return {errc::invalid_argument, "mariadb() was given a null pointer for a connection"};
  }

  /// As of the last answer that was no error.
  [[nodiscard]] bool shows_transaction() const {
    return (connection_->server_status & SERVER_STATUS_IN_TRANS) != 0;
  }

  [[nodiscard]] result<sql_answer> ask(const std::string& text) {
    if (mysql_real_query(connection_, text.data(), text.size()) != 0) {
      return why();
    }
    const rows_of_server rows(mysql_store_result(connection_), &mysql_free_result);
    if (rows == nullptr &&
        mysql_errno(connection_) != 0) {  // where rows are given, errors can come behind them
      return why();
    }
    sql_answer answer;
    answer.changed = rows_met(connection_);
    if (rows != nullptr) {
      answer.first = first_row(rows.get());
    }
    return answer;
  }

  [[nodiscard]] error why() {
    const unsigned number = mysql_errno(connection_);
    const meaning found = meaning_of(number);
    std::string text =
        name() + ": " + printable(mysql_error(connection_)) + " (error " + std::to_string(number) + ")";
    if (!found.advice.empty()) {
      text += "; " + std::string(found.advice);
    }
    if (found.code != errc::unreachable && shows_transaction()) {
      // An error does not say whether the transaction still stands. Any other answer does.
      (void)mysql_query(connection_, "DO 0");
    }
    return {found.code, text};
  }

  MYSQL* connection_;
};

}  // namespace

std::unique_ptr<sql_connection> mariadb(st_mysql* connection) {
  return std::make_unique<maria_connection>(connection);
}

}  // namespace cremone::fence
