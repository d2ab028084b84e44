// SPDX-License-Identifier: Apache-2.0
//
// The tool on five Redis servers that vote: what it says and how it ends when all are well, when some are down, in quarantine or
// used by others, and when nobody can tell who holds a lock.
#include "cli/fixture.hpp"
#include "support/redlock_servers.hpp"
#include "support/wait_for.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace cremone::test {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

std::size_t times(std::string_view word, std::string_view in) {
  std::size_t count = 0;
  for (auto at = in.find(word); at != std::string_view::npos; at = in.find(word, at + word.size())) {
    ++count;
  }
  return count;
}

class RedlockTool : public Tool {
 protected:
  RedlockTool() { EXPECT_EQ(cremone({"quarantine", "--end"}).code, 0); }

  [[nodiscard]] std::string url() const override { return servers_.url("prefix=t&max_ttl=30s"); }

  void kill(const std::vector<std::size_t>& these) {
    for (const std::size_t i : these) {
      servers_[i].kill();
    }
  }

  /// That nobody renews it any more, and which of the servers have a vote for it.
  void leave_with_votes(holding& dead, const std::string& name, const std::vector<std::size_t>& these) {
    ASSERT_TRUE(wait_for([&] { return servers_.votes(layout::record, name, "t") == "ABCDE"; }));
    dead.cremone().signal(SIGKILL);
    (void)dead.cremone().wait();
    for (std::size_t i = 0; i < servers_.size(); ++i) {
      if (std::find(these.begin(), these.end(), i) == these.end()) {
        (void)servers_[i].ask({"DEL", "t:lock:" + name});
      }
    }
  }

  redlock_servers servers_{5};
};

TEST_F(RedlockTool, OfFiveThatAreWellShowsTheHolderAndItsVotes) {
  holding first(dir, here(), "x", {"--label", "the first"});
  ASSERT_TRUE(first.held());
  const json j = who("x");
  ASSERT_EQ(j["holders"].size(), 1U) << j;
  EXPECT_EQ(j["holders"][0]["label"], "the first");
  EXPECT_TRUE(j["may_hold"].empty());
  EXPECT_EQ(j["votes"].size(), 5U);
  EXPECT_EQ(cremone({"who", "x"}).code, 0);

  const auto listed = cremone({"list"});
  EXPECT_EQ(listed.code, 0);
  EXPECT_THAT(listed.out, AllOf(StartsWith("x\theld\t"), HasSubstr("/5\n")));

  EXPECT_EQ(cremone({"quarantine"}).code, 0);
  EXPECT_THAT(cremone({"quarantine", "--end"}).err, HasSubstr("every server gives out locks"));
  EXPECT_EQ(cremone({"doctor"}).code, 0);
  EXPECT_EQ(cremone({"release", "--force", "x"}).code, 0);
  EXPECT_EQ(cremone({"release", "--force", "x"}).code, 1);
  EXPECT_EQ(cremone({"who", "x"}).code, 1);
}

TEST_F(RedlockTool, NamesTheHolderOnceThoughItHasManyVotes) {
  holding first(dir, here(), "x");
  ASSERT_TRUE(first.held());
  const auto tried = cremone({"run", "--try", "x", "--", "true"});
  EXPECT_EQ(tried.code, 75);
  EXPECT_THAT(tried.err,
              AllOf(HasSubstr("is held by"), Not(HasSubstr(" more")), Not(HasSubstr("waiting for"))));
}

TEST_F(RedlockTool, WithOneOfFiveDownGoesOnAndSaysWhichIsMissing) {
  holding first(dir, here(), "x");
  ASSERT_TRUE(first.held());
  kill({4});
  EXPECT_EQ(cremone({"run", "y", "--", "true"}).code, 0);
  const auto seen = cremone({"who", "x"});
  EXPECT_EQ(seen.code, 0);
  EXPECT_THAT(seen.out, HasSubstr("vote\t" + servers_[4].node() + ": none: "));
  EXPECT_THAT(cremone({"list"}).out, StartsWith("x\theld\t"));
  EXPECT_EQ(cremone({"run", "--try", "x", "--", "true"}).code, 75);

  const auto state = cremone({"quarantine"});
  EXPECT_EQ(state.code, 1);
  EXPECT_THAT(state.out, HasSubstr(servers_[4].node() + "\tunreachable\t"));
  const auto ended = cremone({"quarantine", "--end"});
  EXPECT_EQ(ended.code, 1);
  EXPECT_THAT(ended.err, AllOf(HasSubstr("that was reached gives out locks"),
                               HasSubstr("not reached: " + servers_[4].node())));

  const auto found = cremone({"doctor"});
  EXPECT_EQ(found.code, 0);
  EXPECT_THAT(found.out, AllOf(HasSubstr("warning\tconnection\tnone\t"), Not(HasSubstr("not safe"))));
  EXPECT_EQ(cremone({"release", "--force", "x"}).code, 0);
}

