// SPDX-License-Identifier: Apache-2.0
//
// Checks which keys look like another program's lock, which commands are sent and when, and the
// finding of `doctor`. Runs on virtual time; the test plays the server.
#include "backends/redis/foreign.hpp"

#include "backends/redis/diagnosis.hpp"
#include "backends/redis/value.hpp"
#include "support/manual_env.hpp"
#include "support/scripted_transport.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace cremone::redis {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

const std::string uuid = "285475da-9152-4c83-822a-67ee2f116a79";
const std::string hex_id = "0123456789abcdef0123456789abcdef";

key_facts text(std::string value, std::optional<std::chrono::milliseconds> expires_in = std::nullopt) {
  return {.type = "string", .expires_in = expires_in, .value = std::move(value)};
}

key_facts hash(std::vector<std::string> fields) { return {.type = "hash", .fields = std::move(fields)}; }

TEST(RedisLockLike, StringThatExpiresIsALock) {
  EXPECT_EQ(lock_like(text("1", 9800ms)), "a string that expires in 9.8 s");
  EXPECT_NE(lock_like(text(std::string(longest_value, 'x'), 1s)), "");
  EXPECT_EQ(lock_like(text(std::string(longest_value + 1, 'x'), 1s)), "") << "too long for an owner's id";
  EXPECT_EQ(lock_like(text("", 1s)), "") << "the key expired between the commands";
}

TEST(RedisLockLike, StringWithoutExpiryIsALockByItsValue) {
  EXPECT_THAT(lock_like(text(hex_id)), HasSubstr("random id"));
  EXPECT_THAT(lock_like(text(uuid)), HasSubstr("random id"));
  EXPECT_THAT(lock_like(text(encode_value(owner_id(), {.host = "h", .pid = 1}))),
              HasSubstr("layout=classic"));
  for (const std::string& other : {std::string("42"), std::string("ann"), hex_id + "0", hex_id.substr(1),
                                   std::string(32, 'x'), uuid.substr(1), "-" + uuid.substr(1)}) {
    EXPECT_EQ(lock_like(text(other)), "") << other;
  }
}

TEST(RedisLockLike, HashIsALockOnlyInRedissonForm) {
  EXPECT_THAT(lock_like(hash({uuid + ":52"})), HasSubstr("Redisson"));
  for (const auto& fields : std::vector<std::vector<std::string>>{
           {}, {uuid + ":52", "more"}, {uuid}, {uuid + ":"}, {uuid + ":x"}, {"name"}, {hex_id + ":52"}}) {
    EXPECT_EQ(lock_like(hash(fields)), "");
  }
}

TEST(RedisLockLike, OtherTypesAreNoLocks) {
  EXPECT_EQ(lock_like({.type = "none"}), "");
  EXPECT_EQ(lock_like({.type = "list", .expires_in = 1s, .value = hex_id}), "");
}

class RedisForeignLocks : public ::testing::Test {
 protected:
  RedisForeignLocks() {
    settings_.node = "db:6379";
    node_ = std::make_shared<node>(env_, net_, settings_);
    node_->start();
    env_->run_all();
    wire().let_open();
    wire().say("+PONG\r\n");    // reply to the greeting
    wire().say("-NOPERM\r\n");  // reply to INFO, which the node sends to each new server
    (void)wire().take_sent();
    events_ = std::make_shared<const event_hub>(env_, [this](const store_event& e) {
      EXPECT_EQ(e.what, event_kind::foreign_lock);
      told_.push_back(e.message);
    });
    locks_ = std::make_shared<foreign_locks>(node_, events_);
  }
  ~RedisForeignLocks() override {
    node_->close();
    env_->run_all();
  }

  [[nodiscard]] test::scripted_connection& wire() { return *net_->opened().back(); }

  /// Returns the commands that an acquire of this name causes.
  std::string acquire(const std::string& name) {
    if (const auto probe = locks_->first_time(name)) {
      locks_->look_and_tell(*probe);
    }
    env_->run_all();
    return wire().take_sent();
  }
  /// Replies, and returns the commands that follow.
  std::string answer(const std::string& reply) {
    wire().say(reply);
    env_->run_all();
    return wire().take_sent();
  }

