// SPDX-License-Identifier: Apache-2.0
//
// What the unit tests share: made-up moments, owners and holds, and how they are printed when a test fails. Knows no
// state machine and no store, and reads no clock.
#pragma once

#include <cremone/record.hpp>
#include <cremone/result.hpp>
#include <cremone/types.hpp>

#include <chrono>
#include <cstdint>
#include <ostream>

namespace cremone {

inline std::ostream& operator<<(std::ostream& out, instant t) {
  return out << t.time_since_epoch().count() << " ns";
}

inline std::ostream& operator<<(std::ostream& out, errc code) { return out << to_string(code); }

namespace testing {

using namespace std::chrono_literals;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;

/// The moment from which the tests count. Not zero, which is what a forgotten instant would be.
inline constexpr instant origin{std::chrono::hours(1000)};

/// How far two clocks' rates may differ, in parts per million: the library's default.
inline constexpr std::int64_t usual_drift = 1000;

[[nodiscard]] constexpr instant at(nanoseconds after_origin) { return origin + after_origin; }

/// The n-th made-up owner.
[[nodiscard]] constexpr owner_id owner(std::uint32_t n) {
  owner_id::bytes raw{};
  for (std::size_t i = 0; i < sizeof n; ++i) {
    raw[i] = static_cast<std::uint8_t>(n >> (8U * i));
  }
  return owner_id(raw);
}

[[nodiscard]] inline hold_record hold_of(const owner_id& who, std::uint64_t seq, milliseconds ttl) {
  hold_record hold;
  hold.version = {who, seq};
  hold.ttl = ttl;
  return hold;
}

}  // namespace testing
}  // namespace cremone
