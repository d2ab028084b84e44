// SPDX-License-Identifier: Apache-2.0
//
// `cremone run` as a process: what its command gets, and what it gives back.
#include "cli/fixture.hpp"

#include <signal.h>

namespace cremone::test {
namespace {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;

TEST_F(Tool, RunEndsWithTheCommandsOwnCode) {
  EXPECT_EQ(cremone({"run", "x", "--", "true"}).code, 0);
  EXPECT_EQ(cremone({"run", "x", "--", "sh", "-c", "exit 3"}).code, 3);
  EXPECT_EQ(cremone({"run", "x", "--", "sh", "-c", "exit 255"}).code, 255);
}

TEST_F(Tool, RunEndsWith128AndTheSignalThatEndedTheCommand) {
  EXPECT_EQ(cremone({"run", "x", "--", "sh", "-c", "kill -TERM $$"}).code, 128 + SIGTERM);
  EXPECT_EQ(cremone({"run", "x", "--", "sh", "-c", "kill -KILL $$"}).code, 128 + SIGKILL);
}

TEST_F(Tool, RunTellsTheCommandTokenNameStoreAndOwner) {
  const std::vector<std::string> words = {
      "run", "x y", "--", "sh", "-c", "echo \"$CREMONE_TOKEN|$CREMONE_NAME|$CREMONE_STORE|$CREMONE_OWNER\""};
  const auto end = cremone(words);
  EXPECT_EQ(end.code, 0);
  EXPECT_THAT(end.out, MatchesRegex("[0-9]+\\|x y\\|sqlite:.*\\|[0-9a-f]+\n")) << end.err;
  const auto owner = [](const std::string& line) { return line.substr(line.rfind('|')); };
  EXPECT_EQ(owner(end.out).size(), 2 + 2 * sizeof(owner_id::bytes));
  EXPECT_NE(owner(end.out), owner(cremone(words).out)) << "fresh for every acquisition";
}

TEST_F(Tool, TokensGrowFromRunToRun) {
  const auto token = [&] {
    return std::stoull(cremone({"run", "x", "--", "sh", "-c", "echo $CREMONE_TOKEN"}).out);
  };
  const auto first = token();
  EXPECT_GT(token(), first);
}

TEST_F(Tool, TheCommandReadsOurStandardInput) {
  auto around = here();
  around.input = "one\ntwo\n";
  EXPECT_EQ(run(cremone_words({"run", "x", "--", "cat"}), around).out, "one\ntwo\n");
}

TEST_F(Tool, WhatFollowsTheDashesIsUntouched) {
  EXPECT_EQ(cremone({"run", "x", "--", "echo", "--try", "--", "-h", ""}).out, "--try -- -h \n");
}

TEST_F(Tool, OptionsMayStandBeforeOrAfterTheName) {
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"run", "--try", "x", "--", "echo", "ran"},
        {"run", "x", "--try", "--", "echo", "ran"},
        {"--url", url(), "run", "--label", "l", "x", "--", "echo", "ran"},
        {"run", "--url=" + url(), "x", "--wait", "1.5", "--", "echo", "ran"},
        {"run", "-E5", "x", "--try", "--ttl", "5s", "--grace", "1s", "--max-hold", "1h", "--", "echo",
         "ran"}}) {
    const auto end = cremone(words);
    EXPECT_EQ(end.out, "ran\n") << end.err;
  }
  EXPECT_EQ(cremone({"--json", "who", "x"}).code, 1);
  EXPECT_EQ(cremone({"who", "x", "--json"}).code, 1);
}

TEST_F(Tool, ALockMayBeCalledLikeACommand) {
  EXPECT_EQ(cremone({"run", "list", "--", "echo", "ran"}).out, "ran\n");
  EXPECT_EQ(cremone({"who", "run"}).code, 1);
}

TEST_F(Tool, ACommandThatIsNotThereIs127AndLeavesTheLockFree) {
  const auto end = cremone({"run", "x", "--", "no-such-command-here"});
  EXPECT_EQ(end.code, 127);
  EXPECT_EQ(end.err, "cremone: cannot run 'no-such-command-here': command not found\n");
  EXPECT_EQ(cremone({"who", "x"}).code, 1);
}

