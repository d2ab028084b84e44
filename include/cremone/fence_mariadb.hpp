// SPDX-License-Identifier: Apache-2.0
//
// Fenced writes in MariaDB: the connection for <cremone/fence_sql.hpp>. Component fence_mariadb, which needs libmariadb; its header is not
// shown here.
#pragma once

#include <cremone/fence_sql.hpp>

#include <memory>

struct st_mysql;  // libmariadb's MYSQL

namespace cremone::fence {

/// Over the user's own `MYSQL*`, which must outlive it and be at rest: no result that was not read. MariaDB from 10.6.18, 10.11.8 and
/// 11.4.2 on: earlier ones cannot be told to refuse a transaction that has read an older state, and are *unsupported*.
///
/// With autocommit = 0 there always is a transaction: use check(), and not transact(), which begins one.
///
///     auto gate = cremone::fence::sql_gate(cremone::fence::mariadb(connection));
[[nodiscard]] std::unique_ptr<sql_connection> mariadb(st_mysql* connection);

}  // namespace cremone::fence
