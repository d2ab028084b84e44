// SPDX-License-Identifier: Apache-2.0
#include "sim/faults.hpp"

#include "base/reading.hpp"
#include "base/suggest.hpp"
#include "base/text.hpp"

#include <algorithm>
#include <optional>
#include <vector>

namespace cremone::sim {

namespace {

struct entry {
  std::string_view name;
  std::string_view about;
};

// In the order of the enumeration.
constexpr std::array<entry, fault_count> table = {{
    {"delay", "bytes that took long"},
    {"loss", "packets lost and repeated"},
    {"reset", "connections ended"},
    {"half_open", "connections that swallowed one direction"},
    {"partition", "one direction between a client and a node blocked"},
    {"crash", "clients killed"},
    {"pause", "clients stopped for a while"},
    {"preempt", "clients stopped within a step"},
    {"drift", "clocks with a rate of their own, within the bound"},
    {"set_back", "wall clocks of clients set"},
    {"stall", "nodes stopped for a while"},
    {"jump", "wall clocks of nodes set"},
    {"restart", "nodes restarted with all their data"},
    {"tail", "nodes restarted without their last writes"},
    {"amnesia", "nodes restarted empty"},
    {"flush", "nodes emptied"},
    {"freeze", "clocks that stood still while their client was stopped"},
    {"racing", "clocks whose rates differ without bound"},
}};

std::optional<fault> fault_called(std::string_view word) {
  const auto* const found =
      std::find_if(table.begin(), table.end(), [&](const entry& e) { return e.name == word; });
  return found == table.end() ? std::nullopt : std::optional(static_cast<fault>(found - table.begin()));
}

error unknown_fault(std::string_view word) {
  std::vector<std::string_view> names;
  std::string known = "all, none";
  for (const entry& e : table) {
    names.push_back(e.name);
    known += ", " + std::string(e.name);
  }
  const std::string_view meant = closest(word, names);
  return {errc::invalid_argument,
          "no fault is called '" + printable(word) + "'; " +
              (meant.empty() ? "there are " + known : "did you mean " + std::string(meant) + "?")};
}

}  // namespace

std::string_view name_of(fault f) noexcept { return table[static_cast<std::size_t>(f)].name; }

std::string_view describe(fault f) noexcept { return table[static_cast<std::size_t>(f)].about; }

fault_set fault_set::bounded() noexcept {
  fault_set all;
  for (std::size_t i = 0; i < fault_count; ++i) {
    all.add(static_cast<fault>(i));
  }
  return all.remove(fault::freeze).remove(fault::racing);
}

std::string to_string(fault_set set) {
  std::string text;
  for (std::size_t i = 0; i < fault_count; ++i) {
    if (set.has(static_cast<fault>(i))) {
      text += text.empty() ? "" : ",";
      text += table[i].name;
    }
  }
  return text.empty() ? "none" : text;
}

result<fault_set> parse_faults(std::string_view text) {
  if (text == "none") {
    return fault_set::none();
  }
  fault_set set;
  std::string_view rest = text;
  do {
    const std::string_view word = cut(rest, ',');
    if (word == "all") {
      set.add(fault_set::bounded());
    } else if (const auto f = fault_called(word)) {
      set.add(*f);
    } else {
      return unknown_fault(word);
    }
  } while (!rest.empty());
  return set;
}

}  // namespace cremone::sim
