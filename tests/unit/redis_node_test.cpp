// SPDX-License-Identifier: Apache-2.0
//
// Checks how scripts that are made for one life of a server find out which one it is: asked for once when a script is not
// known, never guessed, and never with an acquire that its owner has given up meanwhile.
#include "backends/redis/node.hpp"

#include "support/manual_env.hpp"
#include "support/scripted_transport.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <optional>
#include <string>

namespace cremone::redis {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::Not;

const std::string first_life(40, 'a');
const std::string second_life(40, 'b');
const std::string no_past(40, '0');

[[nodiscard]] std::string sha_of(const std::string& id, record_script which) {
  return record_book(id + "." + no_past + ".0", 0).at(which).sha;
}

class RedisNode : public ::testing::Test {
 protected:
  RedisNode() {
    settings_.node = "node:1";
    node_ = std::make_shared<node>(env_, net_, settings_);
    node_->start();
    env_->run_all();
    wire().let_open();
    wire().say("+PONG\r\n");
    EXPECT_THAT(wire().take_sent(), HasSubstr("INFO"));
    wire().say("-NOPERM\r\n");  // what it says of itself is not told unasked here
  }

  ~RedisNode() override {
    node_->close();
    env_->run_all();
  }

  [[nodiscard]] test::scripted_connection& wire() { return *net_->opened().back(); }

  struct asked {
    std::optional<outcome> answer;
    [[nodiscard]] bool done() const { return answer && std::holds_alternative<reply>(*answer); }
    [[nodiscard]] const failure* failed() const { return answer ? std::get_if<failure>(&*answer) : nullptr; }
  };

  std::shared_ptr<asked> run(record_script which = record_script::look, order_tag tag = {}) {
    auto a = std::make_shared<asked>();
    const std::array<std::string_view, 3> arguments = {"cremone:boot", "settings", "-"};
    node_->run(which, arguments, 1, 1s, tag, [a](outcome o) { a->answer = std::move(o); });
    return a;
  }

  void not_known() { wire().say("-NOSCRIPT No matching script.\r\n"); }
  void tell_life(const std::string& id) {
    const std::string info = "# Server\r\nrun_id:" + id + "\r\nmaster_replid2:" + no_past + "\r\n";
    wire().say("$" + std::to_string(info.size()) + "\r\n" + info + "\r\n");
  }
  void of_another_life() { wire().say("*2\r\n$1\r\nR\r\n$1\r\n1\r\n"); }
  void fine() { wire().say("*1\r\n:1\r\n"); }

  [[nodiscard]] static std::string text_of(const std::string& id) {
    return "local life, db = '" + id + "." + no_past + ".0/0', '0'";
  }

  /// Knows which life it is.
  void learn(const std::string& id) {
    const auto a = run();
    tell_life(id);
    fine();
    ASSERT_TRUE(a->done());
    (void)wire().take_sent();
  }

