// SPDX-License-Identifier: Apache-2.0
//
// `sim` as its users run it: exit codes, output that repeats to the byte, and a swarm that can be ended. What the simulator
// finds is not this file's business, but for what must be so if it is worth anything.
#include "cli/fixture.hpp"
#include "cli/shell.hpp"

#include <algorithm>
#include <cstdint>
#include <sstream>

namespace cremone::test {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;
using ::testing::StartsWith;

class Sim : public Tool {
 protected:
  [[nodiscard]] finished sim(std::vector<std::string> words) const {
    words.insert(words.begin(), "sim");
    return cremone(words);
  }

  /// A swarm in which something is found: a clock that jumps breaks the published lock.
  [[nodiscard]] json broken_classic(std::vector<std::string> more = {}) const {
    std::vector<std::string> words = {"swarm",    "--seeds", "1..2000",       "--layout",        "classic",
                                      "--faults", "jump",    "--every-fault", "--stop-at-first", "--json"};
    words.insert(words.end(), more.begin(), more.end());
    const auto end = sim(words);
    EXPECT_EQ(end.code, 1) << end.err;
    return json::parse(end.out, nullptr, false);
  }

  /// What a command that was printed does, if one gives it to a shell.
  [[nodiscard]] finished as_printed(const std::string& command) const {
    std::istringstream in(command);
    std::vector<std::string> words;
    for (std::string word; in >> word;) {
      words.push_back(word);
    }
    EXPECT_EQ(words.at(0), "cremone");
    words.erase(words.begin());
    return cremone(words);
  }
};

TEST_F(Sim, HelpTeachesWithExamples) {
  EXPECT_THAT(cremone({"--help"}).out, HasSubstr("\n  sim "));
  EXPECT_THAT(cremone({"help", "exit-codes"}).out, HasSubstr("`sim`"));
  for (const std::string command : {"", " swarm", " replay"}) {
    std::vector<std::string> words = {"--help"};
    if (!command.empty()) {
      words.insert(words.begin(), command.substr(1));
    }
    const auto end = sim(words);
    EXPECT_EQ(end.code, 0);
    EXPECT_THAT(end.out, AllOf(HasSubstr("Usage: cremone sim" + command + " "),
                               HasSubstr("Examples:\n  cremone sim" + (command.empty() ? " swarm" : command)),
                               Not(HasSubstr("--url"))));
    std::vector<std::string> asked = {"help", "sim"};
    asked.insert(asked.end(), words.begin(), words.end() - 1);
    EXPECT_EQ(end.out, cremone(asked).out);
  }
}

TEST_F(Sim, AWrongWordGetsASuggestionAndNoSchedule) {
  struct mistake {
    std::vector<std::string> words;
    std::string said;
  };
  for (const mistake& m : {mistake{{}, "swarm or replay?"},
                           {{"swram"}, "did you mean swarm?"},
                           {{"4711"}, "`cremone sim replay 4711`"},
                           {{"swarm", "--sedes", "5"}, "did you mean --seeds?"},
                           {{"swarm", "--layout", "clasic"}, "did you mean classic?"},
                           {{"swarm", "--layout", ""}, "--layout: "},
                           {{"swarm", "--faults", "jmup"}, "jump"},
                           {{"swarm", "--faults", "delay,jmup"}, "--faults: "},
                           {{"swarm", "--seeds", "5..3"}, "--seeds: '5..3'"},
                           {{"swarm", "--seeds", ""}, "--seeds: ''"},
                           {{"swarm", "--jobs", "0"}, "--jobs: '0'"},
                           {{"swarm", "--clients", "0"}, "--clients: '0'"},
                           {{"swarm", "--clients", ""}, "--clients: ''"},
                           {{"swarm", "--acquisitions", "many"}, "--acquisitions: 'many'"},
                           {{"swarm", "5"}, "'5' is one word too many"},
                           {{"swarm", "--url", "redis://h"}, "unknown option '--url'"},
                           {{"replay"}, "which seed?"},
                           {{"replay", "x"}, "'x' is not a seed"},
                           {{"replay", "1", "2"}, "'2' is one word too many"},
                           {{"replay", "1", "--layout", "recrod"}, "did you mean record?"}}) {
    const auto end = sim(m.words);
    EXPECT_EQ(end.code, 64) << end.err;
    EXPECT_THAT(end.err, AllOf(StartsWith("cremone: "), HasSubstr(m.said)));
    EXPECT_EQ(end.out, "");
  }
}

TEST_F(Sim, ASwarmThatKeepsItsPromisesEndsWithZero) {
  const auto end = sim({"swarm", "--seeds", "1..20"});
  EXPECT_EQ(end.code, 0) << end.out;
  EXPECT_THAT(end.out,
              AllOf(StartsWith("schedules"), HasSubstr("\nNo unexpected violation in 20 schedules.\n"),
                    Not(HasSubstr("\x1b"))));
  // Without a terminal there is no progress. The estimate comes where 20 schedules take seconds.
  EXPECT_THAT(end.err, AnyOf("", MatchesRegex("cremone: 20 schedules take about [^\n]+\n")));
}

TEST_F(Sim, EveryLayoutHasSchedules) {
  for (const std::string layout : {"record", "classic", "memory"}) {
    const auto end = sim({"swarm", "--seeds", "10", "--layout", layout, "--faults", "none", "--json"});
    EXPECT_EQ(end.code, 0) << end.out;
    EXPECT_EQ(end.err, "");
    const json j = json::parse(end.out, nullptr, false);
    EXPECT_EQ(j["schedules"], 10);
    EXPECT_EQ(j["order"]["layout"], layout);
    EXPECT_EQ(j["order"]["faults"], json::array());
    EXPECT_GT(j["acquisitions"], 0);
    EXPECT_GT(j["virtual_time_s"], 0);
    EXPECT_TRUE(j["first_violation_seed"].is_null());
  }
}

TEST_F(Sim, WhatASwarmFindsDoesNotDependOnItsJobs) {
  const auto found = [&](const std::string& jobs) {
    json j = json::parse(sim({"swarm", "--seeds", "30..60", "--jobs", jobs, "--json"}).out);
    j["order"].erase("jobs");
    for (const auto* const key : {"real_time_s", "schedules_per_s", "schedules_per_s_and_core"}) {
      j.erase(key);
    }
    return j;
  };
  const json alone = found("1");
  EXPECT_EQ(alone["schedules"], 31);
  EXPECT_EQ(alone, found("3"));
}

TEST_F(Sim, AClockThatJumpsBreaksThePublishedLockAndNotOurs) {
  const json classic = broken_classic();
  ASSERT_FALSE(classic["failures"].empty());
  EXPECT_EQ(classic["first_violation_seed"], classic["failures"][0]["seed"]);
  EXPECT_GT(classic["violations"]["unexpected"]["exclusion"], 0);
  const auto record = sim({"swarm", "--seeds", "1..50", "--faults", "jump", "--every-fault"});
  EXPECT_EQ(record.code, 0) << record.out;
}

TEST_F(Sim, ThePrintedCommandReplaysTheFailure) {
  const json failure = broken_classic({"--clients", "3"})["failures"][0];
  const std::string command = failure["replay"];
  EXPECT_THAT(command,
              AllOf(StartsWith("cremone sim replay "), HasSubstr(" --layout classic"),
                    HasSubstr(" --faults jump"), HasSubstr(" --every-fault"), HasSubstr(" --clients 3")));
  const auto end = as_printed(command);
  EXPECT_EQ(end.code, 1) << end.err;
  EXPECT_THAT(end.out, AllOf(HasSubstr("\n" + command + "\n"), HasSubstr(failure["mix"].get<std::string>()),
                             HasSubstr(failure["violations"][0]["what"].get<std::string>()),
                             HasSubstr("\nThis schedule failed.\n")));
}

TEST_F(Sim, TheTableShowsThatCommandToo) {
  const std::string seed = std::to_string(broken_classic()["first_violation_seed"].get<std::uint64_t>());
  const auto end = sim(
      {"swarm", "--seeds", seed + ".." + seed, "--layout", "classic", "--faults", "jump", "--every-fault"});
  EXPECT_EQ(end.code, 1);
  EXPECT_THAT(end.out,
              AllOf(HasSubstr("\n  replay  cremone sim replay " + seed +
                              " --layout classic --faults jump "
                              "--every-fault\n"),
                    HasSubstr("count as failures all the same"), HasSubstr("\n1 of 1 schedule failed.\n")));
}

TEST_F(Sim, AReplayIsTheSameToTheByte) {
  const auto once = sim({"replay", "7"});
  EXPECT_EQ(once.code, 0) << once.err;
  EXPECT_EQ(once.err, "");
  EXPECT_EQ(once.out, sim({"replay", "7"}).out);
  EXPECT_NE(once.out, sim({"replay", "8"}).out);
  EXPECT_NE(once.out, sim({"replay", "7", "--layout", "classic"}).out);
  const auto quiet = sim({"replay", "--quiet", "7"});
  EXPECT_THAT(quiet.out, StartsWith("cremone sim replay 7\n"));
  EXPECT_LT(quiet.out.size(), once.out.size());
  EXPECT_TRUE(once.out.ends_with("\n" + quiet.out)) << "the summary stands below the trace";
}

TEST_F(Sim, AReaderThatLeavesIsNoError) {
  const auto end = run({"sh", "-c", std::string(CREMONE_TOOL) + " sim replay 7 | head -n 1"}, here());
  EXPECT_EQ(end.code, 0);
  EXPECT_EQ(std::count(end.out.begin(), end.out.end(), '\n'), 1);
  EXPECT_EQ(end.err, "");
}

TEST_F(Sim, OutputThatCannotBeWrittenIsNoSuccess) {
  surroundings full = here();
  full.output = "/dev/full";
  EXPECT_EQ(run(cremone_words({"sim", "replay", "7"}), full).code, 74);
  EXPECT_EQ(run(cremone_words({"sim", "swarm", "--seeds", "2"}), full).code, 74);
}

TEST_F(Sim, CtrlCEndsASwarmWithItsTable) {
  small_shell shell({CREMONE_TOOL, "sim", "swarm", "--seeds", "1..9223372036854775807"}, here().environment);
  ASSERT_TRUE(shell.shows(" of 9223372036854775807 schedules, 0 %"));
  shell.type("\x03");
  EXPECT_TRUE(shell.shows("ended early, by SIGINT: "));
  EXPECT_TRUE(shell.shows("VIOLATIONS"));
  EXPECT_EQ(shell.report(), "killed 2");
}

TEST_F(Sim, CtrlZStopsASwarmAndFgContinuesIt) {
  small_shell shell({CREMONE_TOOL, "sim", "swarm", "--seeds", "1..9223372036854775807"}, here().environment);
  ASSERT_TRUE(shell.shows(" of 9223372036854775807 schedules, 0 %"));
  shell.type("\x1a");
  EXPECT_EQ(shell.report(), "stopped " + std::to_string(SIGTSTP));
  const std::size_t before = shell.screen().size();
  shell.fg();
  ASSERT_TRUE(wait_for([&] { return shell.screen().size() > before; }))
      << "it is drawn again in the foreground";
  shell.type("\x03");
  EXPECT_TRUE(shell.shows("ended early, by SIGINT: "));
  EXPECT_EQ(shell.report(), "killed 2");
}

/// The commands `sim replay` of a text that name the layout classic.
std::vector<std::string> classic_replays_in(const std::string& text) {
  std::vector<std::string> found;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    const std::size_t begin = line.find("cremone sim replay");
    if (begin != std::string::npos && line.find("--layout classic") != std::string::npos) {
      found.push_back(line.substr(begin, line.find_first_of("#|") - begin));
    }
  }
  return found;
}

TEST_F(Sim, DocumentedReplaysShowAViolation) {
  for (const std::string& text : {contents(CREMONE_README), sim({"replay", "--help"}).out}) {
    const auto commands = classic_replays_in(text);
    ASSERT_EQ(commands.size(), 1U) << text;
    const auto end = as_printed(commands.front());
    EXPECT_EQ(end.code, 1) << commands.front();
    EXPECT_THAT(end.out, HasSubstr("VIOLATION")) << commands.front();
  }
}

TEST_F(Sim, SwarmEstimatesItsTimeAfterTheFirstSecond) {
  process swarm(cremone_words({"sim", "swarm", "--seeds", "1000000"}), here());
  EXPECT_TRUE(
      wait_for([&] { return swarm.err().find("1000000 schedules take about ") != std::string::npos; }));
  swarm.signal(SIGINT);
  EXPECT_EQ(swarm.wait().signal, SIGINT);
}

}  // namespace
}  // namespace cremone::test
