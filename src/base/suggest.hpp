// SPDX-License-Identifier: Apache-2.0
//
// What somebody who mistyped a word most likely meant. Knows spelling, not what the words are for.
#pragma once

#include <initializer_list>
#include <span>
#include <string_view>

namespace cremone {

/// The one of `known` that is nearest to `wrong`, or empty when none is near enough to be meant: one slip (a letter
/// missing, added, wrong, or swapped with its neighbour) for every three letters. Words of two letters so have none:
/// every other such word would be near. Case does not count. Of equally near ones, the first. The result is a view
/// of `known`'s own text.
[[nodiscard]] std::string_view closest(std::string_view wrong, std::span<const std::string_view> known);

[[nodiscard]] inline std::string_view closest(std::string_view wrong,
                                              std::initializer_list<std::string_view> known) {
  return closest(wrong, std::span(known.begin(), known.size()));
}

}  // namespace cremone
