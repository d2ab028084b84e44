// SPDX-License-Identifier: Apache-2.0
//
// Standard input as what a fenced file is written from. A read that fails must not look like the end.
#pragma once

#include <cremone/fenced_file.hpp>

#include <cstdint>

namespace cremone::cli {

/// What an input without a single byte means.
enum class empty_input : std::uint8_t {
  refused,  ///< most likely its producer failed: *invalid_argument*
  fine,
};

/// Reads standard input to its end. *storage_error* when it cannot be read, also when there is none.
[[nodiscard]] fenced_file::source standard_input(empty_input when_empty);

/// Where a person sits at both ends, it looks as if nothing happened.
void say_that_it_waits_for_typing();

}  // namespace cremone::cli
