// SPDX-License-Identifier: Apache-2.0
//
// Checks how the master is followed: who is taken for one, when to look again, and that commands and notices go to the same.
#include "backends/redis/notices.hpp"
#include "unit/redis_sentinel_fixture.hpp"

#include <gmock/gmock.h>

#include <vector>

namespace cremone::redis {
namespace {

using namespace std::chrono_literals;
using namespace testing;
using fate = response::fate;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

class RedisFailover : public Sentinels {
 protected:
  RedisFailover() { start(settings_of(3)); }
  ~RedisFailover() override {
    line_->close();
    env_->run_all();
  }
  RedisFailover(const RedisFailover&) = delete;
  RedisFailover& operator=(const RedisFailover&) = delete;

  void start(const node_settings& s) {
    settings_ = s;
    line_ = std::make_shared<pipeline>(env_, net_, settings_);
    line_->start();
    env_->run_all();
  }

  /// A sentinel says where, and a master is there.
  void come_up(const std::string& host) {
    answer(address(host));
    ASSERT_EQ(where(), host + ":6379");
    answer(is_master);
    (void)wire().take_sent();
  }

  /// After the pause between two attempts.
  void wait_for_next_attempt() {
    const std::size_t before = net_->opened().size();
    for (int i = 0; i < 1000 && net_->opened().size() == before; ++i) {
      env_->advance(1ms);
    }
  }

  void send(std::chrono::milliseconds limit = 1s) {
    line_->send(command({"A"}), limit, {}, [this](response r) {
      ++answers_;
      last_ = std::move(r);
    });
  }