TEST_F(RedlockTool, WithThreeOfFiveDownSaysSoWhateverItIsAskedFor) {
  kill({1, 2, 3});
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"run", "--try", "x", "--", "true"}, {"who", "x"}, {"list"}, {"release", "--force", "x"}}) {
    const auto end = cremone(words);
    EXPECT_EQ(end.code, 69) << words.front() << ": " << end.err;
    for (const std::size_t i : {1U, 2U, 3U}) {
      EXPECT_THAT(end.err, HasSubstr(servers_[i].node())) << words.front();
    }
    EXPECT_THAT(end.out + end.err, Not(HasSubstr("nobody held"))) << words.front();
  }
  EXPECT_EQ(cremone({"quarantine"}).code, 69);
  const auto ended = cremone({"quarantine", "--end"});
  EXPECT_EQ(ended.code, 69);
  EXPECT_THAT(ended.err,
              AllOf(Not(HasSubstr("every server gives out locks")), HasSubstr(servers_[2].node())));
  const auto found = cremone({"doctor"});
  EXPECT_EQ(found.code, 1);
  EXPECT_THAT(found.out, AllOf(HasSubstr("bad\tconnection\tnone\t"), HasSubstr("3 of 5 must agree")));
}

TEST_F(RedlockTool, WithOneOfFiveInQuarantineGoesOnAndSaysWhich) {
  servers_.restart_empty({0});
  EXPECT_EQ(cremone({"run", "x", "--", "true"}).code, 0);
  const auto seen = cremone({"who", "x"});
  EXPECT_EQ(seen.code, 1);
  EXPECT_THAT(seen.out, HasSubstr("in quarantine: it does not count"));
  EXPECT_THAT(seen.err, Not(HasSubstr("no lock"))) << "the others give them out";

  const auto state = cremone({"quarantine"});
  EXPECT_EQ(state.code, 1);
  EXPECT_EQ(times("\tquarantined\t", state.out), 1U) << state.out;
  EXPECT_EQ(times("\topen\t", state.out), 4U) << state.out;
  const auto found = cremone({"doctor"});
  EXPECT_EQ(found.code, 0);
  EXPECT_THAT(found.out, AllOf(HasSubstr("\tquarantine\t"), Not(HasSubstr("No lock is given out here")),
                               HasSubstr("the highest that a majority of the others has given")));
  EXPECT_EQ(cremone({"quarantine", "--end"}).code, 0);
  EXPECT_EQ(cremone({"quarantine"}).code, 0);
}

TEST_F(RedlockTool, SaysOnceThatAMajorityHasForgottenAndForHowLong) {
  servers_.restart_empty({0, 1, 2});
  const auto tried = cremone({"run", "--try", "x", "--", "true"});
  EXPECT_EQ(tried.code, 83);
  EXPECT_THAT(tried.err, HasSubstr(" s from now"));
  EXPECT_EQ(times("may have forgotten", tried.err), 1U) << tried.err;
  const auto seen = cremone({"who", "x"});
  EXPECT_EQ(times("no lock", seen.err), 1U) << seen.err;
  const auto ended = cremone({"quarantine", "--end"});
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_EQ(cremone({"run", "x", "--", "true"}).code, 0);
}

TEST_F(RedlockTool, EndsAQuarantineWhereItCanAndSaysWhereItCannot) {
  servers_.restart_empty({0, 1});
  kill({4});
  const auto some = cremone({"quarantine", "--end"});
  EXPECT_EQ(some.code, 1) << some.err;
  EXPECT_THAT(some.err, HasSubstr("not reached, and as they were: " + servers_[4].node()));
  EXPECT_EQ(times("\topen\t", some.out), 4U) << some.out;

  servers_.restart_empty({0});
  kill({2, 3});
  const auto few = cremone({"quarantine", "--end"});
  EXPECT_EQ(few.code, 69) << few.err;
  EXPECT_THAT(few.err, AllOf(HasSubstr("2 of 5 servers give out locks now"), HasSubstr(servers_[3].node())));
}

