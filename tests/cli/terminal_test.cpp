// SPDX-License-Identifier: Apache-2.0
//
// `run` at a terminal: the command has it, the keys reach it, and the shell around us sees what it would see without
// us.
#include "cli/fixture.hpp"
#include "cli/shell.hpp"

#include <signal.h>

namespace cremone::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class AtATerminal : public Tool {
 protected:
  /// A shell whose job is `cremone run … NAME -- sh -c SCRIPT`.
  [[nodiscard]] small_shell running(const std::string& script, std::vector<std::string> options = {}) const {
    std::vector<std::string> words = {CREMONE_TOOL, "run", "tty"};
    words.insert(words.end(), options.begin(), options.end());
    words.insert(words.end(), {"--", "sh", "-c", script});
    return small_shell(words, here().environment);
  }
};

TEST_F(AtATerminal, AProgramThatReadsTheTerminalWorks) {
  auto shell = running("echo ready; read line; echo \"got $line\"");
  ASSERT_TRUE(shell.shows("ready"));
  shell.type("hello\n");
  EXPECT_TRUE(shell.shows("got hello"));
  EXPECT_EQ(shell.report(), "exited 0");
}

TEST_F(AtATerminal, CtrlCEndsTheCommandAndTheShellIsTold) {
  auto shell = running("echo ready; read line; echo \"got $line\"");
  ASSERT_TRUE(shell.shows("ready"));
  shell.type("\x03");
  EXPECT_EQ(shell.report(), "killed 2");
  EXPECT_EQ(cremone({"who", "tty"}).code, 1);
}

TEST_F(AtATerminal, ACommandThatOutlivesCtrlCGoesOn) {
  auto shell =
      running("trap 'echo caught' INT; echo ready; read line; read line; echo \"got $line\"; exit 7");
  ASSERT_TRUE(shell.shows("ready"));
  shell.type("\x03");
  ASSERT_TRUE(shell.shows("caught"));
  shell.type("a\nb\n");
  EXPECT_EQ(shell.report(), "exited 7");
}

TEST_F(AtATerminal, CtrlZStopsTheJobAndFgContinuesIt) {
  auto shell = running("echo ready; read line; echo \"got $line\"");
  ASSERT_TRUE(shell.shows("ready"));
  shell.type("\x1a");
  EXPECT_EQ(shell.report(), "stopped " + std::to_string(SIGTSTP));
  EXPECT_EQ(cremone({"who", "tty"}).code, 0);
  shell.fg();
  shell.type("again\n");
  EXPECT_TRUE(shell.shows("got again"));
  EXPECT_EQ(shell.report(), "exited 0");
}

TEST_F(AtATerminal, AStoppedJobThatLostItsLockIsEndedAndNeverContinued) {
  auto shell = running("echo ready; read line; echo went on", {"--ttl", "1500ms"});
  ASSERT_TRUE(shell.shows("ready"));
  shell.type("\x1a");
  EXPECT_EQ(shell.report(), "stopped " + std::to_string(SIGTSTP));
  EXPECT_EQ(cremone({"run", "tty", "--", "true"}).code, 0);  // another has had it meanwhile
  shell.type("late\n");
  shell.fg();
  EXPECT_EQ(shell.report(), "exited 76");
  EXPECT_THAT(shell.screen(), HasSubstr("lost"));
  EXPECT_THAT(shell.screen(), Not(HasSubstr("went on")));
}

TEST_F(AtATerminal, AScriptAroundUsEndsWithCtrlCToo) {
  const std::string script =
      std::string(CREMONE_TOOL) + " run tty -- sh -c 'echo ready; read line'; echo the script went on";
  small_shell shell({"bash", "-c", script}, here().environment);
  ASSERT_TRUE(shell.shows("ready"));
  shell.type("\x03");
  EXPECT_EQ(shell.report(), "killed 2");
  EXPECT_THAT(shell.screen(), Not(HasSubstr("went on")));
}

