// SPDX-License-Identifier: Apache-2.0
//
// The statements of fenced writes as text, for each database: how names are quoted, values are placed and nulls are compared. Decides
// nothing and asks nobody; what an answer means is in sql_gate.cpp and sql_rows.cpp. What never varies but for the table's name is in sql/.
#pragma once

#include <cremone/fence_sql.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cremone::fence::sql {

/// As an identifier, whatever it is made of.
[[nodiscard]] std::string quoted(sql_dialect dialect, std::string_view name);

/// What makes the gate's table.
[[nodiscard]] std::string table(sql_dialect dialect, std::string_view name);

/// Lets a token pass, or not: see the files *_gate.sql.
[[nodiscard]] sql_statement gate(sql_dialect dialect, std::string_view table, const resource_name& resource,
                                 fence_token token);

/// What begins a transaction with the gate: the first begins it, the second is the gate. Where it costs nothing, a savepoint follows: whether it is still there
/// at the end says whether it is still the same transaction.
[[nodiscard]] std::vector<sql_statement> enter(sql_dialect dialect, std::string_view table,
                                               const resource_name& resource, fence_token token);

/// What commits it; with a savepoint, the first fails when the transaction is another one.
[[nodiscard]] std::vector<sql_statement> leave(sql_dialect dialect);

/// As highest(), and takes the row: nobody else changes it before the transaction ends.
[[nodiscard]] sql_statement highest_now(sql_dialect dialect, std::string_view table,
                                        const resource_name& resource);

/// The highest token that the resource has seen; no row for none.
[[nodiscard]] sql_statement highest(sql_dialect dialect, std::string_view table,
                                    const resource_name& resource);

enum class relation : std::uint8_t {
  equal,
  same,     ///< equal, or both null
  below,    ///< as numbers: a column of text does not pass
  at_most,  ///< likewise
};

/// What a column of the row must be for it to be written.
struct condition {
  std::string column{};
  relation how = relation::equal;
  sql_value value{};
};

/// UPDATE row.table SET each of `set` [, `counted` = `counted` + 1] WHERE the key and all conditions are met.
[[nodiscard]] sql_statement update(sql_dialect dialect, const sql_row& row, std::span<const sql_column> set,
                                   std::span<const condition> where, std::string_view counted = {});

/// What stands in a column of the row.
[[nodiscard]] sql_statement look(sql_dialect dialect, const sql_row& row, std::string_view column);

/// For each condition 1 or 0: is it met? The database compares, because only it knows its types.
[[nodiscard]] sql_statement compare(sql_dialect dialect, const sql_row& row,
                                    std::span<const condition> conditions);

}  // namespace cremone::fence::sql
