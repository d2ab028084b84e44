// SPDX-License-Identifier: Apache-2.0
//
// Fenced writes in a database, on the user's own connection and in the user's own transaction. One class for all databases; which
// one it speaks to is known to the connection that it is made with: <cremone/fence_sqlite.hpp>, <cremone/fence_postgres.hpp>,
// <cremone/fence_mariadb.hpp>. The same as plain SQL, for other languages: docs/fence-sql.md.
#pragma once

#include <cremone/callback.hpp>
#include <cremone/fence.hpp>
#include <cremone/result.hpp>
#include <cremone/types.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace cremone::fence {

/// What a database keeps in a column, as far as a condition or an assignment needs it. Text stands for whatever the database
/// reads from text: dates, decimals, JSON.
using sql_value = std::variant<std::nullptr_t, std::int64_t, double, std::string>;

enum class sql_dialect : std::uint8_t { sqlite, postgres, mariadb };

/// The table that the gate keeps its marks in, unless it is told another.
inline constexpr std::string_view default_table = "cremone_fence";

/// A statement whose values are apart from its text. Placeholders are ?1, ?2, … for SQLite, $1, $2, … for PostgreSQL and ? for
/// MariaDB.
struct sql_statement {
  std::string text{};
  std::vector<sql_value> values{};
};

struct sql_answer {
  std::int64_t changed = 0;                       ///< rows that the condition of an UPDATE or INSERT met
  std::optional<std::vector<sql_value>> first{};  ///< the first row, of a statement that gives rows
};

/// One connection of the user's, which stays the user's: it must outlive this, and is used by one thread at a time. Write one of
/// your own for a driver that cremone does not know; those that it knows are made by sqlite(), postgres() and mariadb().
class sql_connection {
 public:
  sql_connection() = default;
  sql_connection(const sql_connection&) = delete;
  sql_connection& operator=(const sql_connection&) = delete;
  virtual ~sql_connection() = default;

  [[nodiscard]] virtual sql_dialect dialect() const noexcept = 0;

  /// For messages, without secrets: "PostgreSQL database 'shop' on db1".
  [[nodiscard]] virtual std::string name() const = 0;

  /// Whether a transaction of the user's is open that can still be committed. Asks nobody.
  /// *misconfigured* says what to do: there is none, or an error has ended it.
  [[nodiscard]] virtual result<void> in_transaction() const = 0;

  /// *misconfigured* (no such table or column; the database's own sentence is in it), *busy* (another transaction was quicker, or has been at it for
  /// too long: roll back and begin again), *access_denied*, *storage_error* (disk full, read-only), *unreachable*
  /// (the connection is gone: nothing was committed, or not known whether, as with any database), *invalid_argument*.
  [[nodiscard]] virtual result<sql_answer> execute(const sql_statement& what) = 0;

  /// Statements that are all known before the first is answered: in one round trip where the database can do that. As execute() for one after the
  /// other, with an answer for each; what follows one that fails is not executed, and has failed too.
  [[nodiscard]] virtual std::vector<result<sql_answer>> execute_all(std::span<const sql_statement> all);

  /// Whether the gate's table is what create() makes. Called once by each gate, before it is first used, where the database would not
  /// notice by itself. *misconfigured* says what is wrong with it.
  [[nodiscard]] virtual result<void> examine(std::string_view table) = 0;
};

/// One row of a table of the user's: UPDATE "table" … WHERE "key_column" = key. The names are quoted as they are.
struct sql_row {
  std::string table{};
  std::string key_column{};
  sql_value key{};
};

/// A column and the value that it gets, or must have.
struct sql_column {
  std::string name{};
  sql_value value{};
};

/// How often one token may write to one row.
enum class writes : std::uint8_t {
  once,  ///< `token < ?`: a repetition of the same write is refused too
  many,  ///< `token <= ?`: one holder writes as often as it likes
};