  node_settings settings_;
  std::shared_ptr<pipeline> line_;
  int answers_ = 0;
  response last_;
};

TEST_F(RedisFailover, BeginsWithTheSentinelsAndGreetsWhoIsFound) {
  send();
  EXPECT_EQ(line_->server(), "mymaster via sentinels");
  answer(address("a", 7000));
  EXPECT_EQ(where(), "a:7000");
  wire().let_open();
  EXPECT_EQ(wire().take_sent(), greeting);
  wire().say("+PONG\r\n");
  EXPECT_EQ(wire().take_sent(), "") << "it is not known yet whether that is a master";
  wire().say("*3\r\n$6\r\nmaster\r\n:0\r\n*0\r\n");
  EXPECT_EQ(wire().take_sent(), command({"A"}));
  EXPECT_EQ(line_->server(), "a:7000 of 'mymaster'");
}

TEST_F(RedisFailover, SpeaksTlsToTheServerToo) {
  line_->close();
  node_settings s = settings_of(1);
  s.where.tls = tls_settings{.ca_file = "/ca", .cert_file = {}, .key_file = {}, .server_name = {}};
  start(s);
  answer(address("a"));
  ASSERT_TRUE(wire().where().tls);
  EXPECT_EQ(wire().where().tls->ca_file, "/ca");
}

TEST_F(RedisFailover, TakesNoReplicaForTheMasterAndAsksAnotherSentinel) {
  send();
  answer(address("a"));
  answer(is_replica);
  env_->run_all();
  ASSERT_EQ(answers_, 1);
  EXPECT_EQ(last_.what, fate::not_sent);
  EXPECT_EQ(last_.why.code(), errc::unreachable) << "so that whoever may wait asks again";
  EXPECT_THAT(last_.why.detail(), AllOf(HasSubstr("a:6379"), HasSubstr("slave"), HasSubstr("s1:26379")));
  wait_for_next_attempt();
  EXPECT_EQ(path(), "s1 a s2");
  come_up("b");
  EXPECT_EQ(line_->server(), "b:6379 of 'mymaster'");
}

TEST_F(RedisFailover, AsksAnotherSentinelWhenNobodyIsWhereOneSays) {
  send();
  answer(address("a"));
  wire().fail({errc::unreachable, "cannot connect to a:6379: Connection refused"});
  env_->run_all();
  EXPECT_THAT(last_.why.detail(),
              AllOf(HasSubstr("cannot connect to a:6379"), HasSubstr("s1:26379 calls it")));
  wait_for_next_attempt();
  EXPECT_EQ(path(), "s1 a s2");
}

TEST_F(RedisFailover, TellsWhatTheSentinelsSaidWhenThereIsNoMaster) {
  send();
  answer(unknown_name);
  answer(unknown_name);
  answer(unknown_name);
  env_->run_all();
  EXPECT_EQ(last_.what, fate::not_sent);
  EXPECT_EQ(last_.why.code(), errc::misconfigured);
  wait_for_next_attempt();
  EXPECT_EQ(path(), "s1 s2 s3 s1") << "somebody may mend it";
}

TEST_F(RedisFailover, TellsRubbishInTheGreetingByTheServersName) {
  for (const char* said : {"+PONG\r\n+OK\r\n", "+PONG\r\n*0\r\n", "+PONG\r\n*1\r\n:1\r\n", ":1\r\n"}) {
    send();
    answer(address("a"));
    answer(said);
    env_->run_all();
    EXPECT_EQ(last_.why.code(), errc::protocol_error) << said;
    EXPECT_THAT(last_.why.detail(), HasSubstr("a:6379"));
    wait_for_next_attempt();
  }
}

TEST_F(RedisFailover, SaysNoPasswordOfTheServersThatTheServerRepeats) {
  line_->close();
  node_settings s = settings_of(1);
  s.password = "secret";
  s.db = 2;
  start(s);
  send();
  answer(address("a"));
  answer("-ERR unknown command 'AUTH', with args beginning with: 'secret'\r\n");
  env_->run_all();
  EXPECT_THAT(last_.why.detail(), AllOf(HasSubstr("a:6379"), Not(HasSubstr("secret"))));
}

TEST_F(RedisFailover, LooksAgainWhenTheConnectionIsLost) {
  come_up("a");
  wire().fail({errc::unreachable, "a:6379 closed the connection"});
  wait_for_next_attempt();
  EXPECT_EQ(path(), "s1 a s1");
  come_up("b");
  send();
  EXPECT_EQ(wire().take_sent(), command({"A"}));
}

TEST_F(RedisFailover, LooksAgainWhenTheServerIsAReplicaNow) {
  for (const char* said :
       {"-READONLY You can't write against a read only replica.\r\n",
        "-MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.\r\n",
        "-ERR Error running script (call to f_0): @user_script:1: @user_script: 1: -READONLY You can't write "
        "against a read only replica. \r\n"}) {
    come_up("a");
    send();
    wire().say(said);
    EXPECT_EQ(last_.what, fate::not_sent) << "a replica takes no writes: nothing was done";
    EXPECT_EQ(last_.why.code(), errc::unreachable);
    EXPECT_THAT(last_.why.detail(), HasSubstr("a:6379"));
    EXPECT_TRUE(wire().closed());
    wait_for_next_attempt();
    EXPECT_EQ(wire().where().host, "s1");
  }
}

TEST_F(RedisFailover, LeavesAServerWithoutSentinelsToItsUser) {
  line_->close();
  node_settings s;
  s.node = "node:1";
  start(s);
  wire().let_open();
  EXPECT_EQ(wire().take_sent(), command({"PING"}));
  wire().say("+PONG\r\n");
  send();
  wire().say("-READONLY You can't write against a read only replica.\r\n");
  EXPECT_EQ(last_.what, fate::answered);
  EXPECT_FALSE(wire().closed());
}

TEST_F(RedisFailover, AsksTheSentinelsAboutAMasterThatHasLostItsReplicas) {
  come_up("a");
  const auto at_a = net_->opened().back();
  send();
  at_a->say("-NOREPLICAS Not enough good replicas to write.\r\n");
  EXPECT_EQ(last_.what, fate::not_sent);
  EXPECT_EQ(last_.why.code(), errc::unreachable);
  EXPECT_THAT(last_.why.detail(), HasSubstr("min-replicas-to-write"));
  EXPECT_FALSE(at_a->closed()) << "it may be that a replica is just away";
  EXPECT_EQ(path(), "s1 a s1");
  answer(address("a"));
  EXPECT_FALSE(at_a->closed());

  send();
  at_a->say("-NOREPLICAS Not enough good replicas to write.\r\n");
  EXPECT_EQ(path(), "s1 a s1") << "not so soon again";
  env_->advance(session::doubt_pause);
  send();
  at_a->say("-NOREPLICAS Not enough good replicas to write.\r\n");
  answer(address("b"));
  EXPECT_TRUE(at_a->closed());
  wait_for_next_attempt();
  come_up("b");
}

TEST_F(RedisFailover, AsksTheSentinelsAboutAServerThatDoesNotAnswer) {
  come_up("a");
  const auto at_a = net_->opened().back();
  send(100ms);
  env_->advance(100ms);
  EXPECT_EQ(last_.what, fate::no_answer);
  EXPECT_EQ(path(), "s1 a s1");
  answer(address("b"));
  EXPECT_TRUE(at_a->closed()) << "long before it would be given up for its silence";
  send();
  env_->run_all();
  EXPECT_THAT(last_.why.detail(), AllOf(HasSubstr("a:6379"), HasSubstr("b:6379"), HasSubstr("s1:26379")));
}

TEST_F(RedisFailover, AsksNowAndThenWhetherTheMasterIsStillTheMaster) {
  come_up("a");
  const auto at_a = net_->opened().back();
  env_->advance(session::check_pause - 1ms);
  EXPECT_EQ(path(), "s1 a");
  env_->advance(1ms);
  EXPECT_EQ(path(), "s1 a s1");
  answer(address("a"));
  env_->advance(session::check_pause);
  EXPECT_EQ(path(), "s1 a s1 s1");
  EXPECT_FALSE(at_a->closed());
  answer(address("b"));
  EXPECT_TRUE(at_a->closed()) << "it still takes writes, and nobody else will know of them";
  wait_for_next_attempt();
  come_up("b");
}

TEST_F(RedisFailover, KeepsTheConnectionWhenTheSentinelsAreGone) {
  come_up("a");
  const auto at_a = net_->opened().back();
  send(100ms);
  env_->advance(100ms);
  for (int i = 0; i < 3; ++i) {
    wire().fail(refused_connection);
  }
  EXPECT_FALSE(at_a->closed());
  at_a->say("+late\r\n");
  send();
  at_a->say("+1\r\n");
  EXPECT_EQ(last_.what, fate::answered);
}

TEST_F(RedisFailover, MayLoseTheConnectionWhileTheSentinelsAreAskedAboutIt) {
  come_up("a");
  const auto at_a = net_->opened().back();
  send(100ms);
  env_->advance(100ms);
  EXPECT_EQ(path(), "s1 a s1");
  at_a->fail({errc::unreachable, "cut"});
  env_->advance(100ms);
  EXPECT_EQ(path(), "s1 a s1") << "the answer is on its way already";
  come_up("b");
  EXPECT_EQ(path(), "s1 a s1 b");
  EXPECT_FALSE(wire().closed());
}

TEST_F(RedisFailover, HangsNowhereWhenNobodyAnswers) {
  send(1s);
  env_->advance(1s);
  ASSERT_EQ(answers_, 1);
  EXPECT_EQ(last_.what, fate::not_sent);
  EXPECT_THAT(last_.why.detail(), HasSubstr("mymaster via sentinels"));
  env_->advance(1min);
  EXPECT_GT(net_->opened().size(), 50U) << "it goes on asking";
  send(1s);
  env_->advance(1s);
  EXPECT_EQ(answers_, 2);
}

TEST_F(RedisFailover, GivesUpAServerThatDoesNotLetUsInAfterASearchThatTookLong) {
  send(10s);
  env_->advance(finder::sentinel_limit);
  env_->advance(finder::sentinel_limit);
  answer(address("a"));
  wire().let_open();
  env_->advance(session::connect_limit - 2 * finder::sentinel_limit);
  EXPECT_TRUE(wire().closed());
  EXPECT_THAT(last_.why.detail(), HasSubstr("a:6379 of 'mymaster' did not let us in"));
}

TEST_F(RedisFailover, EndsWithTheClient) {
  come_up("a");
  wire().fail({errc::unreachable, "cut"});
  wait_for_next_attempt();
  const std::size_t before = net_->opened().size();
  line_->close();
  env_->run_all();
  EXPECT_TRUE(wire().closed());
  env_->advance(1min);
  EXPECT_EQ(net_->opened().size(), before);
}

// ---- both connections ----------------------------------------------------------------------------------------------

class bell final : public hint_sink {
 public:
  void hint() noexcept override {}
};

class RedisFailoverOfNotices : public RedisFailover {
 protected:
  RedisFailoverOfNotices() : notices_(std::make_shared<notices>(env_, net_, settings_, line_->place())) {}
  ~RedisFailoverOfNotices() override { notices_->close(); }
  RedisFailoverOfNotices(const RedisFailoverOfNotices&) = delete;
  RedisFailoverOfNotices& operator=(const RedisFailoverOfNotices&) = delete;

