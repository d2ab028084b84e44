// SPDX-License-Identifier: Apache-2.0
//
// Checks how the master is found: whom of the sentinels to ask, and what to make of their answers.
#include "unit/redis_sentinel_fixture.hpp"

#include <gmock/gmock.h>

namespace cremone::redis {
namespace {

using namespace std::chrono_literals;
using namespace testing;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class SentinelFinder : public Sentinels {
 protected:
  void ask(const node_settings& s) { finder_ = std::make_shared<finder>(env_, net_, s); }

  void find() {
    finder_->find([this](const result<sighted_master>& found) {
      ++answers_;
      found_ = found ? found->at.shown() + " says " + found->said_by : "";
      why_ = found ? error() : found.error();
    });
  }

  std::shared_ptr<finder> finder_ = std::make_shared<finder>(env_, net_, settings_of(3));
  int answers_ = 0;
  std::string found_;
  error why_;
};

TEST_F(SentinelFinder, AsksOneQuestionAndHangsUp) {
  find();
  EXPECT_EQ(where(), "s1:26379");
  wire().let_open();
  EXPECT_EQ(wire().take_sent(), question);
  wire().say(address("10.0.0.7", 7000));
  EXPECT_EQ(found_, "10.0.0.7:7000 says s1:26379");
  EXPECT_TRUE(wire().closed());
  EXPECT_EQ(env_->armed_timers(), 0U);
}

TEST_F(SentinelFinder, GoesOnToTheNextAndBeginsWithWhoAnsweredLast) {
  find();
  wire().fail(refused_connection);
  answer(address("a"));
  EXPECT_EQ(found_, "a:6379 says s2:26379");
  find();
  answer(address("b"));
  EXPECT_EQ(found_, "b:6379 says s2:26379");
  EXPECT_EQ(path(), "s1 s2 s2");
}

TEST_F(SentinelFinder, WaitsForASilentOneForHalfASecond) {
  find();
  wire().let_open();
  env_->advance(finder::sentinel_limit - 1ms);
  EXPECT_EQ(path(), "s1");
  env_->advance(1ms);
  EXPECT_EQ(path(), "s1 s2");
  EXPECT_TRUE(net_->opened().front()->closed());
  net_->opened().front()->say(address("late"));
  EXPECT_EQ(answers_, 0);
  answer(address("a"));
  EXPECT_EQ(found_, "a:6379 says s2:26379");
}

TEST_F(SentinelFinder, NamesEverySentinelAndWhatWasWrongWithIt) {
  find();
  wire().fail(refused_connection);
  answer("-NOAUTH Authentication required.\r\n");
  wire().let_open();
  env_->advance(500ms);
  ASSERT_EQ(answers_, 1);
  EXPECT_EQ(why_.code(), errc::unreachable);
  EXPECT_THAT(why_.detail(), AllOf(HasSubstr("'mymaster'"), HasSubstr("s1:26379: connection refused"),
                                   HasSubstr("s2:26379 wants a password: ?sentinel_password_file="),
                                   HasSubstr("s3:26379 did not answer in time")));
}

TEST_F(SentinelFinder, EndsInTimeAndGoesOnWhereItEnded) {
  ask(settings_of(5));
  find();
  env_->advance(finder::search_limit);
  ASSERT_EQ(answers_, 1);
  EXPECT_EQ(path(), "s1 s2 s3");
  EXPECT_THAT(why_.detail(), HasSubstr("no time to ask s4:26379, s5:26379"));
  find();
  EXPECT_EQ(path(), "s1 s2 s3 s4");
}

TEST_F(SentinelFinder, IsMisconfiguredWhenMostDoNotKnowTheName) {
  find();
  answer(unknown_name);
  answer(unknown_name);
  wire().fail(refused_connection);
  EXPECT_EQ(why_.code(), errc::misconfigured);
  EXPECT_THAT(why_.detail(), HasSubstr("sentinel monitor"));
}

TEST_F(SentinelFinder, DoesNotTakeOneSentinelsWordForItThatThereIsNoSuchMaster) {
  find();
  answer(unknown_name);
  wire().fail(refused_connection);
  wire().fail(refused_connection);
  EXPECT_EQ(why_.code(), errc::unreachable) << "those that know it may be back soon";
  find();
  answer(unknown_name);
  answer(address("a"));
  EXPECT_EQ(found_, "a:6379 says s2:26379");
}

TEST_F(SentinelFinder, TellsThatWhoIsAskedIsNoSentinel) {
  ask(settings_of(1));
  find();
  answer("-ERR unknown command 'SENTINEL', with args beginning with: 'get-master-addr-by-name'\r\n");
  EXPECT_EQ(why_.code(), errc::misconfigured);
  EXPECT_THAT(why_.detail(), AllOf(HasSubstr("is no sentinel"), Not(HasSubstr("sentinel monitor"))));
  find();
  answer("HTTP/1.1 400 Bad Request\r\n");
  EXPECT_EQ(why_.code(), errc::protocol_error);
  EXPECT_THAT(why_.detail(), HasSubstr("s1:26379"));
}

TEST_F(SentinelFinder, TakesNothingForAnAddressThatIsNone) {
  ask(settings_of(1));
  for (const std::string& nonsense :
       {address(""), address("a", 0), address("a", 65536), address("a\x1b[2J"),
        address(std::string(256, 'a')), "*1\r\n" + bulk("a"), std::string("*2\r\n:1\r\n:2\r\n"),
        std::string("+OK\r\n"), bulk("a:1")}) {
    find();
    answer(nonsense);
    EXPECT_EQ(why_.code(), errc::protocol_error) << nonsense;
    EXPECT_THAT(why_.detail(), Not(HasSubstr("\x1b")));
  }
}

TEST_F(SentinelFinder, LogsInWithTheSentinelsPasswordAndNeverRepeatsIt) {
  node_settings s = settings_of(1);
  s.password = "of-the-server";
  s.sentinels->user = "bob";
  s.sentinels->password = "secret";
  ask(s);
  find();
  wire().let_open();
  EXPECT_EQ(wire().take_sent(), command({"AUTH", "bob", "secret"}) + question);
  wire().say("+OK\r\n" + address("a"));
  EXPECT_EQ(found_, "a:6379 says s1:26379");
  for (const char* said : {"-WRONGPASS secret is wrong\r\n", "-ERR AUTH bob secret\r\n", "AUTH secret\r\n",
                           "$6\r\nsecret\r\n"}) {
    find();
    answer(said);
    EXPECT_NE(why_.code(), errc::unreachable) << said;
    EXPECT_THAT(why_.detail(), AllOf(HasSubstr("s1:26379"), Not(HasSubstr("secret")))) << said;
  }
}

TEST_F(SentinelFinder, AsksAnotherFirstWhenOneLedAstray) {
  find();
  answer(address("gone"));
  finder_->led_astray();
  find();
  answer(address("gone"));
  finder_->led_astray();
  find();
  answer(address("a"));
  EXPECT_EQ(path(), "s1 s2 s3");
  find();
  EXPECT_EQ(path(), "s1 s2 s3 s3");
}

TEST_F(SentinelFinder, AnswersAllWhoAskAtOnceWithOneSearch) {
  find();
  find();
  answer(address("a"));
  EXPECT_EQ(answers_, 2);
  EXPECT_EQ(path(), "s1");
}

TEST_F(SentinelFinder, SaysNothingOnceClosed) {
  find();
  finder_->close();
  EXPECT_TRUE(wire().closed());
  env_->advance(1min);
  find();
  EXPECT_EQ(answers_, 0);
  EXPECT_EQ(path(), "s1");
}

}  // namespace
}  // namespace cremone::redis
