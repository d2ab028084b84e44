// SPDX-License-Identifier: Apache-2.0
//
// Checks what becomes of requests to a server: order, batching, a connection that is not there yet, is lost, is silent
// or talks nonsense. On virtual time, with the test as the server; every request has exactly one answer.
#include "backends/redis/pipeline.hpp"

#include "support/manual_env.hpp"
#include "support/scripted_transport.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace cremone::redis {
namespace {

using namespace std::chrono_literals;
using fate = response::fate;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class RedisPipeline : public ::testing::Test {
 protected:
  RedisPipeline() { start({}); }

  void start(const node_settings& with) {
    settings_ = with;
    settings_.node = "node:1";
    line_ = std::make_shared<pipeline>(env_, net_, settings_);
    line_->start();
    env_->run_all();
  }

  [[nodiscard]] test::scripted_connection& wire() { return *net_->opened().back(); }

  /// The server lets us in.
  void come_up() {
    wire().let_open();
    wire().say("+PONG\r\n");
    (void)wire().take_sent();
  }

  void send(const std::string& word, std::chrono::milliseconds limit = 1s, order_tag tag = {}) {
    std::string bytes;
    append_command(bytes, {word});
    line_->send(bytes, limit, tag, [this, word](response r) {
      switch (r.what) {
        case fate::answered: answers_.push_back(word + "=" + r.got.text); break;
        case fate::not_sent: answers_.push_back(word + " not sent"); break;
        case fate::no_answer: answers_.push_back(word + " no answer"); break;
      }
      last_ = std::move(r);
    });
  }

  /// Many are without an answer, and answers come fast.
  void be_busy() {
    come_up();
    for (std::size_t i = 0; i <= pace::busy_from; ++i) {
      send("A", 1h);
    }
    wire().say("+1\r\n");
    (void)wire().take_sent();
    (void)take_answers();
  }

  [[nodiscard]] std::vector<std::string> take_answers() {
    env_->run_all();
    return std::exchange(answers_, {});
  }

  [[nodiscard]] static std::string ping(const std::string& word) {
    std::string bytes;
    append_command(bytes, {word});
    return bytes;
  }

  const std::shared_ptr<test::manual_env> env_ = std::make_shared<test::manual_env>();
  const std::shared_ptr<test::scripted_transport> net_ = std::make_shared<test::scripted_transport>();
  node_settings settings_;
  std::shared_ptr<pipeline> line_;
  std::vector<std::string> answers_;
  response last_;
};

TEST_F(RedisPipeline, AnswersInTheOrderOfTheRequests) {
  come_up();
  send("A");
  send("B");
  EXPECT_EQ(wire().take_sent(), ping("A") + ping("B"));
  wire().say("+a\r\n+b");
  wire().say("\r\n");
  EXPECT_THAT(take_answers(), ElementsAre("A=a", "B=b"));
}

TEST_F(RedisPipeline, HoldsRequestsUntilItIsLetInAndThenSendsAllAtOnce) {
  send("A");
  send("B");
  wire().let_open();
  EXPECT_EQ(wire().take_sent(), ping("PING"));
  const int writes = wire().writes();
  wire().say("+PONG\r\n");
  EXPECT_EQ(wire().take_sent(), ping("A") + ping("B"));
  EXPECT_EQ(wire().writes(), writes + 1);
}

TEST_F(RedisPipeline, GreetsWithUserPasswordAndDatabase) {
  line_->close();
  node_settings s;
  s.user = "ann";
  s.password = "secret";
  s.db = 7;
  start(s);
  wire().let_open();
  std::string expected;
  append_command(expected, {"AUTH", "ann", "secret"});
  append_command(expected, {"SELECT", "7"});
  append_command(expected, {"PING"});
  EXPECT_EQ(wire().take_sent(), expected);
  send("A");
  wire().say("+OK\r\n+OK\r\n");
  EXPECT_EQ(wire().take_sent(), "") << "the last answer is not in";
  wire().say("+PONG\r\n");
  EXPECT_EQ(wire().take_sent(), ping("A"));
}

TEST_F(RedisPipeline, RefusesWhatWaitedWhenItIsNotLetIn) {
  send("A");
  wire().let_open();
  wire().say("-WRONGPASS invalid username-password pair or user is disabled.\r\n");
  EXPECT_THAT(take_answers(), ElementsAre("A not sent"));
  EXPECT_EQ(last_.why.code(), errc::access_denied);
  send("B");
  EXPECT_THAT(take_answers(), ElementsAre("B not sent")) << "at once, while it waits to try again";
  EXPECT_EQ(last_.why.code(), errc::access_denied);
}

TEST_F(RedisPipeline, NeverRepeatsAPasswordThatTheServerRepeats) {
  for (const char* answer :
       {"-ERR unknown command 'AUTH', with args beginning with: 'secret'\r\n", "AUTH secret\r\n"}) {
    line_->close();
    node_settings s;
    s.password = "secret";
    start(s);
    send("A");
    wire().let_open();
    wire().say(answer);
    EXPECT_THAT(take_answers(), ElementsAre("A not sent"));
    EXPECT_THAT(last_.why.message(), ::testing::Not(HasSubstr("secret")));
    EXPECT_THAT(last_.why.message(), HasSubstr("node:1"));
  }
}

TEST_F(RedisPipeline, TellsThatTheOtherSideIsNoRedis) {
  send("A");
  wire().let_open();
  wire().say("HTTP/1.1 400 Bad Request\r\n\r\n");
  EXPECT_THAT(take_answers(), ElementsAre("A not sent"));
  EXPECT_EQ(last_.why.code(), errc::protocol_error);
  EXPECT_THAT(last_.why.detail(), HasSubstr("node:1"));
  EXPECT_THAT(last_.why.detail(), HasSubstr("HTTP/1.1"));
}

TEST_F(RedisPipeline, DoesNotKnowWhatBecameOfWhatWasSentWhenTheConnectionIsLost) {
  come_up();
  send("A");
  wire().say("$5\r\nhal");  // cut in the middle of a reply
  wire().fail({errc::unreachable, "node:1 closed the connection"});
  send("B");
  EXPECT_THAT(take_answers(), ElementsAre("A no answer", "B not sent"));
}

TEST_F(RedisPipeline, NeverSendsARequestTwice) {
  come_up();
  send("A");
  wire().fail({errc::unreachable, "cut"});
  env_->advance(1s);
  ASSERT_EQ(net_->opened().size(), 2U);
  wire().let_open();
  wire().say("+PONG\r\n");
  EXPECT_EQ(wire().take_sent(), ping("PING"));
  EXPECT_THAT(take_answers(), ElementsAre("A no answer"));
}

TEST_F(RedisPipeline, ConnectsAnewWithPausesThatGrowToASecond) {
  for (int attempt = 1; attempt < 30; ++attempt) {
    ASSERT_EQ(net_->opened().size(), static_cast<std::size_t>(attempt));
    wire().fail({errc::unreachable, "refused"});
    EXPECT_EQ(net_->opened().size(), static_cast<std::size_t>(attempt)) << "not at once";
    env_->advance(attempt == 1 ? 10ms : 1s);
  }
}

TEST_F(RedisPipeline, RenewalShortensThePauseBeforeTheNextAttempt) {
  for (int attempt = 0; attempt < 20; ++attempt) {
    wire().fail({errc::unreachable, "refused"});
    env_->advance(1s);
  }
  wire().fail({errc::unreachable, "refused"});
  const std::size_t attempts = net_->opened().size();
  send("A");
  env_->advance(session::hurried_pause);
  EXPECT_EQ(net_->opened().size(), attempts) << "an ordinary request waits for the usual pause";
  send("R", 1s, {.renews = true});
  EXPECT_THAT(take_answers(), ElementsAre("A not sent", "R not sent"));
  env_->advance(1ms);
  ASSERT_EQ(net_->opened().size(), attempts + 1);

  wire().fail({errc::unreachable, "refused"});
  send("R", 1s, {.renews = true});
  env_->advance(session::hurried_pause - 2ms);
  EXPECT_EQ(net_->opened().size(), attempts + 1) << "renewals do not make it a busy loop";
  env_->advance(2ms);
  EXPECT_EQ(net_->opened().size(), attempts + 2);
}

TEST_F(RedisPipeline, GivesUpAHandshakeThatNeverEnds) {
  wire().let_open();
  env_->advance(session::connect_limit);
  EXPECT_TRUE(net_->opened().front()->closed());
  env_->advance(1s);
  EXPECT_EQ(net_->opened().size(), 2U);
}

TEST_F(RedisPipeline, AnswersInTimeWhenTheServerDoesNot) {
  come_up();
  send("A", 100ms);
  send("B", 300ms);
  env_->advance(100ms);
  EXPECT_THAT(take_answers(), ElementsAre("A no answer"));
  wire().say("+late\r\n+b\r\n");  // the late one goes nowhere, and is not taken for B's
  EXPECT_THAT(take_answers(), ElementsAre("B=b"));
}

TEST_F(RedisPipeline, AnswersInTimeWhileItConnects) {
  send("A", 100ms);
  env_->advance(100ms);
  EXPECT_THAT(take_answers(), ElementsAre("A not sent"));
  come_up();
  EXPECT_EQ(wire().take_sent(), "") << "it was told that it was not sent";
}

TEST_F(RedisPipeline, KeepsASilentConnectionForAWhileAndThenOpensAnother) {
  come_up();
  send("A", 100ms);
  env_->advance(pipeline::stall_limit - 1ms);
  EXPECT_FALSE(wire().closed()) << "what was sent is still carried out in order when the server wakes up";
  EXPECT_THAT(take_answers(), ElementsAre("A no answer"));
  env_->advance(10ms);
  EXPECT_TRUE(net_->opened().front()->closed());
  env_->advance(1s);
  EXPECT_EQ(net_->opened().size(), 2U);
}

TEST_F(RedisPipeline, CountsSilenceFromTheFirstRequestAfterAQuietTime) {
  come_up();
  env_->advance(1h);
  send("A", 5s);
  env_->advance(pipeline::stall_limit - 1ms);
  EXPECT_FALSE(wire().closed());
}

TEST_F(RedisPipeline, CutsAConnectionOnWhichAnAnswerComesThatNobodyAskedFor) {
  come_up();
  wire().say("+what\r\n");
  EXPECT_TRUE(net_->opened().front()->closed());
}

TEST_F(RedisPipeline, LetsARequestRideAlongWithTheNextReplyOfABusyLine) {
  be_busy();
  send("B", 1h);
  EXPECT_EQ(wire().take_sent(), "") << "the next reply is near";
  wire().say("+1\r\n");
  EXPECT_EQ(wire().take_sent(), ping("B"));
}

TEST_F(RedisPipeline, SendsWhatRidesAlongWhenNoReplyComes) {
  be_busy();
  send("B", 1h);
  EXPECT_EQ(wire().take_sent(), "");
  env_->advance(5ms);
  env_->run_all();
  EXPECT_EQ(wire().take_sent(), ping("B"));
}

TEST_F(RedisPipeline, SendsAllWhenEnoughRideTogether) {
  be_busy();
  std::string all;
  for (std::size_t i = 0; i < pace::most_together; ++i) {
    EXPECT_EQ(wire().take_sent(), "");
    send("B", 1h);
    all += ping("B");
  }
  EXPECT_EQ(wire().take_sent(), all);
}

TEST_F(RedisPipeline, RefusesMoreThanItsCap) {
  come_up();
  for (std::size_t i = 0; i <= pipeline::most_outstanding; ++i) {
    send("A", 1h);
  }
  EXPECT_THAT(take_answers(), ElementsAre("A not sent"));
  EXPECT_THAT(last_.why.detail(), HasSubstr("16384"));
}

TEST_F(RedisPipeline, KeepsRoomForWhatEndsAHold) {
  come_up();
  for (std::size_t i = 0; i < pipeline::most_outstanding; ++i) {
    send("A", 1h);
  }
  (void)wire().take_sent();
  send("R", 1h, {.owner = 1, .ends = true, .reserved = true});
  EXPECT_EQ(wire().take_sent(), ping("R")) << "it undoes one of those";
  EXPECT_TRUE(take_answers().empty());
}

TEST_F(RedisPipeline, DoesNotAskAgainForALockThatWasReleasedMeanwhile) {
  come_up();
  const order_tag acquire{42, false};
  const order_tag release{42, true};
  std::vector<std::string> fates;
  const auto again = [&](order_tag tag) {
    line_->send_again(ping("EVAL"), env_->now() + 1s, tag, [&](const response& r) {
      fates.emplace_back(r.what == fate::not_sent ? "not sent" : "sent");
    });
  };
  send("R", 1s, release);
  (void)wire().take_sent();
  again(acquire);
  EXPECT_EQ(wire().take_sent(), "") << "it would come behind its own release";
  env_->run_all();
  EXPECT_THAT(fates, ElementsAre("not sent"));
  again({43, false});
  EXPECT_EQ(wire().take_sent(), ping("EVAL"));
  wire().say("+r\r\n+e\r\n");
}

TEST_F(RedisPipeline, AnswersEverythingWhenClosed) {
  come_up();
  send("A");
  wire().fail({errc::unreachable, "cut"});
  env_->advance(1s);
  send("B");  // waits for the connection
  line_->close();
  EXPECT_THAT(take_answers(), ElementsAre("A no answer", "B not sent"));
  send("C");
  EXPECT_THAT(answers_, ElementsAre("C not sent")) << "at once: there may be no executor any more";
  EXPECT_TRUE(wire().closed());
}

TEST_F(RedisPipeline, AnswersWhatItRefusedAlsoWhenItIsClosedBeforeThat) {
  wire().fail({errc::unreachable, "refused"});
  send("A");
  line_->close();
  EXPECT_THAT(answers_, ElementsAre("A not sent"));
  EXPECT_THAT(take_answers(), ElementsAre("A not sent")) << "and only once";
}

}  // namespace
}  // namespace cremone::redis
