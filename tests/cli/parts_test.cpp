// SPDX-License-Identifier: Apache-2.0
//
// The tool's pure parts: lengths of time, exit codes, the end of a command whose lock is lost, words and tables.
#include "cli/changes.hpp"
#include "cli/child.hpp"
#include "cli/duration.hpp"
#include "cli/exit_codes.hpp"
#include "cli/loss_policy.hpp"
#include "cli/record_json.hpp"
#include "cli/record_text.hpp"
#include "cli/run_options.hpp"
#include "cli/secrets.hpp"
#include "cli/waiting.hpp"
#include "core/watchdog.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <set>

namespace cremone::cli {
namespace {

using namespace std::chrono_literals;
using step = loss_policy::step;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

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

TEST(RunTiming, LeaseOfThirtySecondsSurvivesTwentyWithoutItsServer) {
  const core::lease_timing timing{.ttl = 30s, .drift_ppm = 1000, .renewals_per_ttl = run_renewals_per_ttl};
  const auto outage = core::survivable_outage(timing, timing.ttl / default_grace_divisor);
  EXPECT_GE(outage, 20s + 2s) << "with 2 s to connect again";
}

TEST(Candidates, FollowThePath) {
  EXPECT_THAT(candidates("ls", "/a:/b"), ElementsAre("/a/ls", "/b/ls"));
  EXPECT_THAT(candidates("ls", ":/b:"), ElementsAre("./ls", "/b/ls", "./ls"));
  EXPECT_THAT(candidates("./ls", "/a"), ElementsAre("./ls"));
  EXPECT_THAT(candidates("ls", nullptr), ElementsAre("/bin/ls", "/usr/bin/ls"));
  EXPECT_TRUE(candidates("", "/a").empty());
}

TEST(Secrets, APasswordInAUrlIsFoundWhereverTheUrlStands) {
  EXPECT_EQ(password_in("redis://me:secret@host:6379/0"), "secret");
  EXPECT_EQ(password_in("--url=redis://:secret@host"), "secret");
  EXPECT_EQ(password_in("unknown option '--ulr=rediss://me:secret@host'"), "secret");
  EXPECT_EQ(password_in("redis+unix://me:secret@/run/redis.sock?layout=classic"), "secret");
  EXPECT_EQ(password_in("postgres:/me:secret@db/shop"), "secret") << "a slash was forgotten";
  EXPECT_EQ(password_in("redis://me:s:e@c/r?e t@host"), "s:e@c/r?e t") << "what should have been encoded";
  for (const auto* const none : {"", "redis://host:6379/0", "redis://me@host", "redis://me:@host",
                                 "me:secret@host", "a@b://c:d", "://", "x://:@"}) {
    EXPECT_EQ(password_in(none), "") << none;
  }
}

TEST(Secrets, AreHiddenInATextAndTheRestOfItIsNot) {
  EXPECT_EQ(without_passwords("at redis://host:6379: no (on @user_script:30) as redis://me:a'b@host"),
            "at redis://host:6379: no (on @user_script:30) as redis://me:***@host");
  EXPECT_EQ(without_passwords("no file '/:secret@host' and lock 'deploy:prod@eu'"),
            "no file '/:******@host' and lock 'deploy:prod@eu'");
  EXPECT_EQ(without_passwords(" two  blanks "), " two  blanks ");
  EXPECT_EQ(without_passwords(""), "");
}

TEST(Secrets, AreOverwrittenInPlaceAndNothingElseIs) {
  char tool[] = "cremone";
  char option[] = "--url=redis://me:secret@host/0?layout=classic";
  char plain[] = "redis://host:6379";
  char empty[] = "";
  char* words[] = {tool, option, plain, empty, nullptr};
  hide_passwords(4, words);
  EXPECT_STREQ(tool, "cremone");
  EXPECT_STREQ(option, "--url=redis://me:******@host/0?layout=classic");
  EXPECT_STREQ(plain, "redis://host:6379");
  EXPECT_STREQ(empty, "");
  hide_passwords(0, nullptr);
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

/// As a store gives it that is shared with other programs: no record of ours, a value and an expiry.
lock_record half_known_lock() {
  lock_record lock;
  lock.name = "deploy";
  lock.holders.push_back(
      {.version = {id(1), 0}, .owner = {"db1", 4711, "", "report", {}}, .expires_in = 12'300ms});
  return lock;
}

lock_record foreign_lock() {
  lock_record lock;
  lock.name = "deploy";
  lock.holders.push_back({.expires_in = 500ms, .foreign = "f3a9"});
  return lock;
}

TEST(RecordText, WhatIsNotKnownOfAHolderIsNotShown) {
  EXPECT_EQ(describe_lock(half_known_lock(), "redis://a", noon, false, {}),
            "lock\tdeploy\nstore\tredis://a\nstate\theld\nheld by\tdb1 pid 4711\nlabel\treport\n"
            "expires\tin 12s unless renewed\n");
  EXPECT_EQ(waiting_line(half_known_lock(), {"db2", 13}, 1s, noon),
            "waiting for 'deploy': held by db1 pid 4711 'report', expires in 12s unless renewed; waited 1s");
  EXPECT_THAT(list_rows(half_known_lock(), noon, true),
              ElementsAre(ElementsAre("deploy", "held", "db1", "4711", "", "", "", "0", "report")));
  EXPECT_THAT(list_rows(half_known_lock(), noon, false),
              ElementsAre(ElementsAre("deploy", "held", "db1", "4711", "", "", "", "0", "report")));
  lock_record lasting = half_known_lock();
  lasting.holders[0].expires_in.reset();
  EXPECT_THAT(describe_lock(lasting, "redis://a", noon, false, {}), HasSubstr("expires\tnever\n"));
  EXPECT_THAT(describe_lock(held_lock(), "memory://", noon, false, {}), Not(HasSubstr("expires")))
      << "silence ends a record of ours, and no expiry";
}

TEST(RecordText, AnotherProgramIsShownAsSuch) {
  EXPECT_EQ(describe_lock(foreign_lock(), "redis://a", noon, false, {}),
            "lock\tdeploy\nstore\tredis://a\nstate\theld\n"
            "held by\tanother program, which left 'f3a9'\nexpires\tin 500ms unless renewed\n");
  EXPECT_EQ(waiting_line(foreign_lock(), {"db2", 13}, 1s, noon),
            "waiting for 'deploy': held by another program, which left 'f3a9', expires in 500ms unless "
            "renewed; waited 1s");
  EXPECT_THAT(list_rows(foreign_lock(), noon, true),
              ElementsAre(ElementsAre("deploy", "foreign", "", "", "", "", "", "0", "")));
}

TEST(RecordJson, HasEveryKeyAndNullForWhatIsNotKnown) {
  const auto parsed = [](const lock_record& lock) {
    return nlohmann::ordered_json::parse(lock_json(lock, "redis://a"));
  };
  const auto holder = [&](const lock_record& lock) { return parsed(lock)["holders"][0].dump(); };
  EXPECT_EQ(
      holder(held_lock()).substr(holder(held_lock()).find("\"since\"")),
      R"("since":"2026-11-16T11:56:55Z","token":7,"ttl_ms":30000,"mode":"exclusive","liveness":"alive",)"
      R"("expires_in_ms":null,"renewed_ago_ms":null,"looks_abandoned":false,"foreign":null})");
  EXPECT_EQ(
      holder(half_known_lock()),
      R"({"host":"db1","pid":4711,"user":null,"label":"report","since":null,"token":null,"ttl_ms":null,)"
      R"("mode":"exclusive","liveness":"untold","expires_in_ms":12300,"renewed_ago_ms":null,"looks_abandoned":false,"foreign":null})");
  EXPECT_EQ(
      holder(foreign_lock()),
      R"({"host":null,"pid":null,"user":null,"label":null,"since":null,"token":null,"ttl_ms":null,)"
      R"("mode":"exclusive","liveness":"untold","expires_in_ms":500,"renewed_ago_ms":null,"looks_abandoned":false,"foreign":"f3a9"})");
  EXPECT_TRUE(parsed(foreign_lock())["last_token"].is_null());
  EXPECT_EQ(parsed(foreign_lock())["store"], "redis://a");
}

TEST(RecordText, AnOrphanIsExplained) {
  EXPECT_THAT(liveness_words(liveness::command_only, "deploy", "sqlite:///x.db"),
              HasSubstr("cremone release --force --url sqlite:///x.db -- deploy"));
  EXPECT_THAT(liveness_words(liveness::command_only, "it's; $(rm)", "sqlite:///x.db"),
              HasSubstr("-- 'it'\\''s; $(rm)'"));
}

TEST(RecordJson, OfAnythingIsJson) {
  auto lock = held_lock();
  lock.holders[0].owner.label = "\xff\"\n";
  const auto parsed = nlohmann::json::parse(lock_json(lock, "redis://a"));
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

TEST(Changes, DoNotTellOfAReleaseThatNobodyHasSeen) {
  const auto first = held_lock();
  auto then = first;
  then.may_hold = std::move(then.holders);  // servers that voted for it cannot be asked any more
  then.holders.clear();
  EXPECT_TRUE(changes_between({first}, {then}).empty());
  EXPECT_TRUE(changes_between({then}, {first}).empty());
}

TEST(Changes, LeaveOutWhatIsNotKnown) {
  const auto found = changes_between({}, {half_known_lock()});
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(to_line(found[0], noon), "2026-11-16T12:00:00Z\theld\tdeploy\tdb1\t4711\t\t\treport\n");
  EXPECT_EQ(change_json(found[0], noon),
            R"({"time":"2026-11-16T12:00:00Z","event":"held","name":"deploy","host":"db1","pid":4711,)"
            R"("user":null,"label":"report","since":null})"
            "\n");
}

}  // namespace
}  // namespace cremone::cli
