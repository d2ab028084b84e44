// SPDX-License-Identifier: Apache-2.0
//
// What stands in `FILE.fence`: two slots, each one line of text with a checksum, of which one is overwritten at a time. This file
// decides what a slot means and whether it is whole; it opens nothing and knows no rule.
#pragma once

#include <cremone/types.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cremone::fence {

/// FNV-1a with 64 bits: tells a whole piece from a torn one. It is no protection from somebody who means it.
class checksum {
 public:
  void add(std::string_view bytes) noexcept;
  [[nodiscard]] std::uint64_t value() const noexcept { return value_; }

 private:
  std::uint64_t value_ = 14695981039346656037U;
};

/// One line. Of two whole ones the one with the higher turn is the newer.
struct slot {
  std::uint64_t turn = 0;  ///< how often this file has been written to; 0: since it was made, never
  fence_token token{};

  /// An append of `length` bytes that was begun, to this inode when it had `before` bytes.
  struct addition {
    std::uint64_t inode = 0;
    std::uint64_t before = 0;
    std::uint64_t length = 0;
    std::uint64_t lead = 0;  ///< the sum of some bytes before it
    std::uint64_t step = 1;  ///< it has a sum at each multiple of this in the file, and one at its end
    std::vector<std::uint64_t> sums{};  ///< each from its beginning on
    friend bool operator==(const addition&, const addition&) = default;
  };
  std::optional<addition> begun{};  ///< nothing: none is under way

  friend bool operator==(const slot&, const slot&) = default;
};

/// A slot has a block of the disk to itself: what tears while one is written leaves the other alone.
inline constexpr std::size_t slot_size = 4096;
inline constexpr std::size_t slot_count = 2;

/// Exactly slot_size bytes: words, blanks, and a newline.
[[nodiscard]] std::string encode(const slot& s);

/// Nothing unless these bytes are what encode() makes, to the last one.
[[nodiscard]] std::optional<slot> decode(std::string_view bytes);

/// Does a file with this beginning look like one of ours, though perhaps a damaged one?
[[nodiscard]] bool resembles_slots(std::string_view bytes) noexcept;

}  // namespace cremone::fence
