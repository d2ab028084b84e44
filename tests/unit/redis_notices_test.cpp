// SPDX-License-Identifier: Apache-2.0
//
// Checks who is told of a release: the one who has waited longest, the next one if that has left, everybody's first after
// a subscription, and nobody twice for nothing. On virtual time, with the test as the server.
#include "backends/redis/notices.hpp"

#include "support/manual_env.hpp"
#include "support/scripted_transport.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace cremone::redis {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

class bell final : public hint_sink {
 public:
  void hint() noexcept override { ++rung; }
  int rung = 0;
};

owner_id owner(std::uint8_t n) {
  owner_id::bytes raw{};
  raw[0] = n;
  return owner_id(raw);
}

class RedisNotices : public ::testing::Test {
 protected:
  RedisNotices() { settings_.node = "node:1"; }

  /// Refused now, having asked when `heard` releases were known.
  bool wait(std::uint8_t n, const std::shared_ptr<bell>& b, const char* name = "lock") {
    return notices_->wait(name, owner(n), b, notices_->heard(bucket_of(name)));
  }

  [[nodiscard]] test::scripted_connection& wire() { return *net_->opened().back(); }

  void come_up() {
    env_->run_all();
    wire().let_open();
    wire().say("+PONG\r\n");
  }

  [[nodiscard]] std::string channel(const char* name = "lock") {
    return notices_->channel_of(bucket_of(name));
  }

  [[nodiscard]] static std::string bulk(const std::string& text) {
    return "$" + std::to_string(text.size()) + "\r\n" + text + "\r\n";
  }
  void confirm(const char* name = "lock") {
    wire().say("*3\r\n" + bulk("subscribe") + bulk(channel(name)) + ":1\r\n");
  }
  void release(const char* name = "lock") {
    wire().say("*3\r\n" + bulk("message") + bulk(channel(name)) + bulk(name));
  }

  /// Two who wait, subscribed, and not told of anything yet.
  void two_wait() {
    (void)wait(1, ann_);
    come_up();
    confirm();
    (void)wait(1, ann_);
    (void)wait(2, bob_);
    ann_->rung = bob_->rung = 0;
  }

  const std::shared_ptr<test::manual_env> env_ = std::make_shared<test::manual_env>();
  const std::shared_ptr<test::scripted_transport> net_ = std::make_shared<test::scripted_transport>();
  node_settings settings_;
  const std::shared_ptr<notices> notices_ = std::make_shared<notices>(env_, net_, settings_);
  const std::shared_ptr<bell> ann_ = std::make_shared<bell>();
  const std::shared_ptr<bell> bob_ = std::make_shared<bell>();
};

TEST_F(RedisNotices, NeedNoConnectionWhileNobodyWaits) {
  env_->run_all();
  EXPECT_TRUE(net_->opened().empty());
}

TEST_F(RedisNotices, LetTheFirstAskAgainOnceTheSubscriptionIsInForce) {
  EXPECT_TRUE(wait(1, ann_));
  come_up();
  EXPECT_THAT(wire().take_sent(), HasSubstr(bulk("SUBSCRIBE") + bulk(channel())));
  EXPECT_EQ(ann_->rung, 0);
  confirm();
  EXPECT_EQ(ann_->rung, 1) << "it may have been released in between";
}

TEST_F(RedisNotices, TellTheOneWhoHasWaitedLongest) {
  two_wait();
  release();
  EXPECT_EQ(ann_->rung, 1);
  EXPECT_EQ(bob_->rung, 0);
  notices_->leave("lock", owner(1), true);
  EXPECT_EQ(bob_->rung, 0) << "she has it now";
  release();
  EXPECT_EQ(bob_->rung, 1);
}

TEST_F(RedisNotices, OfANeighbourInTheBucketTellNobody) {
  two_wait();
  wire().say("*3\r\n" + bulk("message") + bulk(channel()) + bulk("another"));
  EXPECT_EQ(ann_->rung + bob_->rung, 0);
}

TEST_F(RedisNotices, ArePassedOnByOneWhoLeavesInsteadOfAsking) {
  two_wait();
  release();
  notices_->leave("lock", owner(1), false);
  EXPECT_EQ(bob_->rung, 1);
}

TEST_F(RedisNotices, AreNotPassedOnByOneWhoAskedAndWasRefusedAfterThem) {
  two_wait();
  release();
  (void)wait(1, ann_);  // asked after the notice
  notices_->leave("lock", owner(1), false);
  EXPECT_EQ(bob_->rung, 0);
}

TEST_F(RedisNotices, ArePassedOnByOneWhoseRefusalIsOlderThanTheNotice) {
  two_wait();
  const std::uint32_t asked = notices_->heard(bucket_of("lock"));
  release();
  (void)notices_->wait("lock", owner(1), ann_, asked);
  notices_->leave("lock", owner(1), false);
  EXPECT_EQ(bob_->rung, 1);
}

TEST_F(RedisNotices, AreCountedForThoseWhoAskedBeforeAndWaitOnlyNow) {
  two_wait();
  const std::uint32_t asked = notices_->heard(bucket_of("lock"));
  release();
  EXPECT_NE(notices_->heard(bucket_of("lock")), asked);
}

TEST_F(RedisNotices, LetTheFirstOfEachLockAskAfterAReconnectOnceAllAreSubscribed) {
  const auto eve = std::make_shared<bell>();
  two_wait();
  (void)wait(3, eve, "other");
  confirm("other");
  ann_->rung = eve->rung = 0;
  wire().fail({errc::unreachable, "cut"});
  env_->advance(1s);
  come_up();
  confirm();
  EXPECT_EQ(ann_->rung + eve->rung, 0);
  confirm("other");
  EXPECT_EQ(ann_->rung, 1);
  EXPECT_EQ(eve->rung, 1);
  EXPECT_EQ(bob_->rung, 0) << "only one can have it";
}

TEST_F(RedisNotices, ThatAreDeniedAreToldOnceAndAskedForAgain) {
  (void)wait(1, ann_);
  come_up();
  (void)wire().take_sent();
  wire().say("-NOPERM this user has no permissions to run the 'subscribe' command\r\n");
  EXPECT_EQ(ann_->rung, 1) << "it hears of it when it asks";
  const auto denial = notices_->take_denial();
  ASSERT_TRUE(denial);
  EXPECT_EQ(denial->code(), errc::access_denied);
  EXPECT_THAT(denial->detail(), HasSubstr("grant it: ACL SETUSER default +subscribe"));
  EXPECT_FALSE(notices_->take_denial());
  (void)wait(1, ann_);
  EXPECT_THAT(wire().take_sent(), HasSubstr(channel()));
}

TEST_F(RedisNotices, SkipThoseWhoWentWithoutAWord) {
  two_wait();
  (void)notices_->wait("lock", owner(1), std::weak_ptr<hint_sink>(), notices_->heard(bucket_of("lock")));
  release();
  EXPECT_EQ(bob_->rung, 1);
}

}  // namespace
}  // namespace cremone::redis
