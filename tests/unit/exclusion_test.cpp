// SPDX-License-Identifier: Apache-2.0
//
// Puts the watchdog of a holder and the observations of a contender on clocks that run apart as far as is allowed, with
// a one-record store and seeded delays and losses between them, and checks the promise that both serve: when the
// contender's eviction is carried out, the holder has stopped. Uses the production decisions and nothing of the engine.
#include "core/observation.hpp"
#include "unit/watchdog_fixture.hpp"

#include "base/backoff.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <vector>

namespace cremone::core {
namespace {

using namespace core::testing;

/// A clock that is `rate` ppm off and began somewhere of its own.
struct skewed_clock {
  std::int64_t rate;
  nanoseconds offset;

  [[nodiscard]] instant read(nanoseconds true_time) const {
    return at(offset + true_time + true_time / 1'000'000 * rate);
  }
};

/// True time in steps of one millisecond; messages take any number of them, or are lost.
class duel {
 public:
  duel(std::uint64_t seed, std::int64_t holder_rate, std::int64_t observer_rate,
       milliseconds max_hold = milliseconds::max())
      : dice_(seed),
        holder_clock_{holder_rate, 3s},
        observer_clock_{observer_rate, 5s},
        dog_({.ttl = lease_ttl, .drift_ppm = usual_drift, .phase = {}, .max_hold = max_hold},
             holder_clock_.read(0s)) {}

  enum class outcome : std::uint8_t { never_evicted, evicted, overlap };

  outcome run() {
    for (; now_ < 20s; now_ += 1ms) {
      hold();
      contend();
      if (evicted_at_ && dog_.held_at(holder_clock_.read(now_))) return outcome::overlap;
      if (evicted_at_ && dog_.state() == life::lost) return outcome::evicted;
    }
    return outcome::never_evicted;
  }

 private:
  static constexpr milliseconds lease_ttl = 2s;

  bool rarely() { return dice_.between(0ns, 9ns) < 3ns; }
  nanoseconds up_to(milliseconds most) {
    return milliseconds(dice_.between(0ns, nanoseconds(most.count())).count());
  }

  /// The holder's network is bad, the contender's good, which is the hardest case.
  nanoseconds delay() { return rarely() ? up_to(1500ms) : up_to(30ms); }
  bool lost() { return rarely(); }

  void send_renewal() {
    const nanoseconds arrival = now_ + delay();
    const bool arrives = !lost();
    if (arrives) under_way_.push_back(arrival);
    arrival_ = arrival;
    answered_ = arrives && !lost() ? std::optional(arrival + delay()) : std::nullopt;
    gives_up_ = now_ + (rarely() ? 200ms : 5s);
  }

  /// The holder: its watchdog, its renewals on their way to the store, the answer on its way back.
  void hold() {
    const instant mine = holder_clock_.read(now_);
    if (dog_.wake_at() <= mine && dog_.tick(mine) == verdict::renew) send_renewal();
    if (!evicted_at_) {
      stored_seq_ += std::erase_if(under_way_, [&](nanoseconds arrival) { return arrival <= now_; });
    }
    if (answered_ && *answered_ <= now_) {
      const bool yes = !evicted_at_ || arrival_ <= *evicted_at_;
      (void)(yes ? dog_.renewed(mine) : dog_.refused(mine, errc::lost));
    } else if (gives_up_ && *gives_up_ <= now_) {
      (void)dog_.unknown(mine);
    } else {
      return;
    }
    answered_.reset();
    gives_up_.reset();
  }

  /// The contender: reads the version, hears of it later, and evicts what was silent for long enough.
  void contend() {
    if (evict_arrives_ && *evict_arrives_ <= now_) {
      evict_arrives_.reset();
      if (stored_seq_ == victim_seq_ && !evicted_at_) evicted_at_ = now_;  // compare and set
    }
    if (heard_at_ && *heard_at_ <= now_) {
      heard_at_.reset();
      const instant mine = observer_clock_.read(now_);
      if (mine >= seen_.note("lock", hold_of(owner(1), seen_seq_, lease_ttl), mine)) {
        evict_arrives_ = now_ + up_to(5ms);
        victim_seq_ = seen_seq_;
      }
    } else if (!heard_at_ && rarely()) {
      seen_seq_ = stored_seq_;
      heard_at_ = now_ + up_to(5ms);
    }
  }

  jitter dice_;
  skewed_clock holder_clock_;
  skewed_clock observer_clock_;
  nanoseconds now_{};

  watchdog dog_;
  std::vector<nanoseconds> under_way_;   // when renewals arrive at the store, late ones too
  nanoseconds arrival_{};                // of the latest
  std::optional<nanoseconds> answered_;  // when its answer is read
  std::optional<nanoseconds> gives_up_;  // when the holder waits for it no longer

  std::uint64_t stored_seq_ = 0;
  std::optional<nanoseconds> evicted_at_;

  observations seen_{usual_drift};
  std::uint64_t seen_seq_ = 0;
  std::optional<nanoseconds> heard_at_;
  std::uint64_t victim_seq_ = 0;
  std::optional<nanoseconds> evict_arrives_;
};

TEST(Exclusion, NoHolderBelievesInItsLeaseOnceItWasEvicted) {
  int evictions = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    for (const std::int64_t holder : {-usual_drift, usual_drift}) {
      for (const std::int64_t observer : {-usual_drift, usual_drift}) {
        const auto end = duel(seed, holder, observer).run();
        ASSERT_NE(end, duel::outcome::overlap) << "seed " << seed << ", rates " << holder << ", " << observer;
        evictions += end == duel::outcome::evicted ? 1 : 0;
      }
    }
  }
  EXPECT_GT(evictions, 100) << "else nothing was tested";
}

TEST(Exclusion, OfAHolderThatMaxHoldEndsIsTheSame) {
  int evictions = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    for (const std::int64_t observer : {-usual_drift, usual_drift}) {
      const auto end = duel(seed, -usual_drift, observer, milliseconds(seed * 100)).run();
      ASSERT_NE(end, duel::outcome::overlap) << "seed " << seed << ", rate " << observer;
      evictions += end == duel::outcome::evicted ? 1 : 0;
    }
  }
  EXPECT_GT(evictions, 100) << "who renews no more is taken over from";
}

}  // namespace
}  // namespace cremone::core
