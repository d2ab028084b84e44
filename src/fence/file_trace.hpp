// SPDX-License-Identifier: Apache-2.0
//
// By what an append is known again when its writer is gone: sums of what it adds, from its beginning up to each of some two hundred places, and one of
// what stood before it. Whoever finds the end of a file asks here how much of it is proven to be of that append. Changes nothing.
#pragma once

#include "fence/file_slots.hpp"

#include <cremone/result.hpp>

#include <cstdint>
#include <functional>
#include <string>

namespace cremone::fence {

/// As many bytes as there are from an offset on, up to so many.
using reader = std::function<result<std::string>(std::uint64_t offset, std::size_t most)>;

/// The note of an append of `length` bytes to the end, at `before`, of this file. The places are at whole numbers of bytes or, if it is
/// longer, of 2, 4, 8 and so on in the file: up to 800 kB each end of a page is one, and there a killed write is torn.
[[nodiscard]] result<slot::addition> trace_of(std::uint64_t inode, std::uint64_t before, std::uint64_t length,
                                              const reader& content, const reader& file);

/// Does what stood before the append still stand there, as far as it was noted?
[[nodiscard]] result<bool> stands_before(const slot::addition& begun, const reader& file);

/// How many bytes of the append are there, of a file that has `tail` bytes behind where it began: up to the last place whose sum is right.
[[nodiscard]] result<std::uint64_t> proven(const slot::addition& begun, std::uint64_t tail,
                                           const reader& file);

}  // namespace cremone::fence
