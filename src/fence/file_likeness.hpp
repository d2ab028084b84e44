// SPDX-License-Identifier: Apache-2.0
//
// A new file that is to look like the one whose place it takes: owner, group, mode, extended attributes, and with them access control
// lists and labels. Knows nothing of tokens.
#pragma once

#include "fence/file_place.hpp"

namespace cremone::fence {

/// Makes `file` like the original, `mode` masked. True if anything had to be changed. *access_denied* where we may not.
[[nodiscard]] result<bool> make_alike(int file, const original& model, const place& at, mode_t mask = 07777);

}  // namespace cremone::fence
