// SPDX-License-Identifier: Apache-2.0
//
// Walks acquisitions through seeded random answers, hints, delays and cancellations, and checks what must hold on every
// way: nothing is left in the store, no lease begins that is already over, and nobody waits for nothing. The walk knows
// what the store may know; it does not know how the machine decides.
#include "unit/acquire_fixture.hpp"

#include <gtest/gtest.h>

namespace cremone::core {
namespace {

using namespace core::testing;

class walk {
 public:
  explicit walk(std::uint64_t seed) : dice_(seed), wait_(draw_wait()), a_(settings_for(wait_, seed)) {}

  void run() {
    follow(a_.machine.start(now_));
    for (int steps = 0; !a_.machine.over(); ++steps) {
      ASSERT_LT(steps, 10'000) << "it neither ends nor sleeps";
      step();
      if (::testing::Test::HasFatalFailure()) return;
    }
    EXPECT_EQ(a_.machine.hint(now_).what, kind::nothing);
    EXPECT_EQ(a_.machine.granted(now_, false).what, kind::nothing);
  }

 private:
  static acquire_settings settings_for(std::optional<milliseconds> wait, std::uint64_t seed) {
    acquire_settings s = waiting(wait);
    s.ttl = ttl;
    s.seed = seed;
    return s;
  }

  std::int64_t draw(std::int64_t below) { return dice_.between(0ns, nanoseconds(below - 1)).count(); }

  std::optional<milliseconds> draw_wait() {
    switch (draw(3)) {
      case 0: return 0ms;
      case 1: return milliseconds(draw(20'000) + 1);
      default: return std::nullopt;
    }
  }

  void step() {
    if (draw(10) == 0 && asleep_) return follow(a_.machine.hint(now_));
    if (draw(20) == 0 && !asleep_) (void)a_.machine.hint(now_);  // only noted
    if (draw(40) == 0) return follow(a_.machine.cancel(error(errc::cancelled)));
    if (asleep_) {
      now_ = std::max(now_, until_);
      return follow(a_.machine.tick(now_));
    }
    now_ += milliseconds(draw(10) == 0 ? draw(5000) : draw(20));  // the answer takes its time
    if (evicting_) return follow(a_.machine.evicted(now_, draw(3) == 0));
    if (now_ >= until_) return follow(a_.machine.tick(now_));
    answer();
  }

  void answer() {
    const std::int64_t word = draw(8);
    if (word == 0) return follow(a_.machine.granted(now_, in_doubt_ && draw(2) == 0));
    asked_ = false;
    switch (word) {
      case 1:
      case 2: in_doubt_ = true; return follow(a_.machine.unknown(now_, no_answer()));
      case 3: return follow(a_.machine.refused(now_, no(errc::unreachable), a_.seen));
      case 4: return follow(a_.machine.refused(now_, no(errc::quarantined), a_.seen));
      default: break;
    }
    const std::vector<hold_record> holders = {hold_of(owner(7), static_cast<std::uint64_t>(draw(2)), ttl)};
    const bool place = join_ && draw(4) != 0;
    queued_ = queued_ || place;
    follow(a_.machine.refused(now_, busy(holders, place ? std::optional<std::size_t>(draw(3)) : std::nullopt),
                              a_.seen));
  }

  void follow(const acquire_action& action) {
    if (action.withdraw) {
      ASSERT_TRUE(asked_ || in_doubt_ || queued_) << "the store knows nothing of us";
      asked_ = in_doubt_ = queued_ = false;
    }
    asleep_ = action.what == kind::sleep;
    evicting_ = action.what == kind::evict;
    switch (action.what) {
      case kind::nothing: ADD_FAILURE() << "nobody would ever wake it"; break;
      case kind::attempt:
        asked_ = true;
        join_ = action.join;
        sent_ = now_;
        until_ = action.until;
        break;
      case kind::evict: break;
      case kind::sleep:
        ASSERT_GT(action.until, now_) << "a busy loop";
        ASSERT_LE(action.until, wait_ ? origin + *wait_ : instant::max());
        until_ = action.until;
        break;
      case kind::succeed:
        ASSERT_LE(action.since, sent_);
        ASSERT_LT(now_, valid_until(action.since, ttl, usual_drift));
        break;
      case kind::fail:
        ASSERT_TRUE(action.why.has_value());
        ASSERT_FALSE(asked_ || in_doubt_ || queued_) << "the store may still know us, and nobody withdraws";
        break;
    }
  }

  static constexpr milliseconds ttl = 2s;

  jitter dice_;
  std::optional<milliseconds> wait_;
  acquisition a_;
  instant now_ = origin;
  instant sent_{};
  instant until_{};
  bool asleep_ = false;
  bool evicting_ = false;
  bool join_ = false;

  // Why the store may know us, as a holder or as a waiter.
  bool asked_ = false;  // and granted, perhaps
  bool in_doubt_ = false;
  bool queued_ = false;
};

TEST(AcquireWalk, LeavesNothingBehindOnAnyWay) {
  for (std::uint64_t seed = 1; seed <= 3000; ++seed) {
    walk(seed).run();
    ASSERT_FALSE(::testing::Test::HasFailure()) << "seed " << seed;
  }
}

}  // namespace
}  // namespace cremone::core