TEST_F(RedlockTool, WhoCannotTellWhetherALockIsHeldSaysByWhomPerhaps) {
  holding dead(dir, here(), "x", {"--label", "the first"});
  ASSERT_TRUE(dead.held());
  leave_with_votes(dead, "x", {0, 1, 2});
  kill({2});
  const auto seen = cremone({"who", "x"});
  EXPECT_EQ(seen.code, 82) << seen.out;
  EXPECT_THAT(seen.out, AllOf(HasSubstr("state\tperhaps held\n"), HasSubstr("perhaps by\t"),
                              HasSubstr("label\tthe first\n"), HasSubstr(", who may hold it"),
                              Not(HasSubstr("who does not hold it"))));
  EXPECT_EQ(who("x")["may_hold"].size(), 1U);
  EXPECT_THAT(cremone({"list"}).out, AllOf(StartsWith("x\tperhaps\t"), HasSubstr("\t2/5\n")));

  const auto released = cremone({"release", "--force", "x"});
  EXPECT_EQ(released.code, 0) << released.err;
  EXPECT_EQ(cremone({"who", "x"}).code, 1);
  EXPECT_EQ(cremone({"run", "--wait", "20s", "x", "--", "true"}).code, 0);
}

TEST_F(RedlockTool, AVoteThatNoMajorityCanComeOfHoldsNothing) {
  holding dead(dir, here(), "x");
  ASSERT_TRUE(dead.held());
  leave_with_votes(dead, "x", {0, 1});
  const auto seen = cremone({"who", "x"});
  EXPECT_EQ(seen.code, 1);
  EXPECT_THAT(seen.out, HasSubstr("who does not hold it"));
  EXPECT_EQ(cremone({"release", "--force", "x"}).code, 1);
}

TEST_F(RedlockTool, SaysThatOthersHaveOtherServersInMind) {
  const std::string fewer =
      redlock_url({servers_[0].node(), servers_[1].node(), servers_[2].node()}, "prefix=t&max_ttl=30s");
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"who", "--url", fewer, "x"},
                                             {"list", "--url", fewer},
                                             {"release", "--force", "--url", fewer, "x"},
                                             {"run", "--try", "--url", fewer, "x", "--", "true"},
                                             {"quarantine", fewer}}) {
    const auto end = cremone(words);
    EXPECT_EQ(end.code, 78) << words.front() << ": " << end.err;
    EXPECT_EQ(times("is used there with other settings", end.err), 1U) << words.front() << ": " << end.err;
  }
}

TEST_F(RedlockTool, DoctorFindsTwoNamesOfOneServer) {
  const auto found = cremone({"doctor", redlock_url({servers_[0].node(), servers_[1].node(),
                                                     "localhost:" + std::to_string(servers_[0].port())},
                                                    "prefix=u")});
  EXPECT_EQ(found.code, 1);
  EXPECT_THAT(found.out, HasSubstr("bad\tidentity\tthe same server as "));
}

TEST_F(RedlockTool, SaysThatOnlyAPersonEndsAStrictQuarantine) {
  const std::string strict = servers_.url("prefix=s&max_ttl=2s&amnesia=strict");
  const auto tried = cremone({"run", "--try", "--url", strict, "x", "--", "true"});
  EXPECT_EQ(tried.code, 83);
  EXPECT_THAT(tried.err, AllOf(HasSubstr("`cremone quarantine --end`"), Not(HasSubstr("from now"))));
  const process waiting({CREMONE_TOOL, "run", "--url", strict, "x", "--", "true"}, here());
  EXPECT_TRUE(wait_for([&] { return waiting.err().find("waiting for") != std::string::npos; }));
  EXPECT_THAT(waiting.err(),
              AllOf(HasSubstr("`cremone quarantine --end`"), Not(HasSubstr("grants again in"))));
  const auto state = cremone({"quarantine", "--json", strict});
  EXPECT_EQ(state.code, 1);
  const json j = json::parse(state.out);
  for (const json& server : j["servers"]) {
    EXPECT_TRUE(server["until_ordered"].get<bool>()) << j;
    EXPECT_TRUE(server["left_ms"].is_null()) << j;
  }
  EXPECT_EQ(cremone({"quarantine", "--end", strict}).code, 0);
  EXPECT_EQ(cremone({"run", "--wait", "20s", "--url", strict, "y", "--", "true"}).code, 0);
}

TEST_F(RedlockTool, TellsOfTheSilenceOfADeadHolderAndOnceOfTheTakeover) {
  holding dead(dir, here(), "x", {"--ttl", "10s"});
  ASSERT_TRUE(dead.held());
  leave_with_votes(dead, "x", {0, 1, 2, 3, 4});
  finished tried;
  ASSERT_TRUE(wait_for([&] {  // jobs that try once see it too
    tried = cremone({"run", "--try", "x", "--", "true"});
    return tried.code != 75 || tried.err.find("; silent for ") != std::string::npos;
  }));
  EXPECT_THAT(tried.err, HasSubstr(", taken over after 10 s of silence"));
  const auto next = cremone({"run", "--verbose", "--wait", "60s", "x", "--", "true"});
  EXPECT_EQ(next.code, 0) << next.err;
  EXPECT_LE(times("was taken over from", next.err), 1U) << next.err;
}

}  // namespace
}  // namespace cremone::test
