// SPDX-License-Identifier: Apache-2.0
//
// The forms of <cremone/fence_sql.hpp> that write one row of the user's. Each is one UPDATE whose condition is the whole of the safety; when it
// has met no row, a second statement says why. Decides nothing about the gate.
#include "base/text.hpp"
#include "fence/sql.hpp"
#include "fence/sql_answers.hpp"

#include <cremone/fence_sql.hpp>

#include <algorithm>
#include <array>
#include <utility>

namespace cremone::fence {

namespace {

using sql::condition;
using sql::relation;

error bad(std::string detail) { return {errc::invalid_argument, std::move(detail)}; }

/// One row, and the one statement that may write it.
class guarded_row {
 public:
  guarded_row(sql_connection* connection, const sql_row& row) : connection_(connection), row_(row) {}

  /// *invalid_argument* names what cannot be a table, a column or a key.
  [[nodiscard]] result<void> check(std::string_view guard, std::span<const sql_column> set) const;

  /// Whether it was written.
  [[nodiscard]] result<bool> write(std::span<const sql_column> set, std::span<const condition> where,
                                   std::string_view counted = {});

  // Why it was not. *not_held* when there is no such row.
  [[nodiscard]] result<sql_value> look(std::string_view column) const;
  [[nodiscard]] result<std::vector<sql_value>> compare(std::span<const condition> conditions) const;

  /// For when the question why has shown that nothing is in the way.
  [[nodiscard]] result<void> settle();

  [[nodiscard]] std::string name() const {
    return "row " + printable(row_.key_column) + " = " + sql::shown(row_.key) + " of table '" +
           printable(row_.table) + "' in " + connection_->name();
  }
  [[nodiscard]] sql_dialect dialect() const { return connection_->dialect(); }

 private:
  [[nodiscard]] result<std::vector<sql_value>> ask(const sql_statement& question) const;

