// SPDX-License-Identifier: Apache-2.0
//
// Checks how a server is examined: what it denies is left out, how long it takes is measured, and an answer comes in time
// whatever it does. On virtual time, with the test as the server.
#include "backends/redis/examination.hpp"

#include "support/manual_env.hpp"
#include "support/scripted_transport.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace cremone::redis {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

const std::string denied = "-NOPERM this user has no permissions to run this command\r\n";

std::string bulk(const std::string& text) {
  return "$" + std::to_string(text.size()) + "\r\n" + text + "\r\n";
}

class RedisExamination : public ::testing::Test {
 protected:
  RedisExamination() {
    settings_.node = "db:6379";
    settings_.user = "ann";
    settings_.layout = layout::classic;
    node_ = std::make_shared<node>(env_, net_, settings_);
    node_->start();
    env_->run_all();
    wire().let_open();
    wire().say("+OK\r\n+PONG\r\n");  // AUTH and the greeting
    wire().say("-NOPERM\r\n");       // what the node asks about each new server
    (void)wire().take_sent();
    examine(env_, node_, {.rights_command = {"EVAL", "which?", "0"}},
            [this](result<std::vector<finding>> r) { answers_.push_back(std::move(r)); });
    env_->run_all();
  }

  ~RedisExamination() override {
    node_->close();
    env_->run_all();  // what closing leaves to the executor holds on to all of it
  }

  [[nodiscard]] test::scripted_connection& wire() { return *net_->opened().back(); }

  /// A server that is as it should be; `but` may answer a command otherwise.
  [[nodiscard]] std::string answer(const std::string& sent) const {
    for (const auto& [word, reply] : but_) {
      if (sent.find(word) != std::string::npos) {
        return reply;
      }
    }
    const auto micros = std::chrono::duration_cast<std::chrono::microseconds>(
        env_->wall_now().time_since_epoch() + clock_ahead_);
    if (sent.find("INFO") != std::string::npos) {
      return bulk(
          "# Server\r\nredis_version:7.0.15\r\nredis_mode:standalone\r\n# Replication\r\nrole:master\r\n");
    }
    if (sent.find("appendfsync") != std::string::npos) {
      return "*2\r\n" + bulk("appendfsync") + bulk("everysec");
    }
    if (sent.find("CONFIG") != std::string::npos || sent.find("EVAL\r\n") != std::string::npos) {
      return "*0\r\n";
    }
    if (sent.find("EVALSHA") != std::string::npos) {
      return "-NOSCRIPT No matching script. Please use EVAL.\r\n";
    }
    if (sent.find("SCAN") != std::string::npos) {
      return "*2\r\n" + bulk("0") + "*0\r\n";
    }
    if (sent.find("TIME") != std::string::npos) {
      return "*2\r\n" + bulk(std::to_string(micros.count() / 1'000'000)) +
             bulk(std::to_string(micros.count() % 1'000'000));
    }
    return "+PONG\r\n";
  }

  /// Answers all that is asked, each after `round_trip`.
  void serve(std::chrono::microseconds round_trip = 100us) {
    for (int i = 0; i < 100 && answers_.empty(); ++i) {
      const std::string sent = wire().take_sent();
      env_->advance(round_trip / 2);
      const std::string reply = sent.empty() ? "" : answer(sent);
      env_->advance(round_trip - round_trip / 2);
      wire().say(reply);
      env_->run_all();
    }
  }

  [[nodiscard]] finding about(const std::string& subject) const {
    if (answers_.size() != 1 || !answers_.front()) {
      ADD_FAILURE() << "no findings, or several times";
      return {};
    }
    const auto& all = *answers_.front();
    const auto found =
        std::find_if(all.begin(), all.end(), [&](const finding& f) { return f.subject == subject; });
    return found == all.end() ? finding{} : *found;
  }

  const std::shared_ptr<test::manual_env> env_ = std::make_shared<test::manual_env>();
  const std::shared_ptr<test::scripted_transport> net_ = std::make_shared<test::scripted_transport>();
  node_settings settings_;
  std::shared_ptr<node> node_;
  std::vector<std::pair<std::string, std::string>> but_;
  std::chrono::microseconds clock_ahead_{0};
  std::vector<result<std::vector<finding>>> answers_;
};

TEST_F(RedisExamination, BringsOneFindingPerSubject) {
  serve();
  EXPECT_EQ(about("version").value, "7.0.15");
  EXPECT_EQ(about("role").verdict, verdict::good);
  EXPECT_EQ(about("rights").verdict, verdict::good);
  EXPECT_THAT(about("latency").value, AllOf(StartsWith("median 100 µs"), HasSubstr("of 20")));
  EXPECT_EQ(about("clock").verdict, verdict::good);
}

TEST_F(RedisExamination, LeavesUntoldWhatIsDenied) {
  but_ = {{"INFO", denied}, {"CONFIG", denied}, {"TIME", denied}};
  serve();
  EXPECT_EQ(about("version").verdict, verdict::untold);
  EXPECT_THAT(about("version").reason, HasSubstr("ACL SETUSER ann +info"));
  EXPECT_EQ(about("clock").verdict, verdict::untold);
  EXPECT_EQ(about("latency").verdict, verdict::good);
}

