// SPDX-License-Identifier: Apache-2.0
//
// The life of one lease after its grant: when to renew, when to try again, when it is lost, and that lost and
// released are final. Told the time and the store's answers; sends nothing itself. Pure.
#pragma once

#include <cremone/result.hpp>
#include <cremone/types.hpp>

#include <chrono>
#include <cstdint>

namespace cremone::core {

/// What a lease's life is timed by. `phase` spreads the renewals of different clients.
struct lease_timing {
  std::chrono::milliseconds ttl{};
  std::int64_t drift_ppm = 0;
  std::chrono::nanoseconds phase{};
  std::chrono::milliseconds max_hold = std::chrono::milliseconds::max();  ///< the longest life; max: no limit
  int renewals_per_ttl = 3;
};

/// Renewals never come closer together than this, however short the ttl: no busy loop.
inline constexpr std::chrono::milliseconds least_renewal_interval{10};

/// The longest outage that a lease is sure to survive if the outage begins just before a renewal is
/// sent: the validity that is left then, less `spare` at its end and one pause between two retries.
[[nodiscard]] std::chrono::nanoseconds survivable_outage(const lease_timing& timing,
                                                         std::chrono::nanoseconds spare) noexcept;

enum class life : std::uint8_t { held, released, lost };

/// | state    | tick                       | renewed               | refused (not ours) | unknown, not reached  | release  |
/// |----------|----------------------------|-----------------------|--------------------|-----------------------|----------|
/// | held     | renew if due; lost if over | extends; lost if over | lost               | retry; lost if over   | released |
/// | released | nothing                    | nothing               | nothing            | nothing               | nothing  |
/// | lost     | nothing                    | nothing               | nothing            | nothing               | nothing  |
class watchdog {
 public:
  /// What the engine must do. `lost` is said exactly once.
  enum class verdict : std::uint8_t { nothing, renew, lost };

  /// `sent`: the clock just before the granted request left.
  watchdog(const lease_timing& timing, instant sent) noexcept;

  [[nodiscard]] life state() const noexcept { return state_; }
  [[nodiscard]] bool held_at(instant now) const noexcept { return state_ == life::held && now < deadline_; }

  /// End of validity as things stand.
  [[nodiscard]] instant deadline() const noexcept { return deadline_; }

  /// Is that the end of max_hold, which no renewal moves? Then none is asked for any more.
  [[nodiscard]] bool at_max_hold() const noexcept { return deadline_ == last_; }

  /// Is a renewal on its way?
  [[nodiscard]] bool in_flight() const noexcept { return in_flight_; }

  /// When tick() wants to be called next; the end of time when there is nothing more to do.
  [[nodiscard]] instant wake_at() const noexcept;

  /// The number that the renewal under way carries: 1, 2, …
  [[nodiscard]] std::uint64_t seq() const noexcept { return seq_; }

  /// Lost, if the validity is over. For those who ask between two ticks.
  [[nodiscard]] verdict expire(instant now) noexcept;

  /// Time passed. `renew`: send a renewal with seq() now; its validity will count from this `now`.
  [[nodiscard]] verdict tick(instant now) noexcept;

  // What became of the renewal under way. An answer that arrives when the validity is over changes nothing: a
  // late "renewed" never revives.
  [[nodiscard]] verdict renewed(instant now) noexcept;
  [[nodiscard]] verdict refused(instant now, errc why) noexcept;
  [[nodiscard]] verdict unknown(instant now) noexcept;

  /// The holder gives it back: no renewal after this, whatever is under way. False if there was no hold left.
  [[nodiscard]] bool release() noexcept;

  /// The holder cannot be served any more: its client closes.
  [[nodiscard]] verdict abandon() noexcept;

 private:
  [[nodiscard]] verdict lose() noexcept;
  void believe(instant sent) noexcept;

  lease_timing timing_;
  life state_ = life::held;
  bool in_flight_ = false;
  std::uint64_t seq_ = 0;
  instant last_;    // the end of max_hold
  instant sent_{};  // of the renewal under way
  instant deadline_{};
  instant renew_at_{};
};

}  // namespace cremone::core