  sql_connection* connection_;
  const sql_row& row_;
  sql_statement written_;
};

result<void> guarded_row::check(std::string_view guard, std::span<const sql_column> set) const {
  if (connection_ == nullptr) {
    return sql::check_gate(connection_, row_.table);
  }
  for (const auto& [what, name] :
       {std::pair<std::string_view, std::string_view>{"the table's name", row_.table},
        {"the key column's name", row_.key_column},
        {"the name of the column to check", guard}}) {
    if (auto fine = sql::check_name(what, name); !fine) {
      return fine;
    }
  }
  if (std::holds_alternative<std::nullptr_t>(row_.key)) {
    return bad("the key of table '" + row_.table + "' is null, and no row has that");
  }
  for (const sql_column& column : set) {
    if (auto fine = sql::check_name("the name of a column to set", column.name); !fine) {
      return fine;
    }
  }
  return {};
}

result<bool> guarded_row::write(std::span<const sql_column> set, std::span<const condition> where,
                                std::string_view counted) {
  written_ = sql::update(dialect(), row_, set, where, counted);
  const auto answer = connection_->execute(written_);
  if (!answer) {
    return answer.error();
  }
  if (answer->changed > 1) {
    return error(errc::misconfigured, std::to_string(answer->changed) + " rows were written as " + name() +
                                          ": that column is no key. Roll back, or look what was written");
  }
  return answer->changed == 1;
}

result<std::vector<sql_value>> guarded_row::ask(const sql_statement& question) const {
  auto answer = connection_->execute(question);
  if (!answer) {
    return answer.error();
  }
  if (!answer->first || answer->first->empty()) {
    return error(errc::not_held, "there is no " + name() + "; nothing was written");
  }
  return std::move(*answer->first);
}

result<sql_value> guarded_row::look(std::string_view column) const {
  auto seen = ask(sql::look(dialect(), row_, column));
  if (!seen) {
    return seen.error();
  }
  if (std::holds_alternative<std::nullptr_t>(seen->front())) {
    return error(errc::misconfigured,
                 "column '" + printable(column) + "' is null in " + name() +
                     ", so that nothing passes; set it to 0, and make the column NOT NULL");
  }
  return std::move(seen->front());
}

result<std::vector<sql_value>> guarded_row::compare(std::span<const condition> conditions) const {
  return ask(sql::compare(dialect(), row_, conditions));
}

/// MariaDB counts the rows that it has changed, unless the connection was made with CLIENT_FOUND_ROWS: none when they were
/// already as they should be. The question has locked the row, if there is a transaction, so that the same statement again does it or finds it done. Elsewhere
/// another has written between the two statements.
result<void> guarded_row::settle() {
  if (dialect() != sql_dialect::mariadb) {
    return error(errc::busy, name() + " was written by another at the same time; try again");
  }
  const auto again = connection_->execute(written_);
  return again ? result<void>() : result<void>(again.error());
}

bool sets(std::span<const sql_column> set, std::string_view column) {
  return std::any_of(set.begin(), set.end(), [&](const sql_column& c) { return c.name == column; });
}

}  // namespace

result<void> sql_gate::update(const sql_row& row, std::string_view token_column, fence_token token,
                              std::span<const sql_column> set, writes how_often) {
  guarded_row target(connection_.get(), row);
  if (auto fine = target.check(token_column, set); !fine) {
    return fine;
  }
  if (auto fine = check_token(token); !fine) {
    return fine;
  }
  if (sets(set, token_column)) {
    return bad("column '" + std::string(token_column) +
               "' keeps the token, and is not to be set to anything else");
  }
  const auto ours = static_cast<std::int64_t>(token.value());
  std::vector<sql_column> all(set.begin(), set.end());
  all.push_back({std::string(token_column), ours});  // last: of two assignments to a column that one counts
  const bool once = how_often == writes::once;
  const std::array where = {
      condition{std::string(token_column), once ? relation::below : relation::at_most, ours}};
  const auto written = target.write(all, where);
  if (!written) {
    return written.error();
  }
  if (*written) {
    return {};
  }
  const auto seen = target.look(token_column);
  if (!seen) {
    return seen.error();
  }
  const auto highest = sql::number_in(*seen);
  if (!highest || (target.dialect() == sql_dialect::sqlite && std::holds_alternative<std::string>(*seen))) {
    return error(errc::misconfigured, "column '" + std::string(token_column) + "' has " + sql::shown(*seen) +
                                          " in " + target.name() +
                                          ", which is no number; make the column BIGINT");
  }
  if (*highest > ours) {
    return stale(target.name(), token, fence_token(static_cast<std::uint64_t>(*highest)));
  }
  if (once && *highest == ours) {
    return error(errc::stale_token, target.name() + " was written with token " + std::to_string(ours) +
                                        " already, which may write it once. Nothing was written");
  }
  return target.settle();
}

result<void> sql_gate::mark(const sql_row& row, std::string_view owner_column, const owner_id& owner) {
  guarded_row target(connection_.get(), row);
  if (auto fine = target.check(owner_column, {}); !fine) {
    return fine;
  }
  const std::array set = {sql_column{std::string(owner_column), owner.hex()}};
  const auto written = target.write(set, {});
  if (!written) {
    return written.error();
  }
  if (*written) {
    return {};
  }
  const std::array ours = {condition{std::string(owner_column), relation::equal, owner.hex()}};
  const auto seen = target.compare(ours);
  return seen ? target.settle() : result<void>(seen.error());
}

result<void> sql_gate::update_marked(const sql_row& row, std::string_view owner_column, const owner_id& owner,
                                     std::span<const sql_column> set) {
  guarded_row target(connection_.get(), row);
  if (auto fine = target.check(owner_column, set); !fine) {
    return fine;
  }
  if (set.empty()) {
    return bad("there is no column to set in table '" + row.table + "'");
  }
  const std::array ours = {condition{std::string(owner_column), relation::equal, owner.hex()}};
  const auto written = target.write(set, ours);
  if (!written) {
    return written.error();
  }
  if (*written) {
    return {};
  }
  const auto seen = target.compare(ours);
  if (!seen) {
    return seen.error();
  }
  if (sql::number_in(seen->front()) != 1) {
    return error(errc::stale_token,
                 target.name() +
                     " is not marked by this owner: another has marked it since, or nobody has. "
                     "Nothing was written");
  }
  return target.settle();
}

result<void> sql_gate::update_version(const sql_row& row, std::string_view version_column,
                                      std::int64_t version, std::span<const sql_column> set) {
  guarded_row target(connection_.get(), row);
  if (auto fine = target.check(version_column, set); !fine) {
    return fine;
  }
  if (sets(set, version_column)) {
    return bad("column '" + std::string(version_column) +
               "' counts the versions, and is not to be set to anything else");
  }
  const std::array where = {condition{std::string(version_column), relation::equal, version}};
  const auto written = target.write(set, where, version_column);
  if (!written) {
    return written.error();
  }
  if (*written) {
    return {};
  }
  const auto seen = target.look(version_column);
  if (!seen) {
    return seen.error();
  }
  if (sql::number_in(*seen) != version) {
    return error(errc::stale_token, target.name() + " has version " + sql::shown(*seen) + ", and not " +
                                        std::to_string(version) +
                                        ": another has written it since. Nothing was written; read it again");
  }
  return error(errc::busy, target.name() + " was written by another at the same time; try again");
}

result<void> sql_gate::update_unchanged(const sql_row& row, std::span<const sql_column> old,
                                        std::span<const sql_column> set) {
  guarded_row target(connection_.get(), row);
  if (old.empty() || set.empty()) {
    return bad(std::string("there is no column to ") + (set.empty() ? "set" : "compare") + " in table '" +
               row.table + "'");
  }
  if (auto fine = target.check(old.front().name, set); !fine) {
    return fine;
  }
  std::vector<condition> where;
  for (const sql_column& column : old) {
    if (auto fine = sql::check_name("the name of the column to check", column.name); !fine) {
      return fine;
    }
    where.push_back({column.name, relation::same, column.value});
  }
  const auto written = target.write(set, where);
  if (!written) {
    return written.error();
  }
  if (*written) {
    return {};
  }
  const auto seen = target.compare(where);
  if (!seen) {
    return seen.error();
  }
  for (std::size_t i = 0; i < where.size() && i < seen->size(); ++i) {
    if (sql::number_in((*seen)[i]) != 1) {
      return error(errc::stale_token,
                   "column '" + where[i].column + "' of " + target.name() + " is no longer " +
                       sql::shown(where[i].value) +
                       ": another has written it since. Nothing was written; read it again");
    }
  }
  return target.settle();
}

}  // namespace cremone::fence
