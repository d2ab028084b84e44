// SPDX-License-Identifier: Apache-2.0
#include "fence/sql.hpp"

#include "fence/sql_texts.hpp"

#include <array>
#include <utility>

namespace cremone::fence::sql {

namespace {

/// One of the files, without the comment before it, with the table's name put in.
std::string filled(std::string_view text, std::string_view table) {
  while (text.starts_with("--")) {
    text.remove_prefix(text.find('\n') + 1);
  }
  while (text.ends_with('\n')) {
    text.remove_suffix(1);
  }
  constexpr std::string_view place = "{table}";
  const std::size_t at = text.find(place);
  return std::string(text.substr(0, at)).append(table).append(text.substr(at + place.size()));
}

template <class T>
T choose(sql_dialect dialect, T sqlite, T postgres, T mariadb) {
  switch (dialect) {
    case sql_dialect::postgres: return postgres;
    case sql_dialect::mariadb: return mariadb;
    default: return sqlite;
  }
}

/// A statement in the making: text and values grow together.
class writing {
 public:
  explicit writing(sql_dialect dialect) : dialect_(dialect) {}

  writing& text(std::string_view words) {
    made_.text += words;
    return *this;
  }
  writing& name(std::string_view name) { return text(quoted(dialect_, name)); }
  writing& value(const sql_value& v) {
    made_.values.push_back(v);
    const std::string place = std::to_string(made_.values.size());
    return text(choose<std::string>(dialect_, "?" + place, "$" + place, "?"));
  }

  /// PostgreSQL gives a placeholder the type of what stands beside it: beside a column of text, tokens would be compared as
  /// text. SQLite would turn the token into text there, which the plus prevents.
  writing& number(const sql_value& v) {
    return dialect_ == sql_dialect::postgres ? text("CAST(").value(v).text(" AS bigint)") : value(v);
  }

  writing& require(const condition& c) {
    switch (c.how) {
      case relation::equal: return name(c.column).text(" = ").value(c.value);
      case relation::same:
        return name(c.column)
            .text(choose<std::string_view>(dialect_, " IS ", " IS NOT DISTINCT FROM ", " <=> "))
            .value(c.value);
      default:
        return text(choose<std::string_view>(dialect_, "+", "", ""))
            .name(c.column)
            .text(c.how == relation::below ? " < " : " <= ")
            .number(c.value);
    }
  }

  writing& key(const sql_row& row) {
    return text(" WHERE ").require({row.key_column, relation::equal, row.key});
  }

  /// Sees what stands there now and not what the transaction saw when it began: in MariaDB a plain SELECT may answer with a state
  /// before the one that the UPDATE has met.
  writing& now() { return text(choose<std::string_view>(dialect_, "", "", " FOR UPDATE")); }

  [[nodiscard]] sql_statement take() { return std::move(made_); }

 private:
  sql_dialect dialect_;
  sql_statement made_;
};

}  // namespace

/// Not in double quotes in SQLite: it takes a name in those that it does not know for a text, and a misspelt column of
/// a condition would then be compared as one.
std::string quoted(sql_dialect dialect, std::string_view name) {
  const char mark = choose(dialect, '`', '"', '`');
  std::string text(1, mark);
  for (const char c : name) {
    text.append(c == mark ? 2 : 1, c);
  }
  return text + mark;
}

std::string table(sql_dialect dialect, std::string_view name) {
  return filled(
      choose<std::string_view>(dialect, texts::sqlite_table, texts::postgres_table, texts::mariadb_table),
      quoted(dialect, name));
}

std::vector<sql_statement> enter(sql_dialect dialect, std::string_view table, const resource_name& resource,
                                 fence_token token) {
  std::vector<sql_statement> all = {
      {.text = choose<std::string>(dialect, "BEGIN IMMEDIATE", "BEGIN", "START TRANSACTION")},
      gate(dialect, table, resource, token)};
  if (dialect != sql_dialect::mariadb) {
    all.push_back({.text = "SAVEPOINT cremone_fence"});
  }
  return all;
}

std::vector<sql_statement> leave(sql_dialect dialect) {
  if (dialect == sql_dialect::mariadb) {
    return {{.text = "COMMIT"}};
  }
  return {{.text = "RELEASE SAVEPOINT cremone_fence"}, {.text = "COMMIT"}};
}

sql_statement gate(sql_dialect dialect, std::string_view table, const resource_name& resource,
                   fence_token token) {
  return {.text = filled(choose<std::string_view>(dialect, texts::sqlite_gate, texts::postgres_gate,
                                                  texts::mariadb_gate),
                         quoted(dialect, table)),
          .values = {resource.str(), static_cast<std::int64_t>(token.value())}};
}

sql_statement highest(sql_dialect dialect, std::string_view table, const resource_name& resource) {
  return writing(dialect)
      .text("SELECT token FROM ")
      .name(table)
      .text(" WHERE resource = ")
      .value(resource.str())
      .take();
}

sql_statement highest_now(sql_dialect dialect, std::string_view table, const resource_name& resource) {
  sql_statement made = highest(dialect, table, resource);
  made.text += choose<std::string_view>(dialect, "", " FOR UPDATE", " FOR UPDATE");
  return made;
}

sql_statement update(sql_dialect dialect, const sql_row& row, std::span<const sql_column> set,
                     std::span<const condition> where, std::string_view counted) {
  writing made(dialect);
  made.text("UPDATE ").name(row.table).text(" SET ");
  std::string_view between;
  for (const sql_column& column : set) {
    made.text(std::exchange(between, ", ")).name(column.name).text(" = ").value(column.value);
  }
  if (!counted.empty()) {
    made.text(between).name(counted).text(" = ").name(counted).text(" + 1");
  }
  made.key(row);
  for (const condition& c : where) {
    made.text(" AND ").require(c);
  }
  return made.take();
}

sql_statement look(sql_dialect dialect, const sql_row& row, std::string_view column) {
  return writing(dialect).text("SELECT ").name(column).text(" FROM ").name(row.table).key(row).now().take();
}

sql_statement compare(sql_dialect dialect, const sql_row& row, std::span<const condition> conditions) {
  writing made(dialect);
  std::string_view before = "SELECT CASE WHEN ";
  for (const condition& c : conditions) {
    made.text(std::exchange(before, ", CASE WHEN ")).require(c).text(" THEN 1 ELSE 0 END");
  }
  return made.text(" FROM ").name(row.table).key(row).now().take();
}

}  // namespace cremone::fence::sql