  std::shared_ptr<test::manual_env> env_ = std::make_shared<test::manual_env>();
  std::shared_ptr<test::scripted_transport> net_ = std::make_shared<test::scripted_transport>();
  node_settings settings_;
  std::shared_ptr<node> node_;
};

TEST_F(RedisNode, AsksWhichLifeItIsBeforeItSendsAScript) {
  const auto a = run();
  const std::string question = wire().take_sent();
  EXPECT_THAT(question, HasSubstr("INFO"));
  EXPECT_THAT(question, Not(HasSubstr("EVAL")));
  tell_life(first_life);
  EXPECT_THAT(wire().take_sent(), HasSubstr(sha_of(first_life, record_script::look)));
  not_known();
  EXPECT_THAT(wire().take_sent(), HasSubstr("INFO")) << "it may have ended meanwhile";
  tell_life(first_life);
  const std::string sent = wire().take_sent();
  EXPECT_THAT(sent, HasSubstr(text_of(first_life)));
  EXPECT_TRUE(sent.ends_with("$1\r\n+\r\n")) << "the script must check which life it is in";
  EXPECT_FALSE(a->answer);
  fine();
  EXPECT_TRUE(a->done());
}

TEST_F(RedisNode, SendsNoTextToAServerThatKnowsIt) {
  learn(first_life);
  const auto a = run();
  const std::string sent = wire().take_sent();
  EXPECT_THAT(sent, HasSubstr(sha_of(first_life, record_script::look)));
  EXPECT_TRUE(sent.ends_with("$1\r\n-\r\n"));
  fine();
  EXPECT_TRUE(a->done());
}

TEST_F(RedisNode, AsksAgainWhenAScriptItSentBeforeIsNotKnown) {
  learn(first_life);
  const auto a = run();
  (void)wire().take_sent();
  not_known();
  EXPECT_THAT(wire().take_sent(), HasSubstr("INFO"));
  tell_life(second_life);
  EXPECT_THAT(wire().take_sent(), HasSubstr(text_of(second_life)));
  fine();
  EXPECT_TRUE(a->done());
}

TEST_F(RedisNode, DoesNotAskAgainWhatAnotherRequestHasLearnt) {
  learn(first_life);
  const auto a = run();
  const auto b = run();
  not_known();             // to a, which asks; its question stands behind b's script
  const auto c = run();    // and behind that, with the same script
  not_known();             // to b, which asks too
  tell_life(second_life);  // to a
  (void)wire().take_sent();
  not_known();  // to c, which was sent before that was known
  const std::string sent = wire().take_sent();
  EXPECT_THAT(sent, HasSubstr(text_of(second_life)));
  EXPECT_THAT(sent, Not(HasSubstr("INFO\r\n")));
}

TEST_F(RedisNode, SendsTheTextOfAReleaseAlongAfterAGrantThatWasNotKnown) {
  learn(first_life);
  const auto granted = run(record_script::grant);
  not_known();
  tell_life(first_life);
  fine();
  ASSERT_TRUE(granted->done());
  (void)wire().take_sent();

  const auto first = run(record_script::release);
  const std::string sent = wire().take_sent();
  EXPECT_THAT(sent, HasSubstr(text_of(first_life))) << "sent twice it would come behind the next grant";
  EXPECT_TRUE(sent.ends_with("$1\r\n+\r\n"));
  const auto second = run(record_script::release);
  EXPECT_THAT(wire().take_sent(), HasSubstr(sha_of(first_life, record_script::release)));
  fine();
  fine();
  EXPECT_TRUE(first->done());
  EXPECT_TRUE(second->done());
}

TEST_F(RedisNode, AsksAgainWhenTheReleaseThatItsTextWentAlongWithIsOfAnotherLife) {
  learn(first_life);
  const auto granted = run(record_script::grant);
  not_known();
  tell_life(first_life);
  fine();
  ASSERT_TRUE(granted->done());
  const auto released = run(record_script::release);
  (void)wire().take_sent();
  of_another_life();
  EXPECT_THAT(wire().take_sent(), HasSubstr("INFO"));
  tell_life(second_life);
  EXPECT_THAT(wire().take_sent(), HasSubstr(text_of(second_life)));
  fine();
  EXPECT_TRUE(released->done());
}

TEST_F(RedisNode, AsksAgainWhenTheScriptSaysThatItIsOfAnotherLife) {
  learn(first_life);
  const auto a = run();
  (void)wire().take_sent();
  of_another_life();
  EXPECT_FALSE(a->answer);
  EXPECT_THAT(wire().take_sent(), HasSubstr("INFO"));
  tell_life(second_life);
  EXPECT_THAT(wire().take_sent(), HasSubstr(text_of(second_life)));
  fine();
  EXPECT_TRUE(a->done());
}

TEST_F(RedisNode, AsksOnceASecondAheadOfAGrantWhetherItIsStillTheSame) {
  learn(first_life);
  const auto at_once = run(record_script::grant);
  EXPECT_THAT(wire().take_sent(), Not(HasSubstr("INFO")));
  fine();
  EXPECT_TRUE(at_once->done());

  env_->advance(1s);
  const auto later = run(record_script::grant);
  const auto right_after = run(record_script::grant);
  const std::string sent = wire().take_sent();
  EXPECT_LT(sent.find("INFO"), sent.find("EVALSHA"));
  EXPECT_EQ(sent.find("INFO"), sent.rfind("INFO"));
  tell_life(second_life);
  for (const auto& a : {later, right_after}) {
    fine();
    ASSERT_NE(a->failed(), nullptr) << "granted in a life that is over";
    EXPECT_FALSE(a->failed()->nothing_done);
  }
}

TEST_F(RedisNode, AsksAheadOfTheNextGrantAgainWhenTheAnswerWasNoneOrTheServerRefused) {
  learn(first_life);
  env_->advance(1s);
  const auto first = run(record_script::grant);
  wire().say("-LOADING\r\n");  // to the question
  fine();
  EXPECT_TRUE(first->done());
  (void)wire().take_sent();

  const auto second = run(record_script::grant);
  EXPECT_THAT(wire().take_sent(), HasSubstr("INFO")) << "nobody has said that it is still the same";
  tell_life(first_life);
  wire().say("-READONLY You can't write against a read only replica.\r\n");
  EXPECT_NE(second->failed(), nullptr);
  (void)wire().take_sent();

  const auto third = run(record_script::grant);
  EXPECT_THAT(wire().take_sent(), HasSubstr("INFO")) << "it follows another, or did";
}

TEST_F(RedisNode, GivesUpOnAServerThatRestartsAgainAndAgain) {
  const auto a = run();
  for (int i = 0; i < 10 && !a->answer; ++i) {
    tell_life(i % 2 == 0 ? first_life : second_life);
    of_another_life();
  }
  ASSERT_NE(a->failed(), nullptr);
  EXPECT_TRUE(a->failed()->nothing_done);
  EXPECT_EQ(a->failed()->why.code(), errc::unreachable);
}

TEST_F(RedisNode, DoesNotTakeJustAnythingForARunId) {
  for (const std::string& bad :
       {std::string("'; redis.call('FLUSHALL') --"), std::string(39, 'a'), std::string()}) {
    const auto a = run();
    (void)wire().take_sent();
    tell_life(bad);
    EXPECT_EQ(wire().take_sent(), "");
    ASSERT_NE(a->failed(), nullptr) << bad;
    EXPECT_TRUE(a->failed()->nothing_done);
  }
}

TEST_F(RedisNode, DoesNotSendAnAcquireWhoseOwnerHasBeenReleasedMeanwhile) {
  const auto acquire = run(record_script::grant, {.owner = 7});
  const auto release = run(record_script::release, {.owner = 7, .ends = true, .reserved = true});
  tell_life(first_life);  // to the acquire's question, with that of the release right behind it
  env_->run_all();
  ASSERT_NE(acquire->failed(), nullptr);
  EXPECT_TRUE(acquire->failed()->nothing_done);
  (void)wire().take_sent();
  tell_life(first_life);
  EXPECT_THAT(wire().take_sent(), HasSubstr(sha_of(first_life, record_script::release)));
  fine();
  EXPECT_TRUE(release->done());
}

TEST_F(RedisNode, HasDoneNothingWhenTheConnectionIsLostWhileItAsks) {
  const auto a = run(record_script::grant, {.owner = 7});
  wire().fail({errc::unreachable, "cut"});
  env_->run_all();
  ASSERT_NE(a->failed(), nullptr);
  EXPECT_TRUE(a->failed()->nothing_done) << "the question was under way, not the acquire";
  EXPECT_EQ(a->failed()->why.code(), errc::unreachable) << "who waits tries again";
}

}  // namespace
}  // namespace cremone::redis
