// SPDX-License-Identifier: Apache-2.0
//
// Several runs of the tool and one lock: who is refused, who waits, and what becomes of a lock whose holder is killed,
// robbed or late.
#include "cli/fixture.hpp"

#include <signal.h>

namespace cremone::test {
namespace {

using ::testing::HasSubstr;

TEST_F(Tool, TryIsRefusedWithALineThatNamesHolderAndStore) {
  holding first(dir, here(), "x", {"--label", "the first"});
  ASSERT_TRUE(first.held());
  const auto end = cremone({"run", "--try", "x", "--", "echo", "ran"});
  EXPECT_EQ(end.code, 75);
  EXPECT_EQ(end.out, "");
  EXPECT_THAT(end.err, HasSubstr("cremone: busy: "));
  EXPECT_THAT(end.err, HasSubstr("pid " + std::to_string(first.cremone().pid())));
  EXPECT_THAT(end.err, HasSubstr("'the first'"));
  EXPECT_THAT(end.err, HasSubstr("locks.db"));
}

TEST_F(Tool, TheConflictExitCodeIsOursToChoose) {
  holding first(dir, here(), "x");
  ASSERT_TRUE(first.held());
  EXPECT_EQ(cremone({"run", "--try", "-E", "0", "x", "--", "true"}).code, 0);
  EXPECT_EQ(cremone({"run", "--wait", "50ms", "--conflict-exit-code=9", "x", "--", "true"}).code, 9);
  EXPECT_EQ(cremone({"run", "--wait", "50ms", "x", "--", "true"}).code, 75);
}

TEST_F(Tool, AWaiterRunsWhenTheHolderIsDone) {
  holding first(dir, here(), "x");
  ASSERT_TRUE(first.held());
  process second(cremone_words({"run", "-v", "x", "--", "echo", "ran"}), here());
  ASSERT_TRUE(wait_for([&] { return second.err().find("waiting for 'x': held by") != std::string::npos; }));
  first.cremone().signal(SIGTERM);
  EXPECT_EQ(second.wait().out, "ran\n");
  EXPECT_EQ(first.cremone().wait().code, 128 + SIGTERM);
}

TEST_F(Tool, ASignalEndsTheWaitAndLeavesNoPlaceInTheQueue) {
  holding first(dir, here(), "x");
  ASSERT_TRUE(first.held());
  process second(cremone_words({"run", "x", "--", "echo", "ran"}), here());
  ASSERT_TRUE(wait_for([&] { return who("x")["waiters"].size() == 1; }));
  second.signal(SIGINT);
  const auto end = second.wait();
  EXPECT_EQ(end.signal, SIGINT);
  EXPECT_EQ(end.out, "");
  EXPECT_EQ(who("x")["waiters"].size(), 0U);
}

TEST_F(Tool, KillingCremoneAloneLeavesTheLockToItsCommand) {
  holding first(dir, here(), "x", {"--ttl", "1s"});
  ASSERT_TRUE(first.held());
  const pid_t command = first.command();
  first.cremone().signal(SIGKILL);
  EXPECT_EQ(first.cremone().wait().signal, SIGKILL);
  process second(cremone_words({"run", "x", "--", "echo", "ran"}), here());
  ASSERT_TRUE(wait_for([&] { return who("x")["waiters"].size() == 1; }));
  EXPECT_EQ(who("x")["holders"][0]["liveness"], "command_only");
  EXPECT_EQ(cremone({"run", "--wait", "3s", "x", "--", "echo", "ran"}).code, 75);  // three times the ttl
  EXPECT_TRUE(alive(command));
  EXPECT_EQ(::kill(command, SIGKILL), 0);
  EXPECT_EQ(second.wait().out, "ran\n");
}

TEST_F(Tool, AForcedReleaseEndsTheCommandOfItsHolder) {
  holding first(dir, here(), "x", {"--ttl", "1500ms"});
  ASSERT_TRUE(first.held());
  const pid_t command = first.command();
  EXPECT_EQ(cremone({"release", "--force", "x"}).code, 0);
  const auto end = first.cremone().wait();
  EXPECT_EQ(end.code, 76);
  EXPECT_THAT(end.err, HasSubstr("cremone: lost: "));
  EXPECT_TRUE(wait_for([&] { return !alive(command); }));
}

TEST_F(Tool, TheWholeGroupIsEndedWhenTheLockIsLost) {
  const std::string sign = dir.file("sign");
  process p(cremone_words({"run", "--ttl", "1500ms", "x", "--", "sh", "-c",
                           "trap '' TERM; (trap '' TERM; sleep 1000) & echo $! > " + sign + "; wait"}),
            here());
  ASSERT_TRUE(appears(sign));
  const pid_t grandchild = std::stoi(contents(sign));
  EXPECT_EQ(cremone({"release", "--force", "x"}).code, 0);
  EXPECT_EQ(p.wait().code, 76);
  EXPECT_TRUE(wait_for([&] { return !alive(grandchild); }));
}

TEST_F(Tool, ACommandMayCleanUpBeforeItIsEnded) {
  const std::string ready = dir.file("ready");
  process p(
      cremone_words({"run", "--max-hold", "2s", "--grace", "1s", "x", "--", "sh", "-c",
                     "trap 'echo cleaned; exit 0' TERM; echo > " + ready + "; while :; do sleep 0.01; done"}),
      here());
  ASSERT_TRUE(appears(ready));
  const auto end = p.wait();
  EXPECT_EQ(end.code, 76);
  EXPECT_EQ(end.out, "cleaned\n");
}

TEST_F(Tool, ManyRunsExcludeEachOther) {
  const auto counter = write_file(dir.file("counter"), "0\n");
  std::vector<std::unique_ptr<process>> all;
  for (int i = 0; i < 8; ++i) {
    all.push_back(std::make_unique<process>(
        cremone_words({"run", "x", "--", "sh", "-c",
                       "read n < " + counter + "; sleep 0.01; echo $((n + 1)) > " + counter}),
        here()));
  }
  for (const auto& one : all) {
    EXPECT_EQ(one->wait().code, 0);
  }
  EXPECT_EQ(contents(counter), "8\n");
}

TEST_F(Tool, AConflictThatIsCalledFineIsSilent) {
  holding first(dir, here(), "x");
  ASSERT_TRUE(first.held());
  EXPECT_EQ(cremone({"run", "--try", "-E", "0", "x", "--", "true"}).err, "") << "cron mails what is printed";
  EXPECT_THAT(cremone({"run", "--try", "-v", "-E", "0", "x", "--", "true"}).err, HasSubstr("busy"));
}

TEST_F(Tool, ARunUnderTheSameLockDoesNotWaitForItself) {
  const auto end = cremone({"run", "x", "--", CREMONE_TOOL, "run", "x", "--", "true"});
  EXPECT_EQ(end.code, 75);
  EXPECT_THAT(end.err, HasSubstr("would wait for itself"));
}

TEST_F(Tool, ADeadHolderHoldsNothing) {
  holding first(dir, here(), "x");
  ASSERT_TRUE(first.held());
  ::kill(first.command(), SIGKILL);
  first.cremone().signal(SIGKILL);
  (void)first.cremone().wait();
  EXPECT_TRUE(wait_for([&] { return cremone({"who", "x"}).code == 1; }));
  EXPECT_EQ(who("x")["held"], false);
}

TEST_F(Tool, TheEndByMaxHoldIsToldAsThat) {
  const auto end = cremone({"run", "--max-hold", "300ms", "x", "--", "sleep", "1000"});
  EXPECT_EQ(end.code, 76);
  EXPECT_THAT(end.err, HasSubstr("--max-hold of 300ms is over"));
}

}  // namespace
}  // namespace cremone::test
