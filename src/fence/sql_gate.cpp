// SPDX-License-Identifier: Apache-2.0
//
// The gate of <cremone/fence_sql.hpp>: a table with one row per resource, and what its answers mean. Knows no database but by its dialect
// and its sql_connection; the forms that write one row are in sql_rows.cpp.
#include "fence/sql.hpp"
#include "fence/sql_answers.hpp"

#include <cremone/fence_sql.hpp>

#include <utility>

namespace cremone::fence {

namespace {

error misconfigured(std::string detail) { return {errc::misconfigured, std::move(detail)}; }

/// For a message, which is one line.
std::string on_one_line(std::string_view text) {
  std::string line;
  for (const char c : text) {
    const bool blank = c == '\n' || c == ' ';
    if (!blank) {
      line += c;
    } else if (!line.ends_with(' ')) {
      line += ' ';
    }
  }
  return line;
}

/// What may be the table's fault says how the table should be.
error explained(const error& why, sql_dialect dialect, std::string_view table) {
  if (why.code() != errc::misconfigured) {
    return why;
  }
  return misconfigured(why.detail() + (why.detail().ends_with('?') ? "" : ".") +
                       " If it is the gate's table: make it with `cremone fence init URL`, or: " +
                       on_one_line(sql_gate::ddl(dialect, table)));
}

/// Is rolled back unless it is committed, also when the user's code throws.
class transaction {
 public:
  explicit transaction(sql_connection& over) : connection_(over) {}
  transaction(const transaction&) = delete;
  transaction& operator=(const transaction&) = delete;
  ~transaction() {
    if (!over_) {
      (void)connection_.execute(
          {.text = "ROLLBACK"});  // where the database has done so itself, it says that there is none
    }
  }

  [[nodiscard]] result<void> commit(std::span<const sql_statement> by) {
    const auto answers = connection_.execute_all(by);
    over_ = answers.back().has_value();
    if (over_) {
      return {};
    }
    const error why = answers.back().error();
    if (why.code() == errc::unreachable) {
      over_ = true;
      return error(errc::outcome_unknown,
                   why.detail() + "; the commit was under way, and may or may not have been done");
    }
    return answers.size() > 1 && !answers.front() ? ended(why) : result<void>(why);
  }

  static error ended(const error& why) {
    return misconfigured(
        "what was called has ended the transaction, or an error in it has, and nothing of it is fenced: " +
        why.detail());
  }

