// SPDX-License-Identifier: Apache-2.0
//
// Checks the sentences that people get when an acquire fails: the lock, the store, who is in the way, the time spent.
#include "engine/describe.hpp"

#include <gtest/gtest.h>

#include <chrono>

namespace cremone::detail {
namespace {

using namespace std::chrono_literals;

constexpr wall_time began{std::chrono::sys_days(std::chrono::year(2026) / 11 / 15) + 21h + 42min + 7s};

const owner_data bob{.host = "web1", .pid = 4711, .user = "bob", .label = "report", .since = began};

/// What one is told who asked for "nightly" when `began` and fails now.
std::string told(const error& why, const rejection& last_no, std::chrono::microseconds waited) {
  acquire_request request;
  request.name = "nightly";
  request.who.since = began;
  const error e = describe_failure(why, request, last_no, "memory://", began + waited);
  EXPECT_EQ(e.code(), why.code());
  return e.detail();
}

rejection held_by(std::size_t count) {
  rejection no;
  no.holders.resize(count);
  for (std::size_t i = 0; i < count; ++i) {
    owner_id::bytes id{};
    id[0] = static_cast<owner_id::bytes::value_type>(i + 1);
    no.holders[i].version.owner = owner_id(id);
    no.holders[i].owner = bob;
    no.holders[i].ttl = 30s;
  }
  return no;
}

TEST(DescribeOwner, NamesWhoWhereWhatForAndSinceWhen) {
  EXPECT_EQ(describe_owner(bob), "web1 pid 4711 user bob ('report') since 2026-11-15T21:42:07Z");
  owner_data plain = bob;
  plain.label.clear();
  EXPECT_EQ(describe_owner(plain), "web1 pid 4711 user bob since 2026-11-15T21:42:07Z");
}

TEST(DescribeOwner, LeavesOutWhatIsNotKnown) {
  EXPECT_EQ(describe_owner({.host = "web1", .pid = 4711, .user = "", .label = "report", .since = {}}),
            "web1 pid 4711 ('report')");
}

TEST(DescribeHolder, SaysWhenItsTimeIsOverWhereTheStoreLetsItExpire) {
  hold_record h;
  h.owner = {.host = "web1", .pid = 4711, .user = "", .label = "", .since = {}};
  h.expires_in = 12'340ms;
  EXPECT_EQ(describe_holder(h), "web1 pid 4711, expires in 12.3 s unless renewed");
  h.expires_in = 0ms;
  EXPECT_EQ(describe_holder(h), "web1 pid 4711, expires in 0 ms unless renewed");
  h.expires_in.reset();
  EXPECT_EQ(describe_holder(h), "web1 pid 4711, does not expire");
  h.ttl = 30s;
  EXPECT_EQ(describe_holder(h), "web1 pid 4711") << "a record of ours: silence decides, not an expiry";
}

TEST(DescribeHolder, ThatIsAnotherProgramIsShownAsSuch) {
  hold_record h;
  h.foreign = "f3a9";
  h.expires_in = 500ms;
  EXPECT_EQ(describe_holder(h), "another program, which left 'f3a9', expires in 500 ms unless renewed");
  rejection no;
  no.holders = {h};
  EXPECT_EQ(
      told(error(errc::timed_out), no, 1s),
      "lock 'nightly' at memory:// is held by another program, which left 'f3a9', expires in 500 ms unless "
      "renewed; waited 1.0 s");
}

TEST(DescribeTime, SaysWhatWasAskedForNoMoreAndNoLess) {
  EXPECT_EQ(describe_time(1ms), "1 ms");
  EXPECT_EQ(describe_time(999ms), "999 ms");
  EXPECT_EQ(describe_time(1s), "1 s");
  EXPECT_EQ(describe_time(1500ms), "1.5 s");
  EXPECT_EQ(describe_time(30'004ms), "30.004 s");
  EXPECT_EQ(describe_time(1h), "3600 s");
}

TEST(DescribeFailure, OfABusyLockNamesTheHolder) {
  EXPECT_EQ(told(error(errc::busy), held_by(1), 0s),
            "lock 'nightly' at memory:// is held by " + describe_owner(bob));
  EXPECT_EQ(told(error(errc::busy), held_by(3), 0s),
            "lock 'nightly' at memory:// is held by " + describe_owner(bob) + " and 2 more");
}

TEST(DescribeFailure, CountsOneWithManyVotesOnce) {
  rejection no = held_by(2);
  no.holders.push_back(no.holders[0]);
  no.holders.push_back(no.holders[0]);
  EXPECT_EQ(told(error(errc::busy), no, 0s),
            "lock 'nightly' at memory:// is held by " + describe_owner(bob) + " and 1 more");
  no.holders.erase(no.holders.begin() + 1);
  EXPECT_EQ(told(error(errc::busy), no, 0s), "lock 'nightly' at memory:// is held by " + describe_owner(bob));
}

TEST(DescribeFailure, OneRenewedVoteShowsThatTheHolderLives) {
  rejection no = held_by(1);
  no.holders[0].renewed_ago = 3600s;
  no.holders.push_back(no.holders[0]);
  EXPECT_NE(told(error(errc::busy), no, 0s).find("looks abandoned"), std::string::npos);
  no.holders[1].renewed_ago = 1s;  // the clock of the other server is wrong
  EXPECT_EQ(told(error(errc::busy), no, 0s).find("looks abandoned"), std::string::npos);
}

TEST(DescribeFailure, QuarantineErrorSaysWhenOrHowItEnds) {
  rejection no = held_by(1);
  no.why = error(errc::quarantined, "a:1 may have forgotten");
  EXPECT_EQ(told(error(errc::quarantined), no, 0s),
            "lock 'nightly' at memory:// is not given out: a:1 may have forgotten, 30.0 s from now; `cremone "
            "quarantine` shows it, and can end it");
  no.until_ordered = true;
  EXPECT_EQ(told(error(errc::quarantined), no, 0s),
            "lock 'nightly' at memory:// is not given out: a:1 may have forgotten; once no lock from before "
            "is held, run `cremone quarantine --end`");
}

TEST(DescribeFailure, SaysHowLongAHolderHasBeenSilentAndWhatWaitingWouldDo) {
  rejection no = held_by(1);
  const auto said = [&](std::chrono::nanoseconds silent, errc why = errc::busy) {
    acquire_request request;
    request.name = "nightly";
    request.who.since = began;
    const std::string text =
        describe_failure(error(why), request, no, "memory://", began + 5s, silent).detail();
    const std::string plain = "lock 'nightly' at memory:// is held by " + describe_owner(bob);
    EXPECT_EQ(text.substr(0, plain.size()), plain);
    return text.substr(plain.size());
  };
  EXPECT_EQ(said(0s), "");
  EXPECT_EQ(said(15s), "") << "one that lives may have been about to renew";
  EXPECT_EQ(said(15s + 1ms), "; silent for 15.0 s, taken over after 30 s of silence");
  EXPECT_EQ(said(20s, errc::timed_out),
            "; silent for 20.0 s, taken over after 30 s of silence; waited 5.0 s");
  EXPECT_EQ(said(42s), "; silent for 42.0 s") << "and still it was spared";
  no.holders[0].liveness = liveness::command_only;
  EXPECT_EQ(
      said(20s),
      "; that process is gone, but the command that it ran is still at work. The lock is free when it ends,"
      " or by force");
}

TEST(DescribeFailure, SaysNothingOfTheSilenceOfOneWhoseTtlIsNotKnown) {
  rejection no = held_by(1);
  no.holders[0].ttl = 0s;
  no.holders[0].expires_in = 5s;
  acquire_request request;
  request.name = "nightly";
  const error e = describe_failure(error(errc::busy), request, no, "memory://", began, 20s);
  EXPECT_EQ(e.detail().find("silent"), std::string::npos) << e.detail();
}

TEST(DescribeFailure, OfAFreeLockSaysForWhomItIsKept) {
  EXPECT_EQ(told(error(errc::busy), {}, 0s),
            "lock 'nightly' at memory:// is promised to others who wait for it");
}

TEST(DescribeFailure, OfAStoreThatNeverAnsweredSaysSo) {
  rejection none;
  none.why = error(errc::unreachable);
  EXPECT_EQ(told(error(errc::timed_out), none, 2s),
            "lock 'nightly' at memory:// was asked for, and the store has not answered; waited 2.0 s");
}

TEST(DescribeFailure, SaysHowLongOneHasWaited) {
  const auto waited = [](std::chrono::microseconds t) {
    const std::string text = told(error(errc::timed_out), held_by(1), t);
    return text.substr(text.rfind("; waited "));
  };
  EXPECT_EQ(waited(0s), "; waited 0 ms");
  EXPECT_EQ(waited(250ms), "; waited 250 ms");
  EXPECT_EQ(waited(1s), "; waited 1.0 s");
  EXPECT_EQ(waited(90s), "; waited 90.0 s");
  EXPECT_EQ(waited(-5s), "; waited 0 ms") << "the wall clock stepped back";
}

TEST(DescribeFailure, KeepsTheStoresWords) {
  EXPECT_EQ(told(error(errc::unreachable, "connection refused"), {}, 2s),
            "lock 'nightly' at memory://: connection refused (after 2.0 s)");
  EXPECT_EQ(told(error(errc::cancelled, "stop was requested"), {}, 2s),
            "lock 'nightly' at memory://: stop was requested; waited 2.0 s");
}

}  // namespace
}  // namespace cremone::detail
