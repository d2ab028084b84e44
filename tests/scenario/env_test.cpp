// SPDX-License-Identifier: Apache-2.0
//
// The env of a real process: its timers fire in the order in which they are due, and a crowd of them leaves room for
// others. When exactly they fire is not asked here.
#include "engine/asio_env.hpp"

#include "support/wait_for.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <vector>

namespace cremone::test {
namespace {

using namespace std::chrono_literals;

/// Timers whose due times are given beforehand, and the order in which they fire. Armed by the I/O thread itself, so
/// that none fires before all are armed.
class Timers : public ::testing::Test {
 protected:
  ~Timers() override { env_.stop(); }

  void arm(const std::vector<instant>& due) {
    env_.post([this, due] {
      for (const instant when : due) {
        timers_.push_back(env_.make_timer([this, when] {
          fired_.push_back(when);
          if (fired_.size() == 1) {
            env_.post([this] { fired_before_post_ = fired_.size(); });
          }
          done_ = fired_.size();
        }));
        timers_.back()->arm(when);
      }
    });
  }

  [[nodiscard]] bool all_fired(std::size_t count) {
    return wait_for([&] { return done_ == count; });
  }

  detail::asio_env env_;
  std::vector<std::unique_ptr<timer>> timers_;
  std::vector<instant> fired_;
  std::atomic<std::size_t> done_ = 0;
  std::atomic<std::size_t> fired_before_post_ = 0;
};

TEST_F(Timers, FireInTheOrderInWhichTheyAreDue) {
  std::vector<instant> due;
  const instant start = env_.now();
  for (int i = 0; i < 500; ++i) {
    due.push_back(start + (i * 7919 % 500) * 20us);
  }
  arm(due);
  ASSERT_TRUE(all_fired(due.size()));
  EXPECT_TRUE(std::is_sorted(fired_.begin(), fired_.end()));
}

TEST_F(Timers, OfACrowdLeaveRoomForWhatIsPosted) {
  const std::vector<instant> due(2000, env_.now());
  arm(due);
  ASSERT_TRUE(all_fired(due.size()));
  ASSERT_TRUE(wait_for([&] { return fired_before_post_ > 0; }));
  EXPECT_LT(fired_before_post_, due.size() / 2);
}

TEST_F(Timers, FireWhenArmedByATimerThatFires) {
  std::atomic<int> rounds = 0;
  std::unique_ptr<timer> again;
  again = env_.make_timer([&] {
    if (++rounds < 200) {
      again->arm(env_.now() + 10us);
    }
  });
  again->arm(env_.now());
  EXPECT_TRUE(wait_for([&] { return rounds == 200; }));
}

}  // namespace
}  // namespace cremone::test
