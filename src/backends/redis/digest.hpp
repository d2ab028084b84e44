// SPDX-License-Identifier: Apache-2.0
//
// The bucket of a name, by its SHA-1.
#pragma once

#include "base/sha1.hpp"

#include <cstdint>
#include <string_view>

namespace cremone::redis {

using cremone::sha1_hex;

/// Names share counters and channels by buckets, so that no name leaves a key behind and their number is bounded. More
/// buckets mean more fields, fewer mean tokens that grow by others' acquisitions; 1,024 fields are some 40 kB.
inline constexpr std::uint32_t bucket_count = 1024;

/// The first 32 bits of the name's SHA-1, modulo bucket_count. All clients of a server must agree on it.
[[nodiscard]] std::uint32_t bucket_of(std::string_view name) noexcept;

}  // namespace cremone::redis
