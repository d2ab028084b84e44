// SPDX-License-Identifier: Apache-2.0
//
// Fenced writes in PostgreSQL: the connection for <cremone/fence_sql.hpp>. Component fence_postgres, which needs libpq; its header is
// not shown here.
#pragma once

#include <cremone/fence_sql.hpp>

#include <memory>

struct pg_conn;  // libpq's PGconn

namespace cremone::fence {

/// Over the user's own `PGconn*`, which must outlive it and be at rest: no pipeline, no COPY, no query under way. Nothing is prepared on the server, so
/// that it works behind a pooler too, as long as the transaction stays on one connection.
/// Its client_encoding must be UTF8, as names of resources are.
///
///     auto gate = cremone::fence::sql_gate(cremone::fence::postgres(connection));
[[nodiscard]] std::unique_ptr<sql_connection> postgres(pg_conn* connection);

}  // namespace cremone::fence
