// SPDX-License-Identifier: Apache-2.0
//
// Checks the texts of the layout `record`: what is written is read back, and what makes no sense is no record.
#include "backends/redis/record_text.hpp"

#include <gtest/gtest.h>

#include <string>

namespace cremone::redis {
namespace {

using namespace std::chrono_literals;

const std::string owner(40, 'a');

TEST(RecordText, OfAnOwnerIsReadBackAsItWasWritten) {
  for (const std::string label : {"", "a b", "Bericht für März", "\xff\xfe", "x:y,z"}) {
    const owner_data who{"db1.example", 1LL << 40U, "o'brien", label, wall_time(1'700'000'000'000'001us)};
    const owner_data back = parse_who(encode_who(who));
    EXPECT_EQ(back.host, who.host);
    EXPECT_EQ(back.user, who.user);
    EXPECT_EQ(back.pid, who.pid);
    EXPECT_EQ(back.since, who.since);
    EXPECT_EQ(back.label, who.label);
  }
}

TEST(RecordText, OfAnOwnerWithLineBreaksStaysApart) {
  const owner_data back = parse_who(encode_who({"two\nlines", 7, "us\ner", "label", {}}));
  EXPECT_EQ(back.host, "two lines");
  EXPECT_EQ(back.user, "us er");
  EXPECT_EQ(back.pid, 7);
  EXPECT_EQ(back.label, "label");
}

TEST(RecordText, OfAHoldHasAllOfIt) {
  const auto hold = parse_hold(owner + " 3 30000 x 1700000000000001\n" + encode_who({"h", 1, "u", "l", {}}));
  ASSERT_TRUE(hold);
  EXPECT_EQ(hold->version.owner.hex(), owner);
  EXPECT_EQ(hold->version.seq, 3U);
  EXPECT_EQ(hold->ttl, 30s);
  EXPECT_EQ(hold->mode, mode::exclusive);
  EXPECT_EQ(hold->token, fence_token(1'700'000'000'000'001));
  EXPECT_EQ(hold->owner.label, "l");
}

TEST(RecordText, ThatMakesNoSenseIsNoHold) {
  for (const std::string& text :
       {std::string(), owner, owner + " 3 30000 x", owner + " 3 0 x 1\n", owner + " 3 86400001 x 1\n",
        owner + " -3 1 x 1\n", owner + " 3 1 q 1\n", owner + " 3 1 x 9007199254740992\n",
        owner + "0 3 1 x 1\n", "zz" + owner.substr(2) + " 3 1 x 1\n"}) {
    EXPECT_FALSE(parse_hold(text)) << text;
  }
}

TEST(RecordText, OfALockIsFreeOrHeld) {
  const auto free = parse_lock("lock", "1 0 0000000000000042 0000000000000007 0000000000000005 ab cd\n", "");
  ASSERT_TRUE(free);
  EXPECT_TRUE(free->holders.empty());
  EXPECT_EQ(free->last, fence_token(42));
  const auto held = parse_lock(
      "lock", "1 0 0000000000000042 0000000000000007 0000000000000005  \n" + owner + " 0 100 x 42\n",
      "0000000000200005");
  ASSERT_TRUE(held);
  ASSERT_EQ(held->holders.size(), 1U);
  EXPECT_EQ(held->holders[0].renewed_ago, 200ms);
  EXPECT_TRUE(parse_lock("lock", "", ""));
  EXPECT_FALSE(parse_lock("lock", "2 0 42 7 5 ab cd\n", ""));
  EXPECT_FALSE(parse_lock("lock", "1 0 x 7 5 ab cd\n", ""));
  EXPECT_FALSE(parse_lock("lock", "1 0 42 7 5 ab cd\nnonsense", ""));
}

TEST(RecordText, RenewalInTheServersFutureIsNegative) {
  EXPECT_EQ(time_since("0000000003000000", "0000000001000000"), -2s);
  EXPECT_EQ(time_since("0000000001000000", "0000000001000000"), 0s);
  EXPECT_FALSE(time_since("", "0000000001000000"));
  EXPECT_FALSE(time_since("0000000001000000", "x"));
}

TEST(RecordText, OfAWaiterMayHaveNoChannelYet) {
  const auto waiter = parse_waiter(owner, "17 99  x\n" + encode_who({"h", 5, "u", "", {}}));
  ASSERT_TRUE(waiter);
  EXPECT_EQ(waiter->ticket, 17U);
  EXPECT_EQ(waiter->who.pid, 5);
  EXPECT_TRUE(parse_waiter(owner, "17 99 cremone:wake:ab x\n"));
  EXPECT_FALSE(parse_waiter(owner, "17 99 x\n"));
  EXPECT_FALSE(parse_waiter("short", "17 99  x\n"));
}

}  // namespace
}  // namespace cremone::redis
