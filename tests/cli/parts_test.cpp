// SPDX-License-Identifier: Apache-2.0
//
// The tool's pure parts: lengths of time, exit codes, the end of a command whose lock is lost, words and tables.
#include "cli/changes.hpp"
#include "cli/child.hpp"
#include "cli/duration.hpp"
#include "cli/exit_codes.hpp"
#include "cli/loss_policy.hpp"
#include "cli/record_text.hpp"
#include "cli/waiting.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace cremone::cli {
namespace {

using namespace std::chrono_literals;
using step = loss_policy::step;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr instant start_of_time{1000s};

TEST(Duration, IsReadWithItsUnitAndWithoutOneInSeconds) {
  EXPECT_EQ(*parse_duration("500ms"), 500ms);
  EXPECT_EQ(*parse_duration("10s"), 10s);
  EXPECT_EQ(*parse_duration("2m"), 2min);
  EXPECT_EQ(*parse_duration("1.5h"), 90min);
  EXPECT_EQ(*parse_duration("3"), 3s);
  EXPECT_EQ(*parse_duration("0.25"), 250ms);
  EXPECT_EQ(*parse_duration("0"), 0ms);
}

TEST(Duration, ThatIsNoneIsRefusedWithItsText) {
  for (const auto* const text :
       {"", "s", "-1s", "1x", "1 s", "1s2", "nan", "inf", "1e3s", "0x10", "99999999999999d", "+1", "-0"}) {
    const auto parsed = parse_duration(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_EQ(parsed.error().code(), errc::invalid_argument);
    EXPECT_THAT(parsed.error().detail(), HasSubstr("'" + std::string(text) + "'"));
  }
}

TEST(Duration, IsShownInAtMostTwoUnits) {
  EXPECT_EQ(shown(-5s), "0s");
  EXPECT_EQ(shown(850ms), "850ms");
  EXPECT_EQ(shown(12s), "12s");
  EXPECT_EQ(shown(60s), "1m");
  EXPECT_EQ(shown(185s), "3m 5s");
  EXPECT_EQ(shown(2h + 10min + 5s), "2h 10m");
  EXPECT_EQ(shown(97h), "4d 1h");
}

TEST(ExitCodes, EveryErrorHasOneInTheTable) {
  std::set<int> in_table;
  for (const auto& row : exit_status_table()) {
    EXPECT_TRUE(in_table.insert(row.code).second) << row.code;
  }
  std::set<int> given;
  for (int code = 1; code <= static_cast<int>(errc::protocol_error); ++code) {
    const int status = exit_status(static_cast<errc>(code));
    EXPECT_TRUE(in_table.contains(status)) << code;
    EXPECT_GE(status, 64);
    EXPECT_LT(status, 126);
    given.insert(status);
  }
  EXPECT_EQ(given.size(),
            static_cast<std::size_t>(errc::protocol_error) - 1);  // busy and timed_out share one
}

TEST(LossPolicy, LeavesACommandAloneWhoseLeaseIsRenewed) {
  loss_policy p(5s, start_of_time + 30s);
  EXPECT_EQ(p.wake_at(), start_of_time + 25s);
  EXPECT_EQ(p.next(start_of_time + 25s, true, start_of_time + 40s), step::nothing);
  EXPECT_EQ(p.wake_at(), start_of_time + 35s);
}

TEST(LossPolicy, TerminatesAtTheGraceAndKillsBeforeTheDeadline) {
  loss_policy p(5s, start_of_time + 30s);
  EXPECT_EQ(p.next(start_of_time + 25s, true, start_of_time + 30s), step::terminate);
  EXPECT_TRUE(p.ending());
  EXPECT_EQ(p.next(start_of_time + 26s, true, start_of_time + 30s), step::nothing);
  EXPECT_LT(p.wake_at(), start_of_time + 30s);
  EXPECT_EQ(p.next(p.wake_at(), true, start_of_time + 30s), step::kill);
  EXPECT_EQ(p.next(start_of_time + 31s, false, instant::min()), step::nothing);
  EXPECT_EQ(p.wake_at(), instant::max());
}

TEST(LossPolicy, ALateRenewalDoesNotSaveWhatWasToldToEnd) {
  loss_policy p(5s, start_of_time + 30s);
  EXPECT_EQ(p.next(start_of_time + 25s, true, start_of_time + 30s), step::terminate);
  EXPECT_EQ(p.next(start_of_time + 30s, true, start_of_time + 55s), step::kill);
}

TEST(LossPolicy, TerminatesAtOnceWhenTheStoreSaysThatItIsLost) {
  loss_policy p(5s, start_of_time + 30s);
  EXPECT_EQ(p.next(start_of_time + 10s, false, instant::min()), step::terminate);
  EXPECT_EQ(p.wake_at(), start_of_time + 15s);
  EXPECT_EQ(p.next(start_of_time + 15s, false, instant::min()), step::kill);
}

TEST(LossPolicy, KillsAtOnceWhenItIsTooLateForAnythingElse) {
  loss_policy p(5s, start_of_time + 30s);
  EXPECT_EQ(p.next(start_of_time + 300s, false, instant::min()), step::kill);
}

TEST(LossPolicy, KnowsALeaseThatWasLostBetweenTwoQuestions) {
  loss_policy late(5s, instant::min());
  EXPECT_EQ(late.next(start_of_time, true, instant::min()), step::kill);
  loss_policy p(5s, start_of_time + 30s);
  EXPECT_EQ(p.next(start_of_time + 10s, true, instant::min()), step::nothing);
  EXPECT_EQ(p.wake_at(), start_of_time + 25s);
}

TEST(Candidates, FollowThePath) {
  EXPECT_THAT(candidates("ls", "/a:/b"), ElementsAre("/a/ls", "/b/ls"));
  EXPECT_THAT(candidates("ls", ":/b:"), ElementsAre("./ls", "/b/ls", "./ls"));
  EXPECT_THAT(candidates("./ls", "/a"), ElementsAre("./ls"));
  EXPECT_THAT(candidates("ls", nullptr), ElementsAre("/bin/ls", "/usr/bin/ls"));
  EXPECT_TRUE(candidates("", "/a").empty());
}

const wall_time noon{std::chrono::sys_days{std::chrono::year{2026} / 11 / 16} + 12h};

owner_id id(std::uint8_t n) {
  owner_id::bytes raw{};
  raw[0] = n;
  return owner_id(raw);
}

lock_record held_lock() {
  lock_record lock;
  lock.name = "deploy";
  lock.holders.push_back({.version = {id(1), 3},
                          .ttl = 30s,
                          .token = fence_token(7),
                          .owner = {"db1", 4711, "ann", "re\x1b[31mport", noon - 185s},
                          .liveness = liveness::alive});
  lock.waiters.push_back({.owner = id(2), .ticket = 1, .who = {"db2", 12, "bob", "", noon - 5s}});
  lock.waiters.push_back({.owner = id(3), .ticket = 2, .who = {"db2", 13, "bob", "", noon - 1s}});
  return lock;
}

TEST(RecordText, ControlCharactersNeverReachTheTerminal) {
  const auto text = describe_lock(held_lock(), "memory://", noon, true, {});
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_THAT(text, HasSubstr("re\\x1b[31mport"));
  EXPECT_THAT(text, HasSubstr("2026-11-16T11:56:55Z (3m 5s ago)"));
  EXPECT_THAT(text, HasSubstr("#2 db2 pid 13"));
  EXPECT_EQ(
      waiting_line(held_lock(), {"db2", 13}, 1s, noon),
      "waiting for 'deploy': held by db1 pid 4711 're\\x1b[31mport' for 3m 5s; place 2 of 2; waited 1s");
}

TEST(RecordText, AnOrphanIsExplained) {
  EXPECT_THAT(liveness_words(liveness::command_only, "deploy", "sqlite:///x.db"),
              HasSubstr("cremone release --force --url sqlite:///x.db -- deploy"));
  EXPECT_THAT(liveness_words(liveness::command_only, "it's; $(rm)", "sqlite:///x.db"),
              HasSubstr("-- 'it'\\''s; $(rm)'"));
}

TEST(RecordText, JsonOfAnythingIsJson) {
  auto lock = held_lock();
  lock.holders[0].owner.label = "\xff\"\n";
  const auto parsed = nlohmann::json::parse(json_line(to_json(lock)));
  EXPECT_EQ(parsed["holders"][0]["token"], 7);
  EXPECT_EQ(parsed["waiters"][1]["place"], 2);
}

TEST(Table, IsAlignedAndCutToTheTerminal) {
  EXPECT_EQ(as_table({"A", "B"}, {{"äöü", "x"}, {"y", "a long one"}}, 9, {}), "A    B\näöü  x\ny    a l…\n");
  EXPECT_EQ(as_tabbed({{"a", "", "c"}, {"d"}}), "a\t\tc\nd\n");
  EXPECT_EQ(cut("abc", 3), "abc");
  EXPECT_EQ(cut("abcd", 3), "ab…");
  EXPECT_EQ(cut("abcd", 0), "");
}

TEST(Changes, TellWhoCameAndWhoWent) {
  const auto first = held_lock();
  auto then = held_lock();
  then.holders[0].version.owner = id(2);  // the first waiter was served, the second gave up
  then.waiters.clear();
  std::vector<std::string> told;
  for (const change& c : changes_between({first}, {then})) {
    told.push_back(std::string(to_string(c.what)) + " " + std::to_string(c.who.pid));
  }
  EXPECT_THAT(told, ElementsAre("released 4711", "left 13", "held 4711"));
  EXPECT_TRUE(changes_between({first}, {first}).empty());
  EXPECT_EQ(changes_between({}, {first}).size(), 3U);
}

}  // namespace
}  // namespace cremone::cli
