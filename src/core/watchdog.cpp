// SPDX-License-Identifier: Apache-2.0
#include "core/watchdog.hpp"

#include "core/validity.hpp"

#include <algorithm>
#include <bit>

namespace cremone::core {

namespace {

using std::chrono::nanoseconds;

/// From the send of a renewal to the next one, while the store answers.
nanoseconds interval_of(const lease_timing& timing) noexcept {
  return std::max<nanoseconds>(nanoseconds(timing.ttl) / timing.renewals_per_ttl, least_renewal_interval);
}

/// Renewals are due on a grid of at most a tenth of the interval between two (ttl/30 by default),
/// so that leases of about the same age go out in one batch.
nanoseconds grid_of(nanoseconds interval) noexcept {
  const auto step = static_cast<std::uint64_t>(interval.count()) / 10;
  return nanoseconds(static_cast<std::int64_t>(std::bit_floor(std::max<std::uint64_t>(step, 1))));
}

instant on_grid(instant t, nanoseconds grid, nanoseconds phase) noexcept {
  const auto shifted = t.time_since_epoch() + phase;
  return instant(shifted - shifted % grid - phase);
}

/// A renewal without an answer is tried again soon, sooner as the end comes nearer, never in a busy
/// loop. The longest pause is a quarter of the interval between two renewals (ttl/12 by default).
nanoseconds retry_pause(nanoseconds left, const lease_timing& timing) noexcept {
  constexpr nanoseconds least = std::chrono::milliseconds(5);
  return std::clamp<nanoseconds>(left / 4, least, std::max<nanoseconds>(least, interval_of(timing) / 4));
}

}  // namespace

nanoseconds survivable_outage(const lease_timing& timing, nanoseconds spare) noexcept {
  const nanoseconds validity = valid_until(instant{}, timing.ttl, timing.drift_ppm) - instant{};
  // A pause of p that ends with `spare` left was chosen when p + spare were left: p is a quarter of
  // that sum.
  const nanoseconds last_pause = retry_pause(spare / 3 * 4, timing);
  return std::max(validity - spare - interval_of(timing) - last_pause, nanoseconds(0));
}

watchdog::watchdog(const lease_timing& timing, instant sent) noexcept
    : timing_(timing), last_(later(sent, timing.max_hold)) {
  believe(sent);
}

/// The store has said yes to a request that left at `sent`.
void watchdog::believe(instant sent) noexcept {
  deadline_ = std::min(valid_until(sent, timing_.ttl, timing_.drift_ppm), last_);
  renew_at_ = at_max_hold()
                  ? instant::max()
                  : on_grid(sent + interval_of(timing_), grid_of(interval_of(timing_)), timing_.phase);
}

instant watchdog::wake_at() const noexcept {
  if (state_ != life::held) {
    return instant::max();
  }
  return in_flight_ ? deadline_ : std::min(renew_at_, deadline_);
}

watchdog::verdict watchdog::lose() noexcept {
  state_ = life::lost;
  return verdict::lost;
}

watchdog::verdict watchdog::expire(instant now) noexcept {
  return state_ == life::held && now >= deadline_ ? lose() : verdict::nothing;
}

watchdog::verdict watchdog::tick(instant now) noexcept {
  if (expire(now) == verdict::lost) {
    return verdict::lost;
  }
  if (state_ != life::held || in_flight_ || now < renew_at_) {
    return verdict::nothing;
  }
  in_flight_ = true;
  sent_ = now;
  ++seq_;
  return verdict::renew;
}

watchdog::verdict watchdog::renewed(instant now) noexcept {
  in_flight_ = false;
  if (expire(now) == verdict::lost) {
    return verdict::lost;
  }
  if (state_ == life::held) {
    believe(sent_);
  }
  return verdict::nothing;
}

watchdog::verdict watchdog::refused(instant now, errc why) noexcept {
  if (why != errc::lost && why != errc::not_held) {
    return unknown(now);  // not carried out, but nobody said that the lock is not ours
  }
  in_flight_ = false;
  return state_ == life::held ? lose() : verdict::nothing;
}

watchdog::verdict watchdog::unknown(instant now) noexcept {
  in_flight_ = false;
  if (expire(now) == verdict::lost) {
    return verdict::lost;
  }
  renew_at_ = now + retry_pause(deadline_ - now, timing_);
  return verdict::nothing;
}

bool watchdog::release() noexcept {
  if (state_ != life::held) {
    return false;
  }
  state_ = life::released;
  return true;
}

watchdog::verdict watchdog::abandon() noexcept { return state_ == life::held ? lose() : verdict::nothing; }

}  // namespace cremone::core