TEST_F(RedisExamination, NamesTheRightsThatLack) {
  but_ = {{"EVAL\r\n", "*2\r\n" + bulk("set") + bulk("del")}, {"EVALSHA", denied}, {"SCAN", denied}};
  serve();
  EXPECT_EQ(about("rights").verdict, verdict::bad);
  EXPECT_EQ(about("rights").value, "user ann lacks +set +del +evalsha +scan");
}

TEST_F(RedisExamination, SaysSoWhenScriptsAreDenied) {
  but_ = {{"EVAL\r\n", denied}};
  serve();
  EXPECT_EQ(about("rights").value, "user ann lacks +eval");
}

TEST_F(RedisExamination, SaysSoWhenItIsTheKeysThatAreDenied) {
  but_ = {
      {"EVAL\r\n", "-NOPERM this user has no permissions to access one of the keys used as arguments\r\n"}};
  serve();
  EXPECT_EQ(about("rights").value, "user ann lacks ~*");
}

class RedisOtherRefusal : public RedisExamination, public ::testing::WithParamInterface<std::string> {};

TEST_P(RedisOtherRefusal, IsNoMatterOfRights) {
  const std::string refusal = "-" + GetParam() + "\r\n";
  but_ = {
      {"EVAL\r\n", refusal}, {"EVALSHA", refusal}, {"SCAN", refusal}, {"TIME", refusal}, {"CONFIG", refusal}};
  serve();
  for (const char* subject : {"rights", "clock"}) {
    EXPECT_EQ(about(subject).verdict, verdict::untold) << about(subject).value;
    EXPECT_THAT(about(subject).reason, AllOf(HasSubstr(GetParam()), Not(HasSubstr("ACL"))));
  }
}

INSTANTIATE_TEST_SUITE_P(Redis, RedisOtherRefusal,
                         ::testing::Values("READONLY You can't write against a read only replica.",
                                           "CLUSTERDOWN Hash slot not served",
                                           "MASTERDOWN Link with MASTER is down",
                                           "LOADING Redis is loading the dataset in memory",
                                           "ERR unknown command 'X'"));

TEST_F(RedisExamination, SaysWhatLacksAlsoWhereSomethingElseCouldNotBeTried) {
  but_ = {{"EVAL\r\n", "-CLUSTERDOWN Hash slot not served\r\n"}, {"SCAN", denied}};
  serve();
  EXPECT_EQ(about("rights").value, "user ann lacks +scan");
}

TEST_F(RedisExamination, MeasuresTheClockToWithinTheRoundTrip) {
  clock_ahead_ = 5s;
  serve(10ms);
  EXPECT_EQ(about("clock").verdict, verdict::warning);
  EXPECT_EQ(about("clock").value, "5.0 s ahead of ours (± 5.0 ms)");
}

class RedisNonsense : public RedisExamination, public ::testing::WithParamInterface<std::string> {};

TEST_P(RedisNonsense, IsNoTime) {
  but_ = {{"TIME", GetParam()}};
  serve();
  EXPECT_EQ(about("clock").verdict, verdict::untold);
}

TEST_P(RedisNonsense, IsNoInfoNorConfigurationEither) {
  but_ = {{"INFO", GetParam()}, {"CONFIG", GetParam()}, {"EVAL\r\n", GetParam()}};
  serve();
  EXPECT_EQ(about("version").verdict, verdict::untold);
  EXPECT_EQ(about("latency").verdict, verdict::good);
}

INSTANTIATE_TEST_SUITE_P(Redis, RedisNonsense,
                         ::testing::Values(":5\r\n", "*0\r\n", "$-1\r\n", "*1\r\n" + bulk("1"),
                                           "*2\r\n" + bulk("x") + bulk("0"),
                                           "*2\r\n" + bulk("-1") + bulk("0"),
                                           "*2\r\n" + bulk("9223372036854775807") + bulk("0"),
                                           "*2\r\n" + bulk("1") + bulk("1000000"), "*2\r\n:1\r\n:1\r\n",
                                           "-ERR unknown command\r\n"));

TEST_F(RedisExamination, EndsInTimeOnASlowServer) {
  const instant began = env_->now();
  serve(300ms);
  ASSERT_EQ(answers_.size(), 1U);
  EXPECT_LE(env_->now() - began, examination_limit + 300ms);
  EXPECT_EQ(about("version").verdict, verdict::good);
}

TEST_F(RedisExamination, OfASilentServerFailsInTime) {
  env_->advance(3s);
  ASSERT_EQ(answers_.size(), 1U);
  ASSERT_FALSE(answers_.front());
  EXPECT_EQ(answers_.front().error().code(), errc::unreachable);
  EXPECT_THAT(answers_.front().error().detail(), HasSubstr("db:6379"));
}

TEST_F(RedisExamination, CallsAServerBadThatFallsSilent) {
  but_ = {{"TIME", ""}};  // from there on
  serve();
  env_->advance(examination_limit);
  EXPECT_EQ(about("clock").verdict, verdict::untold);
  EXPECT_EQ(about("latency").verdict, verdict::bad);
  EXPECT_EQ(about("version").verdict, verdict::good);
}

TEST_F(RedisExamination, IsAnsweredWhenTheClientCloses) {
  node_->close();
  env_->run_all();
  ASSERT_EQ(answers_.size(), 1U);
  EXPECT_FALSE(answers_.front());
}

}  // namespace
}  // namespace cremone::redis
