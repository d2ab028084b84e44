// SPDX-License-Identifier: Apache-2.0
//
// What the gate and the row forms share about values that go to a database and come back: reading, showing, and refusing names that
// cannot be any.
#pragma once

#include <cremone/fence_sql.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cremone::fence::sql {

/// A whole number, also where a driver gives it as text. Nothing for null and for whatever else.
[[nodiscard]] std::optional<std::int64_t> number_in(const sql_value& value);

/// The first value of a row.
[[nodiscard]] std::optional<std::int64_t> number_in(const std::optional<std::vector<sql_value>>& row);

/// For a message: 7, 'seven', null; short and printable.
[[nodiscard]] std::string shown(const sql_value& value);
[[nodiscard]] std::string shown(const std::optional<std::vector<sql_value>>& row);

/// *invalid_argument* when it is empty or has control characters. `what`: "the table's name".
[[nodiscard]] result<void> check_name(std::string_view what, std::string_view name);

/// *invalid_argument* when there is no connection (the gate was moved from, or made without one), or no table.
[[nodiscard]] result<void> check_gate(const sql_connection* connection, std::string_view table);

}  // namespace cremone::fence::sql
