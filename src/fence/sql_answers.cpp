// SPDX-License-Identifier: Apache-2.0
#include "fence/sql_answers.hpp"

#include "base/reading.hpp"
#include "base/text.hpp"

namespace cremone::fence::sql {

std::optional<std::int64_t> number_in(const sql_value& value) {
  if (const auto* const number = std::get_if<std::int64_t>(&value)) {
    return *number;
  }
  const auto* const text = std::get_if<std::string>(&value);
  return text == nullptr ? std::nullopt : whole_number<std::int64_t>(*text);
}

std::optional<std::int64_t> number_in(const std::optional<std::vector<sql_value>>& row) {
  return row && !row->empty() ? number_in(row->front()) : std::nullopt;
}

std::string shown(const sql_value& value) {
  constexpr std::size_t most = 40;
  if (const auto* const text = std::get_if<std::string>(&value)) {
    return "'" + printable(text->substr(0, most)) + (text->size() > most ? "…'" : "'");
  }
  if (const auto* const number = std::get_if<std::int64_t>(&value)) {
    return std::to_string(*number);
  }
  if (const auto* const number = std::get_if<double>(&value)) {
    return std::to_string(*number);
  }
  return "null";
}

std::string shown(const std::optional<std::vector<sql_value>>& row) {
  return row && !row->empty() ? shown(row->front()) : "nothing";
}

result<void> check_name(std::string_view what, std::string_view name) {
  if (name.empty()) {
    return error(errc::invalid_argument, std::string(what) + " is empty");
  }
  if (find_control(name) != std::string_view::npos) {
    return error(errc::invalid_argument,
                 std::string(what) + " has a control character: '" + printable(name) + "'");
  }
  return {};
}

result<void> check_gate(const sql_connection* connection, std::string_view table) {
  if (connection == nullptr) {
    return error(errc::invalid_argument,
                 "this gate has no connection: it was made without one, or moved from");
  }
  return check_name("the name of the gate's table", table);
}

}  // namespace cremone::fence::sql
