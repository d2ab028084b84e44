// SPDX-License-Identifier: Apache-2.0
//
// Which input is accepted. Each refusal names the culprit and what would do. Pure.
#pragma once

#include <cremone/options.hpp>
#include <cremone/result.hpp>
#include <cremone/types.hpp>

#include <chrono>

namespace cremone::core {

inline constexpr std::size_t max_label_size = 256;

/// May this lock be asked about? A name that an older version has stored is accepted.
[[nodiscard]] result<void> validate_name(const lock_name& name);

/// May this lock be taken? Stricter: a name must be shown as it is written.
[[nodiscard]] result<void> validate_new_name(const lock_name& name);

/// The ttl that was chosen, or else the default: 30 s, or `max_ttl` where that is shorter.
[[nodiscard]] std::chrono::milliseconds ttl_of(const acquire_options& options,
                                               std::chrono::milliseconds max_ttl) noexcept;

/// `max_ttl` is the store's: its quarantine after a restart is as long.
[[nodiscard]] result<void> validate_options(const acquire_options& options,
                                            std::chrono::milliseconds max_ttl);

}  // namespace cremone::core