TEST_F(Tool, ACommandThatCannotBeExecutedIs126) {
  const auto plain = write_file(dir.file("plain"), "echo no\n");
  const auto end = cremone({"run", "x", "--", plain});
  EXPECT_EQ(end.code, 126);
  EXPECT_EQ(end.err, "cremone: cannot run '" + plain + "': Permission denied\n");
  EXPECT_EQ(cremone({"run", "x", "--", dir.path()}).code, 126);
  const auto orphan = write_file(dir.file("orphan"), "#!/no/such/interpreter\n", 0755);
  const auto missing = cremone({"run", "x", "--", orphan});
  EXPECT_EQ(missing.code, 126);
  EXPECT_THAT(missing.err, HasSubstr("interpreter"));
  EXPECT_EQ(cremone({"who", "x"}).code, 1);
}

TEST_F(Tool, AScriptWithoutItsFirstLineRunsAsInAShell) {
  EXPECT_EQ(
      cremone({"run", "x", "--", write_file(dir.file("script"), "echo \"ran $1\"\n", 0755), "well"}).out,
      "ran well\n");
}

TEST_F(Tool, SignalsAreSentOnToTheCommand) {
  for (const auto& [name, number] : {std::pair{"TERM", SIGTERM},
                                     {"HUP", SIGHUP},
                                     {"INT", SIGINT},
                                     {"QUIT", SIGQUIT},
                                     {"USR1", SIGUSR1},
                                     {"USR2", SIGUSR2}}) {
    const std::string ready = dir.file(std::string("ready-") + name);
    process p(cremone_words({"run", "x", "--", "sh", "-c",
                             std::string("trap 'exit 42' ") + name + "; echo > " + ready +
                                 "; while :; do sleep 0.01; done"}),
              here());
    ASSERT_TRUE(appears(ready));
    p.signal(number);
    EXPECT_EQ(p.wait().code, 42) << name;
  }
}

TEST_F(Tool, AMessageIsForTheCommandAndNotForItsHelpers) {
  const std::string sign = dir.file("sign");
  process job(cremone_words({"run", "x", "--", "bash", "-c",
                             "trap 'rotated=yes' USR1; sleep 1000 & echo $! > " + sign +
                                 "; until [ \"$rotated\" ]; do sleep 0.01; done; kill $!; wait $!; echo $?"}),
              here());
  ASSERT_TRUE(appears(sign));
  job.signal(SIGUSR1);
  EXPECT_EQ(job.wait().out, std::to_string(128 + SIGTERM) + "\n") << "its helper got the message too";
}

TEST_F(Tool, WhatWasIgnoredStaysIgnoredInTheCommand) {
  auto around = here();
  around.ignored = {SIGHUP, SIGCHLD};
  const auto end =
      run(cremone_words({"run", "x", "--", "sh", "-c", "kill -HUP $$; echo still here; exit 4"}), around);
  EXPECT_EQ(end.out, "still here\n");
  EXPECT_EQ(end.code, 4);  // although SIGCHLD was ignored when we started
}

TEST_F(Tool, HangupReachesNobodyUnderNohup) {
  auto around = here();
  around.ignored = {SIGHUP};
  const std::string ready = dir.file("ready");
  const std::string gate = dir.file("gate");
  process p(cremone_words({"run", "x", "--", "sh", "-c",
                           "echo > " + ready + "; while [ ! -e " + gate + " ]; do sleep 0.01; done; exit 6"}),
            around);
  ASSERT_TRUE(appears(ready));
  p.signal(SIGHUP);
  write_file(dir.file("gate"), "x");
  EXPECT_EQ(p.wait().code, 6);
}

TEST_F(Tool, TheCommandHasTheSignalMaskThatWeWereGiven) {
  const auto end = cremone({"run", "x", "--", "grep", "-E", "^Sig(Blk|Ign)", "/proc/self/status"});
  EXPECT_EQ(end.out, run({"grep", "-E", "^Sig(Blk|Ign)", "/proc/self/status"}, here()).out);
}

TEST_F(Tool, AStreamThatIsClosedIsClosedForTheCommandToo) {
  auto around = here();
  around.close_output = true;
  const auto end =
      run(cremone_words({"run", "x", "--", "sh", "-c", "[ -e /proc/self/fd/1 ] || exit 5"}), around);
  EXPECT_EQ(end.code, 5) << end.err;
}

TEST_F(Tool, NothingButTheLifelineIsInherited) {
  const std::string count = "ls /proc/self/fd | wc -l";
  const int bare = std::stoi(run({"sh", "-c", count}, here()).out);
  EXPECT_EQ(std::stoi(cremone({"run", "x", "--", "sh", "-c", count}).out), bare + 1);
}

}  // namespace
}  // namespace cremone::test