  void wait() {
    (void)notices_->wait("lock", owner_id({1}), bell_, 0);
    env_->run_all();
  }

  const std::shared_ptr<notices> notices_;
  const std::shared_ptr<bell> bell_ = std::make_shared<bell>();
};

TEST_F(RedisFailoverOfNotices, GoWhereTheCommandsAre) {
  wait();
  EXPECT_EQ(path(), "s1") << "it is not known yet where";
  answer(address("a"));
  answer(is_master);
  EXPECT_EQ(path(), "s1 a a");
  wire().let_open();
  EXPECT_EQ(wire().take_sent(), greeting);
  wire().say(is_master);
  EXPECT_THAT(wire().take_sent(), HasSubstr("SUBSCRIBE"));
}

TEST_F(RedisFailoverOfNotices, MoveWithTheCommands) {
  come_up("a");
  const auto commands = net_->opened().back();
  wait();
  answer(is_master);
  const auto subscription = net_->opened().back();
  commands->fail({errc::unreachable, "cut"});
  EXPECT_FALSE(subscription->closed()) << "perhaps only the one connection was lost";
  wait_for_next_attempt();
  answer(address("b"));
  EXPECT_FALSE(subscription->closed()) << "who says that b is a master?";
  answer(is_master);
  EXPECT_TRUE(subscription->closed());
  EXPECT_EQ(path(), "s1 a a s1 b b");
  answer(is_master);
  EXPECT_THAT(wire().take_sent(), HasSubstr("SUBSCRIBE"));
}

TEST_F(RedisFailoverOfNotices, StayWhenTheCommandsComeBackToTheSameServer) {
  come_up("a");
  const auto commands = net_->opened().back();
  wait();
  answer(is_master);
  const auto subscription = net_->opened().back();
  commands->fail({errc::unreachable, "cut"});
  wait_for_next_attempt();
  come_up("a");
  EXPECT_FALSE(subscription->closed());
  EXPECT_EQ(path(), "s1 a a s1 a");
}

TEST_F(RedisFailoverOfNotices, AskNoSentinelThemselves) {
  come_up("a");
  const auto commands = net_->opened().back();
  wait();
  answer(is_master);
  wire().fail({errc::unreachable, "cut"});
  wait_for_next_attempt();
  EXPECT_EQ(path(), "s1 a a a");
  commands->fail({errc::unreachable, "cut"});
  wire().fail({errc::unreachable, "cut"});
  wait_for_next_attempt();
  EXPECT_EQ(path(), "s1 a a a s1") << "that is the commands'";
  env_->advance(5s);
  EXPECT_THAT(path(), AllOf(HasSubstr("s1 s2 s3"), Not(HasSubstr("s1 a a a s1 a")), Not(HasSubstr("3 a")),
                            Not(HasSubstr("2 a"))))
      << "it is not known any more where";
}

}  // namespace
}  // namespace cremone::redis