  const std::shared_ptr<test::manual_env> env_ = std::make_shared<test::manual_env>();
  const std::shared_ptr<test::scripted_transport> net_ = std::make_shared<test::scripted_transport>();
  node_settings settings_;
  std::shared_ptr<node> node_;
  std::shared_ptr<const event_hub> events_;
  std::shared_ptr<foreign_locks> locks_;
  std::vector<std::string> told_;
};

TEST_F(RedisForeignLocks, LooksOncePerNameAndReadsOnlyExistingKeys) {
  EXPECT_THAT(acquire("x"), HasSubstr("TYPE"));
  EXPECT_EQ(answer("+none\r\n"), "");
  EXPECT_EQ(acquire("x"), "");
  EXPECT_THAT(acquire("y"), HasSubstr("TYPE"));
  EXPECT_THAT(answer("+string\r\n"), AllOf(HasSubstr("PTTL"), HasSubstr("GETRANGE")));
  EXPECT_EQ(answer(":5000\r\n$3\r\nann\r\n"), "");
  EXPECT_THAT(told_, ElementsAre(AllOf(HasSubstr("db:6379"), HasSubstr("'y'"), HasSubstr("expires in 5.0 s"),
                                       Not(HasSubstr("ann")))));
}

TEST_F(RedisForeignLocks, DeniedLookIsNotRepeated) {
  EXPECT_THAT(acquire("x"), HasSubstr("TYPE"));
  EXPECT_EQ(answer("-NOPERM this user has no permissions to run the 'type' command\r\n"), "");
  EXPECT_EQ(acquire("y"), "");
  EXPECT_THAT(told_, IsEmpty());
}

TEST_F(RedisForeignLocks, UnansweredLookIsRepeatedWithTheNextAcquire) {
  EXPECT_THAT(acquire("x"), HasSubstr("TYPE"));
  env_->advance(2s);
  EXPECT_THAT(acquire("x"), HasSubstr("TYPE"));
}

TEST_F(RedisForeignLocks, NamesBeyondTheCapAreNotLookedAt) {
  for (std::size_t i = 0; i < foreign_locks::most_names; ++i) {
    ASSERT_NE(acquire("name" + std::to_string(i)), "");
    ASSERT_EQ(answer("+none\r\n"), "");
  }
  EXPECT_EQ(acquire("one more"), "");
}

TEST_F(RedisForeignLocks, KeysUnderOwnPrefixAreNotForeign) {
  EXPECT_THAT(acquire("cremone:lock:x"), HasSubstr("TYPE"));
  EXPECT_EQ(answer("+string\r\n"), "");
}

TEST_F(RedisForeignLocks, WithoutAListenerNothingIsSent) {
  locks_ = std::make_shared<foreign_locks>(node_, std::make_shared<const event_hub>());
  EXPECT_EQ(acquire("x"), "");
  locks_ = std::make_shared<foreign_locks>(node_, std::make_shared<const event_hub>(
                                                      env_, [](const store_event&) {}, probing::off));
  EXPECT_EQ(acquire("x"), "");
}

TEST(RedisLayoutFinding, NamesTheSharedLocks) {
  purpose p;
  p.node = "db:6379";
  p.user = "locks";
  EXPECT_EQ(judge_layout(p, {}).verdict, verdict::good);
  EXPECT_THAT(judge_layout(p, {.names = 7}).reason, HasSubstr("checked: 7;"));
  const finding hidden = judge_layout(p, {.denied = true});
  EXPECT_EQ(hidden.verdict, verdict::untold);
  EXPECT_THAT(hidden.reason, HasSubstr("ACL SETUSER locks +type"));
  const finding shared =
      judge_layout(p, {.names = 7, .shared = {"a", "b\x1b", "c", "d"}, .example = "the message"});
  EXPECT_EQ(shared.subject, "layout");
  EXPECT_EQ(shared.node, "db:6379");
  EXPECT_EQ(shared.verdict, verdict::warning);
  EXPECT_THAT(shared.value, AllOf(HasSubstr("'a', 'b\\x1b', 'c' and 1 more"), Not(HasSubstr("\x1b"))));
  EXPECT_EQ(shared.reason, "the message");
}

}  // namespace
}  // namespace cremone::redis
