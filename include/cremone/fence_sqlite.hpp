// SPDX-License-Identifier: Apache-2.0
//
// Fenced writes in a SQLite database: the connection for <cremone/fence_sql.hpp>, and the form for data that live in the same file as
// the locks. Component fence_sqlite, which needs SQLite; its header is not shown here.
#pragma once

#include <cremone/fence_sql.hpp>
#include <cremone/types.hpp>

#include <memory>

struct sqlite3;

namespace cremone::fence {

/// Over the user's own `sqlite3*`, which must outlive it. How long a call waits for another's transaction is what the user has set by
/// sqlite3_busy_timeout(); transact() begins with BEGIN IMMEDIATE.
[[nodiscard]] std::unique_ptr<sql_connection> sqlite(sqlite3* database);

/// Where `database` is the very file that a `sqlite://` store keeps its locks in: looks, within the user's transaction, whether the
/// lock is still held by that token. No table of marks is needed, and no later holder: who has lost the lock is refused even
/// when nobody has written since. *stale_token* if not; *misconfigured* when no transaction is open, or the database has no locks in it.
///
/// A transaction that was begun with a plain BEGIN will do: the call takes the turn to write, so that from then on nobody can take the lock away
/// before the transaction ends; and it answers *busy* when the transaction has read before another wrote (SQLite's
/// BUSY_SNAPSHOT), for what it read may be another holder's past. Renewals wait for that turn too: keep the transaction short.
///
///     // BEGIN IMMEDIATE; …
///     if (auto still = cremone::fence::check_lock(database, lease.name(), lease.token()); !still) rollback(still.error());
[[nodiscard]] result<void> check_lock(sqlite3* database, const lock_name& lock, fence_token token);

}  // namespace cremone::fence
