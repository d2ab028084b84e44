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

[[nodiscard]] result<void> validate_name(const lock_name& name);

/// `max_ttl` is the store's: its quarantine after a restart is as long.
[[nodiscard]] result<void> validate_options(const acquire_options& options,
                                            std::chrono::milliseconds max_ttl);

}  // namespace cremone::core
