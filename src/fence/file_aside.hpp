// SPDX-License-Identifier: Apache-2.0
//
// `FILE.fence-cut`: where bytes go that stand where an append was cut short and are not proven to be of it. They may be somebody's. Knows no tokens.
#pragma once

#include "fence/file_place.hpp"

#include <cstdint>

namespace cremone::fence {

/// Adds these bytes of the file to the end of `FILE.fence-cut`, which has the rights of the file if we may give it those. They are on the
/// disk there when this returns; if it fails, nothing of them is. Under the lock.
[[nodiscard]] result<void> set_aside(const place& at, const original& file, std::uint64_t from,
                                     std::uint64_t length);

}  // namespace cremone::fence