 private:
  sql_connection& connection_;
  bool over_ = false;
};

}  // namespace

std::vector<result<sql_answer>> sql_connection::execute_all(std::span<const sql_statement> all) {
  std::vector<result<sql_answer>> answers;
  for (const sql_statement& one : all) {
    const bool failed = !answers.empty() && !answers.back();
    answers.push_back(failed ? answers.back() : execute(one));
  }
  return answers;
}

sql_gate::sql_gate(std::unique_ptr<sql_connection> over, std::string table)
    : connection_(std::move(over)), table_(std::move(table)) {}

std::string sql_gate::ddl(sql_dialect dialect, std::string_view table) { return sql::table(dialect, table); }

result<void> sql_gate::prepare(const resource_name& resource, fence_token token) {
  if (auto fine = sql::check_gate(connection_.get(), table_); !fine) {
    return fine;
  }
  if (auto fine = check_token(token); !fine) {
    return fine;
  }
  return check_resource(resource);
}

result<void> sql_gate::look_at_table() {
  if (examined_) {
    return {};
  }
  if (const auto shape = connection_->examine(table_); !shape) {
    return explained(shape.error(), connection_->dialect(), table_);
  }
  examined_ = true;
  return {};
}

result<void> sql_gate::judge(const result<sql_answer>& answer, const resource_name& resource,
                             fence_token token) {
  const sql_dialect dialect = connection_->dialect();
  if (!answer) {
    return explained(answer.error(), dialect, table_);
  }
  // Once more, now that the database has spoken: a client's library may not know that its server has given up the transaction.
  if (auto open = connection_->in_transaction(); !open) {
    return open;
  }
  const auto given = sql::number_in(answer->first);
  if (given == static_cast<std::int64_t>(token.value())) {
    return {};
  }
  const auto seen =
      given ? result<fence_token>(fence_token(static_cast<std::uint64_t>(*given))) : highest(resource);
  if (!seen) {
    return seen.error();
  }
  if (*seen > token) {
    return stale("resource '" + resource.str() + "' in " + connection_->name(), token, *seen);
  }
  return explained(misconfigured("table '" + table_ + "' in " + connection_->name() + " did not take token " +
                                 std::to_string(token.value()) + " although it has seen none above " +
                                 std::to_string(seen->value()) + "; is there a trigger on it?"),
                   dialect, table_);
}

result<void> sql_gate::check(const resource_name& resource, fence_token token) {
  if (auto fine = prepare(resource, token); !fine) {
    return fine;
  }
  if (auto open = connection_->in_transaction(); !open) {
    return open;
  }
  if (auto fits = look_at_table(); !fits) {
    return fits;
  }
  return judge(connection_->execute(sql::gate(connection_->dialect(), table_, resource, token)), resource,
               token);
}

result<void> sql_gate::transact(const resource_name& resource, fence_token token,
                                callback<result<void>()> write) {
  if (auto fine = prepare(resource, token); !fine) {
    return fine;
  }
  if (!write) {
    return error(errc::invalid_argument, "transact() was given nothing to call");
  }
  if (connection_->in_transaction()) {
    return misconfigured("a transaction is open already in " + connection_->name() +
                         ": use check() in it, or end it first");
  }
  if (auto fits = look_at_table(); !fits) {
    return fits;
  }
  const sql_dialect dialect = connection_->dialect();
  const auto answers = connection_->execute_all(sql::enter(dialect, table_, resource, token));
  if (!answers.front()) {
    return answers.front().error();
  }
  transaction step(*connection_);
  if (auto allowed = judge(answers.at(1), resource, token); !allowed) {
    return allowed;
  }
  if (auto written = write(); !written) {
    return written;
  }
  // PostgreSQL answers the COMMIT of a transaction in which something has failed with a rollback, and no error.
  if (const auto open = connection_->in_transaction(); !open) {
    return transaction::ended(open.error());
  }
  if (auto same = still_entered(resource, token); !same) {
    return same;
  }
  return step.commit(sql::leave(dialect));
}

/// That a transaction is open does not say that it is the one that was begun. The others have a savepoint for that; in MariaDB two more statements would
/// take two more round trips, and one will do: it takes the row again, if need be, for what is going to be committed.
result<void> sql_gate::still_entered(const resource_name& resource, fence_token token) {
  if (connection_->dialect() != sql_dialect::mariadb) {
    return {};
  }
  const auto answer = connection_->execute(sql::highest_now(connection_->dialect(), table_, resource));
  if (!answer) {
    return answer.error();
  }
  if (sql::number_in(answer->first) == static_cast<std::int64_t>(token.value())) {
    return {};
  }
  return transaction::ended(misconfigured(connection_->name() + ": resource '" + resource.str() +
                                          "' no longer has the token that was let pass"));
}

result<fence_token> sql_gate::highest(const resource_name& resource) {
  if (const auto fine = sql::check_gate(connection_.get(), table_); !fine) {
    return fine.error();
  }
  if (const auto fine = check_resource(resource); !fine) {
    return fine.error();
  }
  const auto answer = connection_->execute(sql::highest(connection_->dialect(), table_, resource));
  if (!answer) {
    return explained(answer.error(), connection_->dialect(), table_);
  }
  if (!answer->first) {
    return fence_token();
  }
  const auto seen = sql::number_in(answer->first);
  if (!seen || *seen < 0) {
    return explained(
        misconfigured("table '" + table_ + "' in " + connection_->name() + " has no token for '" +
                      resource.str() + "' but " + sql::shown(answer->first)),
        connection_->dialect(), table_);
  }
  return fence_token(static_cast<std::uint64_t>(*seen));
}

result<void> sql_gate::create() {
  if (auto fine = sql::check_gate(connection_.get(), table_); !fine) {
    return fine;
  }
  if (connection_->in_transaction()) {
    return misconfigured("a transaction is open in " + connection_->name() +
                         ": end it before a table is made, which in MariaDB would commit it");
  }
  const sql_dialect dialect = connection_->dialect();
  if (const auto made = connection_->execute({.text = ddl(dialect, table_)}); !made) {
    return made.error();
  }
  if (const auto shape = connection_->examine(table_); !shape) {
    return explained(shape.error(), dialect, table_);
  }
  examined_ = true;
  return {};
}

}  // namespace cremone::fence
