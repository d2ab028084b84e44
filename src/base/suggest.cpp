// SPDX-License-Identifier: Apache-2.0
#include "base/suggest.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

namespace cremone {

namespace {

/// No word that we know is longer; what somebody types instead of one is bounded by this as well.
constexpr std::size_t longest_word = 40;

using row = std::array<std::size_t, longest_word + 1>;

char folded(char c) noexcept { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

/// How many slips lie between two words: letters missing, added, wrong, or swapped with their neighbours. Both at
/// most longest_word.
std::size_t slips_between(std::string_view a, std::string_view b) noexcept {
  row before_last{};
  row last{};
  row here{};
  for (std::size_t j = 0; j <= b.size(); ++j) {
    here[j] = j;
  }
  for (std::size_t i = 1; i <= a.size(); ++i) {
    before_last = std::exchange(last, here);
    here[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const bool same = folded(a[i - 1]) == folded(b[j - 1]);
      here[j] = std::min({last[j] + 1, here[j - 1] + 1, last[j - 1] + (same ? 0 : 1)});
      const bool swapped =
          i > 1 && j > 1 && folded(a[i - 1]) == folded(b[j - 2]) && folded(a[i - 2]) == folded(b[j - 1]);
      if (swapped) {
        here[j] = std::min(here[j], before_last[j - 2] + 1);
      }
    }
  }
  return here[b.size()];
}

}  // namespace

std::string_view closest(std::string_view wrong, std::span<const std::string_view> known) {
  std::string_view best;
  std::size_t fewest = longest_word;
  for (const std::string_view word : known) {
    if (std::max(wrong.size(), word.size()) > longest_word) {
      continue;
    }
    const std::size_t slips = slips_between(wrong, word);
    if (slips <= std::max(wrong.size(), word.size()) / 3 && slips < fewest) {
      best = word;
      fewest = slips;
    }
  }
  return best;
}

}  // namespace cremone