/// The forms of a fenced write. Each call is one statement, or two where it has to say why it refuses.
///
/// | form                | for                                                   | the table needs                      | gives                |
/// |---------------------|-------------------------------------------------------|--------------------------------------|----------------------|
/// | check, transact     | anything that a transaction writes, to any tables     | one row per resource, in a table of ours | order and exclusion |
/// | update              | one row that is written                               | a column for the token               | order and exclusion  |
/// | mark, update_marked | one row, and a lock without tokens                    | a column for the owner               | exclusion; no order  |
/// | update_version      | one row, without any lock                             | a column for the version             | no lost update       |
/// | update_unchanged    | one row, without any lock, of a table that cannot be changed | nothing                       | no lost update, but for what comes back to an old value |
///
/// All of them refuse with *stale_token*, and then nothing was written by them. What else the transaction has done is the caller's:
/// roll it back. The forms for one row answer *busy* when another has come between, and *misconfigured* when the key is that of several rows.
///
/// Isolation: every level of each database will do. Where a transaction has read what another has changed since, check()
/// answers *busy*, so that nobody writes what was made of an old state: roll back and begin again, with check() first.
///
/// Ownership: move-only; owns its sql_connection, which owns nothing of the user's.
/// Threads: as the connection: one at a time.
///
///     auto gate = cremone::fence::sql_gate(cremone::fence::sqlite(database));
///     auto done = gate.transact("ledger", lease.token(), [&]() -> cremone::result<void> { return post_entries(database); });
///     if (!done) report(done.error().message());
class sql_gate {
 public:
  explicit sql_gate(std::unique_ptr<sql_connection> over, std::string table = std::string(default_table));
  sql_gate(sql_gate&&) noexcept = default;
  sql_gate& operator=(sql_gate&&) noexcept = default;
  ~sql_gate() = default;

  /// In a transaction of the user's, before anything is read or written in it. Lets the token pass and remembers it, as part of that
  /// transaction: others that come to this resource wait until it ends. An equal token passes again. What undoes it undoes the fence: a rollback to a
  /// savepoint from before it, or a COMMIT after which another transaction begins.
  ///
  /// *stale_token*; *busy* (begin again); *misconfigured* (no transaction is open, it is read-only, the table is missing or has another shape: the
  /// statement that makes it is in the message); *invalid_argument* (the token, the name); and whatever execute() fails with.
  [[nodiscard]] result<void> check(const resource_name& resource, fence_token token);

  /// The whole of it: begins a transaction, checks, calls `write`, and commits; rolls back when any of these fails, and answers with
  /// its error. What `write` throws is passed on after the rollback. *outcome_unknown* when the connection was lost during the commit.
  /// On *busy* it can be called again. *misconfigured* when a transaction is open already, or `write` has ended this one.
  [[nodiscard]] result<void> transact(const resource_name& resource, fence_token token,
                                      callback<result<void>()> write);

  /// The highest token that the resource has seen; zero for none.
  [[nodiscard]] result<fence_token> highest(const resource_name& resource);

  /// Makes the gate's table where there is none. Not within a transaction. *misconfigured* when there is one of another shape, which is left as it is.
  [[nodiscard]] result<void> create();

  /// UPDATE … SET `set`, `token_column` = token WHERE … AND `token_column` < or <= token. The column must be BIGINT NOT NULL: where the database
  /// cuts off or rounds what does not fit, tokens become equal, and late ones pass.
  /// *not_held* when there is no such row.
  [[nodiscard]] result<void> update(const sql_row& row, std::string_view token_column, fence_token token,
                                    std::span<const sql_column> set, writes how_often = writes::many);

  /// Writes the owner's random id into the row, as 40 digits: whoever did so last may write it. *not_held* when there is no such row.
  [[nodiscard]] result<void> mark(const sql_row& row, std::string_view owner_column, const owner_id& owner);

  /// UPDATE … SET `set` WHERE … AND `owner_column` = owner. *stale_token* when another has marked it since.
  [[nodiscard]] result<void> update_marked(const sql_row& row, std::string_view owner_column,
                                           const owner_id& owner, std::span<const sql_column> set);

  /// UPDATE … SET `set`, `version_column` = `version_column` + 1 WHERE … AND `version_column` = version.
  [[nodiscard]] result<void> update_version(const sql_row& row, std::string_view version_column,
                                            std::int64_t version, std::span<const sql_column> set);

  /// UPDATE … SET `set` WHERE … AND each of `old` is as it was; null is equal to null.
  [[nodiscard]] result<void> update_unchanged(const sql_row& row, std::span<const sql_column> old,
                                              std::span<const sql_column> set);

  /// The statement that create() runs.
  [[nodiscard]] static std::string ddl(sql_dialect dialect, std::string_view table = default_table);

 private:
  [[nodiscard]] result<void> prepare(const resource_name& resource, fence_token token);
  [[nodiscard]] result<void> look_at_table();
  [[nodiscard]] result<void> judge(const result<sql_answer>& answer, const resource_name& resource,
                                   fence_token token);

  [[nodiscard]] result<void> still_entered(const resource_name& resource, fence_token token);

  std::unique_ptr<sql_connection> connection_;
  std::string table_;
  bool examined_ = false;
};

}  // namespace cremone::fence
