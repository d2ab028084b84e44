// SPDX-License-Identifier: Apache-2.0
//
// Acquisitions for the tests of core::acquire: what they ask for, the answers they get, and how they are brought into
// each state. Decides nothing about what is right.
#pragma once

#include "core/acquire.hpp"
#include "core/validity.hpp"
#include "unit/moments.hpp"

#include <optional>
#include <ostream>
#include <span>
#include <string>
#include <vector>

namespace cremone::core {

inline std::ostream& operator<<(std::ostream& out, acquire_action::kind k) {
  switch (k) {
    case acquire_action::kind::nothing: return out << "nothing";
    case acquire_action::kind::attempt: return out << "attempt";
    case acquire_action::kind::evict: return out << "evict";
    case acquire_action::kind::sleep: return out << "sleep";
    case acquire_action::kind::succeed: return out << "succeed";
    case acquire_action::kind::fail: return out << "fail";
  }
  return out << "?";
}

namespace testing {

using namespace cremone::testing;
using kind = acquire_action::kind;

inline constexpr milliseconds lease_ttl = 30s;
inline constexpr milliseconds claim_time = 500ms;
inline constexpr milliseconds waiter_refresh = 3s;

/// The holder in the way. Its ttl differs from ours, so that a mix-up shows.
inline constexpr milliseconds holder_ttl = 12s;
inline constexpr nanoseconds holder_silence = silence_of(holder_ttl, usual_drift);

[[nodiscard]] inline hold_record holder(std::uint64_t seq = 0, milliseconds ttl = holder_ttl) {
  return hold_of(owner(77), seq, ttl);
}

/// A store like memory://, with a queue, hints and observed takeover. An empty `wait` has no end.
[[nodiscard]] inline acquire_settings waiting(std::optional<milliseconds> wait) {
  return {.name = "lock",
          .ttl = lease_ttl,
          .wait = wait,
          .drift_ppm = usual_drift,
          .fifo = true,
          .hints = true,
          .observed_takeover = true,
          .waiter_refresh = waiter_refresh,
          .claim_time = claim_time,
          .seed = 1};
}

[[nodiscard]] inline acquire_settings one_try() { return waiting(0ms); }
[[nodiscard]] inline acquire_settings without_end() { return waiting(std::nullopt); }

[[nodiscard]] inline refusal no(errc why) {
  return {.why = error(why), .holders = {}, .place = {}, .retry_after = {}};
}

[[nodiscard]] inline refusal busy(std::span<const hold_record> holders = {},
                                  std::optional<std::size_t> place = std::nullopt) {
  return {.why = error(errc::busy), .holders = holders, .place = place, .retry_after = {}};
}

[[nodiscard]] inline error no_answer() { return {errc::outcome_unknown, "no answer within 50 ms"}; }

/// An acquisition and what its client has seen of holders.
struct acquisition {
  explicit acquisition(const acquire_settings& settings) : machine(settings) {}

  acquire machine;
  observations seen{usual_drift};

  [[nodiscard]] acquire_action refused(nanoseconds now, const refusal& r) {
    return machine.refused(at(now), r, seen);
  }
  [[nodiscard]] acquire_action unknown(nanoseconds now) { return machine.unknown(at(now), no_answer()); }
};

/// Its first attempt is under way since the origin.
[[nodiscard]] inline acquisition trying(const acquire_settings& settings) {
  acquisition a(settings);
  (void)a.machine.start(at(0s));
  return a;
}

/// Refused as the head of the queue at 1 ms, and asleep since.
[[nodiscard]] inline acquisition sleeping(const acquire_settings& settings) {
  acquisition a = trying(settings);
  const std::vector<hold_record> holders = {holder()};
  (void)a.refused(1ms, busy(holders, 0));
  return a;
}

/// Its first attempt met a holder that has been silent for long; that one's eviction is under way since 1 ms.
/// `place`: where it was queued, if it was.
[[nodiscard]] inline acquisition evicting(const acquire_settings& settings,
                                          std::optional<std::size_t> place) {
  acquisition a = trying(settings);
  const std::vector<hold_record> holders = {holder()};
  (void)a.seen.note("lock", holders[0], at(0s) - holder_silence);
  (void)a.refused(1ms, busy(holders, place));
  return a;
}

}  // namespace testing
}  // namespace cremone::core
