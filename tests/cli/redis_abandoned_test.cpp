// SPDX-License-Identifier: Apache-2.0
//
// `cremone run --try` and a holder that was killed, on real servers. Each try has an empty state
// directory, as in a container, so no try can build on what an earlier one has observed.
#include "cli/fixture.hpp"
#include "support/redlock_servers.hpp"
#include "support/wait_for.hpp"

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>

namespace cremone::test {
namespace {

using namespace std::chrono_literals;
using std::chrono::steady_clock;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

/// The number of servers: one is redis://, three are redlock://.
class AbandonedHold : public Tool, public ::testing::WithParamInterface<std::size_t> {
 protected:
  AbandonedHold() { EXPECT_EQ(cremone({"quarantine", "--end"}).code, 0); }

  [[nodiscard]] std::string url() const override {
    const std::string options = "prefix=t&max_ttl=2s";
    return GetParam() == 1 ? servers_[0].url(0, "&layout=record&" + options) : servers_.url(options);
  }

  [[nodiscard]] surroundings with_state_in(const temp_directory& state) const {
    surroundings around = here();
    around.environment[1].second = state.path();
    return around;
  }

  [[nodiscard]] finished try_with_empty_state() const {
    const temp_directory state;
    return run({CREMONE_TOOL, "run", "--try", "--ttl", "2s", "x", "--", "true"}, with_state_in(state));
  }

  void set_clocks(std::chrono::milliseconds offset) {
    for (std::size_t i = 0; i < servers_.size(); ++i) {
      servers_[i].set_clock(offset);
    }
  }

  redlock_servers servers_{GetParam(), {.clock = true}};
};

TEST_P(AbandonedHold, TriesWithEmptyStateTakeOverFromAKilledHolder) {
  holding dead(dir, here(), "x", {"--ttl", "2s"});
  ASSERT_TRUE(dead.held());
  EXPECT_EQ(try_with_empty_state().code, 75);
  dead.cremone().signal(SIGKILL);
  (void)dead.cremone().wait();
  const auto killed = steady_clock::now();
  finished last;
  do {
    last = try_with_empty_state();
  } while (last.code == 75 && steady_clock::now() - killed < generous);
  EXPECT_EQ(last.code, 0) << last.err;
  EXPECT_THAT(last.err, AllOf(HasSubstr("looks abandoned"), HasSubstr("observing it for")));
}

TEST_P(AbandonedHold, WhoSaysThatAKilledHoldersLockLooksAbandoned) {
  holding dead(dir, here(), "x", {"--ttl", "2s"});
  ASSERT_TRUE(dead.held());
  EXPECT_FALSE(who("x")["holders"][0]["looks_abandoned"].get<bool>());
  EXPECT_THAT(cremone({"who", "x"}).out, Not(HasSubstr("looks abandoned")));
  dead.cremone().signal(SIGKILL);
  (void)dead.cremone().wait();
  set_clocks(1min);
  EXPECT_TRUE(who("x")["holders"][0]["looks_abandoned"].get<bool>()) << who("x");
  EXPECT_THAT(cremone({"who", "x"}).out, HasSubstr("`cremone run --try`"));
}

TEST_P(AbandonedHold, HolderThatRenewsKeepsTheLockWhateverTheClocksSay) {
  holding living(dir, here(), "x", {"--ttl", "2s"});
  ASSERT_TRUE(living.held());
  // Steps of more than a ttl, faster than the renewals, make the hold look abandoned again and
  // again.
  for (int i = 0; i < 6; ++i) {
    set_clocks(i % 2 == 0 ? std::chrono::milliseconds(1h) : std::chrono::milliseconds(-1h));
    const finished tried = try_with_empty_state();
    EXPECT_TRUE(tried.code == 75 || tried.code == 83) << tried.code << ": " << tried.err;
  }
  EXPECT_TRUE(alive(living.cremone().pid()));
  EXPECT_TRUE(alive(living.command()));
}

INSTANTIATE_TEST_SUITE_P(Servers, AbandonedHold, ::testing::Values(1, 3),
                         ::testing::PrintToStringParamName());

}  // namespace
}  // namespace cremone::test
