// SPDX-License-Identifier: Apache-2.0
//
// Checks who hears of its turn: the one that the server names and nobody else, everybody when the connection begins to
// listen, and also one whose wake comes before the answer that it has to wait. On virtual time, with the test as the server.
#include "backends/redis/wakes.hpp"

#include "support/manual_env.hpp"
#include "support/scripted_transport.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace cremone::redis {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;
using ::testing::UnorderedElementsAre;

class bell final : public hint_sink {
 public:
  void hint() noexcept override { ++rung; }
  void next() noexcept override { ++warned; }
  int rung = 0;
  int warned = 0;
};

owner_id owner(std::uint8_t n) {
  owner_id::bytes raw{};
  raw[0] = n;
  return owner_id(raw);
}

class RedisWakes : public ::testing::Test {
 protected:
  RedisWakes() {
    settings_.node = "node:1";
    wakes_->on_listening(
        [this](const lock_name& name, const std::vector<owner_id>& owners) { noted_[name] = owners; });
  }

  [[nodiscard]] test::scripted_connection& wire() { return *net_->opened().back(); }
  [[nodiscard]] static std::string bulk(const std::string& text) {
    return "$" + std::to_string(text.size()) + "\r\n" + text + "\r\n";
  }
  void come_up() {
    env_->run_all();
    wire().let_open();
    wire().say("+PONG\r\n");
  }
  void confirm() { wire().say("*3\r\n" + bulk("subscribe") + bulk("channel") + ":1\r\n"); }
  void call(std::uint8_t n) {
    wire().say("*3\r\n" + bulk("message") + bulk("channel") + bulk(owner(n).hex()));
  }

  /// Two who wait and listen, told once that they do.
  void two_wait() {
    wakes_->wait("lock", owner(1), ann_, false);
    wakes_->wait("lock", owner(2), bob_, false);
    come_up();
    confirm();
    ann_->rung = bob_->rung = 0;
  }

  std::shared_ptr<test::manual_env> env_ = std::make_shared<test::manual_env>();
  std::shared_ptr<test::scripted_transport> net_ = std::make_shared<test::scripted_transport>();
  node_settings settings_;
  std::shared_ptr<wakes> wakes_ = std::make_shared<wakes>(env_, net_, settings_);
  std::map<lock_name, std::vector<owner_id>> noted_;
  std::shared_ptr<bell> ann_ = std::make_shared<bell>();
  std::shared_ptr<bell> bob_ = std::make_shared<bell>();
};

TEST_F(RedisWakes, ReachTheOneThatTheServerNames) {
  two_wait();
  call(2);
  EXPECT_EQ(ann_->rung, 0);
  EXPECT_EQ(bob_->rung, 1);
}

TEST_F(RedisWakes, TellTheOneWhoIsNextThatItIs) {
  two_wait();
  wire().say("*3\r\n" + bulk("message") + bulk("channel") + bulk("+" + owner(2).hex()));
  EXPECT_EQ(bob_->rung, 0);
  EXPECT_EQ(bob_->warned, 1);
  EXPECT_EQ(ann_->warned, 0);
}

TEST_F(RedisWakes, ReachEverybodyWhenTheConnectionListensAgain) {
  two_wait();
  wire().fail({errc::unreachable, "cut"});
  EXPECT_EQ(ann_->rung, 0) << "there is nobody to ask yet";
  env_->run_all();
  env_->advance(std::chrono::seconds(2));
  come_up();
  EXPECT_EQ(ann_->rung, 0) << "the server does not know yet where to tell them";
  confirm();
  EXPECT_EQ(ann_->rung, 1);
  EXPECT_EQ(bob_->rung, 1);
}

TEST_F(RedisWakes, TellTheServerOfAllWhoWaitWhenTheConnectionListens) {
  wakes_->wait("lock", owner(9), ann_, false);
  wakes_->wait("lock", owner(1), bob_, false);
  wakes_->wait("other", owner(5), bob_, false);
  come_up();
  EXPECT_TRUE(noted_.empty());
  confirm();
  ASSERT_EQ(noted_.size(), 2U);
  EXPECT_THAT(noted_["lock"], UnorderedElementsAre(owner(1), owner(9)));
  EXPECT_THAT(noted_["other"], UnorderedElementsAre(owner(5)));
  EXPECT_EQ(ann_->rung, 0) << "nobody has to ask";
}

TEST_F(RedisWakes, TellTheServerOfOneWhoAskedBeforeTheConnectionListened) {
  two_wait();
  noted_.clear();
  wakes_->wait("lock", owner(3), ann_, false);
  EXPECT_THAT(noted_["lock"], UnorderedElementsAre(owner(3)));
  noted_.clear();
  wakes_->wait("lock", owner(4), ann_, true);
  EXPECT_TRUE(noted_.empty());
}

TEST_F(RedisWakes, SayWhetherSomebodyListens) {
  EXPECT_THAT(std::string(wakes_->channel()), StartsWith("-cremone:wake:"));
  wakes_->wait("lock", owner(1), ann_, false);
  come_up();
  EXPECT_THAT(std::string(wakes_->channel()), StartsWith("-"));
  confirm();
  EXPECT_THAT(std::string(wakes_->channel()), StartsWith("cremone:wake:"));
  wire().fail({errc::unreachable, "cut"});
  EXPECT_THAT(std::string(wakes_->channel()), StartsWith("-"));
}

TEST_F(RedisWakes, AreKeptForOneWhoIsNotYetKnownToWait) {
  two_wait();
  call(3);
  const auto eve = std::make_shared<bell>();
  wakes_->wait("lock", owner(3), eve, false);
  EXPECT_EQ(eve->rung, 1);
}

TEST_F(RedisWakes, DoNotReachOneWhoHasLeftOrIsGone) {
  two_wait();
  wakes_->leave(owner(1));
  call(1);
  EXPECT_EQ(ann_->rung, 0);
  bob_.reset();
  call(2);  // and nothing breaks
}

TEST_F(RedisWakes, ThatAreDeniedAreSaidOnceToEachWhoAsks) {
  wakes_->wait("lock", owner(1), ann_, false);
  come_up();
  wire().say("-NOPERM this user has no permissions to access one of the channels used as arguments\r\n");
  EXPECT_EQ(ann_->rung, 1) << "so that it asks";
  const auto told = wakes_->take_denial();
  ASSERT_TRUE(told);
  EXPECT_EQ(told->code(), errc::access_denied);
  EXPECT_THAT(told->detail(), HasSubstr("grant it: ACL SETUSER default &" + settings_.prefix + ":wake:*"));
  EXPECT_FALSE(wakes_->take_denial());
}

}  // namespace
}  // namespace cremone::redis