TEST_F(AtATerminal, AScriptAroundUsStopsWithCtrlZToo) {
  const std::string script =
      std::string(CREMONE_TOOL) +
      " run tty -- sh -c 'echo ready; read line; echo got $line'; echo the script went on";
  small_shell shell({"bash", "-c", script}, here().environment);
  ASSERT_TRUE(shell.shows("ready"));
  shell.type("\x1a");
  EXPECT_EQ(shell.report(), "stopped " + std::to_string(SIGTSTP));
  shell.fg();
  shell.type("more\n");
  EXPECT_TRUE(shell.shows("got more"));
  EXPECT_EQ(shell.report(), "exited 0");
  EXPECT_THAT(shell.screen(), HasSubstr("the script went on"));
}

TEST_F(AtATerminal, APagerInOurPipelineKeepsTheTerminal) {
  const std::string gate = dir.file("gate");
  const std::string script =
      "mkfifo " + gate + "; " + CREMONE_TOOL + " run tty -- sh -c 'echo page; cat " + gate +
      "' | { read page; echo \"$page?\"; read key </dev/tty; echo \"key $key\"; echo x > " + gate +
      "; cat >/dev/null; }";
  small_shell shell({"bash", "-c", script}, here().environment);
  ASSERT_TRUE(shell.shows("page?"));
  shell.type("q\n");
  EXPECT_TRUE(shell.shows("key q"));
  EXPECT_EQ(shell.report(), "exited 0");
}

TEST_F(AtATerminal, ACommandInAPipelineGetsTheTerminalWhenItAsks) {
  const std::string script =
      std::string(CREMONE_TOOL) + " run tty -- sh -c 'read line </dev/tty; echo \"read $line\"' | cat";
  small_shell shell({"bash", "-c", script}, here().environment);
  shell.type("this\n");
  EXPECT_TRUE(shell.shows("read this"));
  EXPECT_EQ(shell.report(), "exited 0");
}

TEST_F(AtATerminal, OneWhoWaitsSaysForWhom) {
  holding first(dir, here(), "tty", {"--label", "the first"});
  ASSERT_TRUE(first.held());
  auto shell = running("echo mine");
  EXPECT_TRUE(shell.shows("waiting for 'tty': held by"));
  EXPECT_TRUE(shell.shows("'the first'"));
  EXPECT_TRUE(shell.shows("place 1 of 1"));
  shell.type("\x03");
  EXPECT_EQ(shell.report(), "killed 2");
  EXPECT_TRUE(who("tty")["waiters"].empty());
}

TEST_F(AtATerminal, WatchRedrawsUntilCtrlC) {
  small_shell shell({CREMONE_TOOL, "watch"}, here().environment);
  EXPECT_TRUE(shell.shows("NAME"));
  {
    holding first(dir, here(), "shown");
    EXPECT_TRUE(shell.shows("shown"));
  }
  shell.type("\x03");
  EXPECT_EQ(shell.report(), "exited 0");
}

TEST_F(AtATerminal, KeyQEndsWatchAndRestoresTheTerminal) {
  small_shell shell(
      {"sh", "-c", std::string(CREMONE_TOOL) + " watch && stty -a && read line && echo \"got $line\""},
      here().environment);
  ASSERT_TRUE(shell.shows("NAME"));
  shell.type("x");  // any other key does nothing
  shell.type("q");
  ASSERT_TRUE(shell.shows(" icanon")) << "lines again";
  EXPECT_TRUE(shell.shows(" echo ")) << "and echo";
  shell.type("hello\n");
  EXPECT_TRUE(shell.shows("got hello"));
  EXPECT_EQ(shell.report(), "exited 0");
}

TEST_F(AtATerminal, KeyQEndsWatchWithJsonToo) {
  small_shell shell({CREMONE_TOOL, "watch", "--json"}, here().environment);
  const holding first(dir, here(), "shown");
  ASSERT_TRUE(shell.shows("shown"));
  shell.type("q");
  EXPECT_EQ(shell.report(), "exited 0");
}

}  // namespace
}  // namespace cremone::test
