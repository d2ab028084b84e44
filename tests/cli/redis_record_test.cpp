// SPDX-License-Identifier: Apache-2.0
//
// The tool on Redis in the layout `record`: jobs that try once and go away, a server that has just restarted, and what those who
// wait are told.
#include "cli/fixture.hpp"
#include "support/redis_server.hpp"
#include "support/wait_for.hpp"

#include <thread>

namespace cremone::test {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;

class RedisRecordTool : public Tool {
 protected:
  RedisRecordTool() { EXPECT_EQ(cremone({"quarantine", "--end"}).code, 0); }

  [[nodiscard]] std::string url() const override {
    return server_.url(0, "&layout=record&prefix=t&max_ttl=5s");
  }

  redis_server server_;
};

TEST_F(RedisRecordTool, JobsThatTryOnceTakeOverFromOneThatWasKilled) {
  holding first(dir, here(), "x", {"--ttl", "5s"});
  ASSERT_TRUE(first.held());
  first.cremone().signal(SIGKILL);
  (void)first.cremone().wait();
  const auto killed = std::chrono::steady_clock::now();
  bool taken = false;
  while (!taken && std::chrono::steady_clock::now() - killed < 12s + generous) {
    taken = cremone({"run", "--try", "x", "--", "true"}).code == 0;
    if (!taken) {
      std::this_thread::sleep_for(2s);  // as cron would, only sooner
    }
  }
  ASSERT_TRUE(taken);
  EXPECT_LT(std::chrono::steady_clock::now() - killed, 12s);
}

TEST_F(RedisRecordTool, RunWithoutATtlTakesWhatThePrefixAllows) {
  EXPECT_EQ(cremone({"run", "x", "--", "true"}).code, 0);
  const auto end = cremone({"run", "--ttl", "6s", "x", "--", "true"});
  EXPECT_EQ(end.code, 64);
  EXPECT_THAT(end.err, HasSubstr("max_ttl of 5000 ms"));
}

TEST_F(RedisRecordTool, EachCommandWarnsOfAnotherProgramsLock) {
  (void)server_.ask({"SET", "x", "0123456789abcdef0123456789abcdef", "PX", "60000"});
  const auto free = cremone({"who", "x"});
  EXPECT_EQ(free.code, 1) << "the lock is free in this layout";
  const auto warning = AllOf(HasSubstr("cremone: warning: " + server_.node() + ": the key 'x'"),
                             HasSubstr("use layout=classic"));
  EXPECT_THAT(free.err, warning);
  EXPECT_EQ(cremone({"who", "-q", "x"}).err, "");
  EXPECT_EQ(cremone({"run", "-q", "x", "--", "true"}).err, "");
  holding first(dir, here(), "x");
  ASSERT_TRUE(first.held());
  EXPECT_TRUE(wait_for([&] { return first.cremone().err().find("layout=classic") != std::string::npos; }))
      << first.cremone().err();
  EXPECT_THAT(first.cremone().err(), warning);
  EXPECT_THAT(who("x")["foreign_lock"].get<std::string>(), HasSubstr("the key 'x'"));
  const auto doctor = cremone({"doctor"});
  EXPECT_EQ(doctor.code, 0) << doctor.out;
  EXPECT_THAT(doctor.out, AllOf(HasSubstr("warning\tlayout\trecord; other locks at 'x'\t"),
                                HasSubstr("use layout=classic")));

  (void)server_.ask({"DEL", "x"});
  EXPECT_TRUE(who("x")["foreign_lock"].is_null());
  EXPECT_EQ(cremone({"who", "x"}).err, "");
  EXPECT_THAT(cremone({"doctor"}).out,
              HasSubstr("good\tlayout\trecord\tnames in use that were checked: 1; none"));
}

TEST_F(RedisRecordTool, WhoTellsTheTokenAndWhoWaits) {
  holding first(dir, here(), "x", {"--label", "the first"});
  ASSERT_TRUE(first.held());
  const process waiting({CREMONE_TOOL, "run", "--url", url(), "x", "--", "true"}, here());
  ASSERT_TRUE(wait_for([&] { return who("x")["waiters"].size() == 1; }));
  const json j = who("x");
  EXPECT_GT(j["holders"][0]["token"].get<std::uint64_t>(), 0U) << j;
  EXPECT_EQ(j["holders"][0]["label"], "the first");
}

TEST_F(RedisRecordTool, WhoeverTriesOrWaitsInQuarantineIsToldWhyAndForHowLong) {
  (void)server_.ask({"FLUSHALL"});
  const auto tried = cremone({"run", "--try", "x", "--", "true"});
  EXPECT_EQ(tried.code, 83);
  EXPECT_THAT(tried.err,
              AllOf(HasSubstr("may have forgotten"), HasSubstr("from now"), HasSubstr(server_.node())));

  const process waiting({CREMONE_TOOL, "run", "--url", url(), "x", "--", "true"}, here());
  EXPECT_TRUE(wait_for([&] { return waiting.err().find("grants no lock") != std::string::npos; }))
      << "one who waits without a terminal hears nothing: " << waiting.err();
  EXPECT_THAT(waiting.err(), HasSubstr("it grants again in "));

  const auto shown = cremone({"quarantine", "--json"});
  EXPECT_EQ(shown.code, 1);
  const json j = json::parse(shown.out);
  EXPECT_TRUE(j["quarantined"].get<bool>());
  EXPECT_LE(j["servers"][0]["left_ms"].get<int>(), 6100);
  EXPECT_THAT(cremone({"who", "x"}).err, HasSubstr("grants no lock"));
  EXPECT_EQ(cremone({"quarantine", "--end"}).code, 0);
  EXPECT_EQ(cremone({"run", "--wait", "10s", "x", "--", "true"}).code, 0);
}

TEST_F(RedisRecordTool, AJobLivesThroughARestartOfTheServerAndTellsWhatHappened) {
  holding first(dir, here(), "x", {"--verbose"});
  ASSERT_TRUE(first.held());
  server_.restart_empty();
  EXPECT_TRUE(wait_for([&] { return who("x")["holders"].size() == 1; })) << "its renewal brings it back";
  EXPECT_TRUE(
      wait_for([&] { return first.cremone().err().find("connection restored") != std::string::npos; }));
  EXPECT_THAT(first.cremone().err(), HasSubstr("connection lost"));
  EXPECT_EQ(cremone({"run", "--try", "x", "--", "true"}).code, 83) << "still in quarantine";
}

TEST_F(RedisRecordTool, RunIsRefusedByServersThatMayThrowLocksAway) {
  ASSERT_EQ(server_.ask({"CONFIG", "SET", "maxmemory-policy", "allkeys-lru"}).shown(), "OK");
  const auto refused = cremone({"run", "--try", "x", "--", "true"});
  EXPECT_EQ(refused.code, 78);
  EXPECT_THAT(refused.err, HasSubstr("allkeys-lru"));
  EXPECT_EQ(cremone({"who", "x"}).code, 78);

  ASSERT_EQ(server_.ask({"CONFIG", "SET", "maxmemory-policy", "volatile-ttl"}).shown(), "OK");
  ASSERT_EQ(server_.ask({"CONFIG", "SET", "maxmemory", "3mb"}).shown(), "OK");
  const process warned({CREMONE_TOOL, "run", "--verbose", "--url", url(), "y", "--", "sleep", "60"}, here());
  EXPECT_TRUE(wait_for([&] { return warned.err().find("warning: ") != std::string::npos; })) << warned.err();
  EXPECT_THAT(warned.err(), HasSubstr("volatile-ttl"));
}

}  // namespace
}  // namespace cremone::test
