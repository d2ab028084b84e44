// SPDX-License-Identifier: Apache-2.0
//
// The tool on a Redis server that others use too: holders of ours and of other programs, and passwords, which must be
// seen nowhere.
#include "cli/fixture.hpp"
#include "support/redis_server.hpp"

#include <chrono>
#include <sstream>

namespace cremone::test {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

const std::string secret = "sesame";

class RedisTool : public Tool {
 protected:
  [[nodiscard]] std::string url() const override { return server_.url(); }

  redis_server server_;
};

TEST_F(RedisTool, RunHoldsTheLockWhileTheCommandRuns) {
  const auto end = cremone({"run", "x", "--", "sh", "-c", "echo token $CREMONE_TOKEN"});
  EXPECT_EQ(end.code, 0) << end.err;
  EXPECT_THAT(end.out, ::testing::MatchesRegex("token [0-9]+\n"));
  EXPECT_EQ(server_.keys_in(), std::vector<std::string>{"cremone:classic:fence"});

  holding first(dir, here(), "x");
  ASSERT_TRUE(first.held());
  EXPECT_EQ(cremone({"run", "--try", "x", "--", "true"}).code, 75);
  first.cremone().signal(SIGTERM);
  (void)first.cremone().wait();
  EXPECT_EQ(cremone({"run", "--wait", "10s", "x", "--", "true"}).code, 0);
}

TEST_F(RedisTool, WhoTellsAHolderOfOurs) {
  EXPECT_EQ(cremone({"who", "x"}).code, 1);
  holding first(dir, here(), "x", {"--label", "the first", "--ttl", "7s"});
  ASSERT_TRUE(first.held());
  const auto end = cremone({"who", "x"});
  EXPECT_EQ(end.code, 0);
  EXPECT_THAT(end.out,
              AllOf(HasSubstr("label\tthe first\n"), HasSubstr("expires\t"), HasSubstr(server_.node())));
  EXPECT_THAT(end.out, Not(HasSubstr("1970")));
  const json j = who("x");
  ASSERT_EQ(j["holders"].size(), 1U) << j;
  const json& holder = j["holders"][0];
  EXPECT_EQ(holder["pid"], first.cremone().pid());
  EXPECT_EQ(holder["label"], "the first");
  EXPECT_TRUE(holder["foreign"].is_null());
  EXPECT_LE(holder["expires_in_ms"].get<int>(), 7000);
  EXPECT_GT(holder["expires_in_ms"].get<int>(), 0);
}

TEST_F(RedisTool, WhoTellsAHolderThatIsAnotherProgram) {
  EXPECT_EQ(server_.ask({"SET", "x", "8b1f0a-theirs", "PX", "60000"}).shown(), "OK");
  const auto end = cremone({"who", "x"});
  EXPECT_EQ(end.code, 0);
  EXPECT_THAT(end.out, AllOf(HasSubstr("8b1f0a-theirs"), Not(HasSubstr("1970"))));
  const json j = who("x");
  EXPECT_EQ(j["holders"][0]["foreign"], "8b1f0a-theirs");
  EXPECT_EQ(cremone({"list"}).out, "") << "any string could be a lock: only ours are listed";
  const auto busy = cremone({"run", "--try", "x", "--", "true"});
  EXPECT_EQ(busy.code, 75);
  EXPECT_THAT(busy.err, HasSubstr("8b1f0a-theirs"));
  EXPECT_EQ(server_.ask({"GET", "x"}).shown(), "8b1f0a-theirs");
}

TEST_F(RedisTool, ListShowsOursAmongManyOtherKeys) {
  (void)server_.ask({"EVAL", "for i = 1, 3000 do redis.call('SET', 'other' .. i, i) end", "0"});
  EXPECT_EQ(server_.ask({"RPUSH", "queue", "1"}).number, 1);
  holding first(dir, here(), "a");
  holding second(dir, here(), "b", {"--label", "two"});
  ASSERT_TRUE(first.held() && second.held());
  const json j = json::parse(cremone({"list", "--json"}).out);
  ASSERT_EQ(j["locks"].size(), 2U) << j;
  EXPECT_EQ(j["locks"][0]["name"], "a");
  EXPECT_EQ(j["locks"][1]["holders"][0]["label"], "two");
}

TEST_F(RedisTool, WatchTellsEachChangeInALineOfJson) {
  process watch(cremone_words({"watch", "--json", "--interval", "20ms"}), here());
  {
    holding first(dir, here(), "x");
    ASSERT_TRUE(first.held());
    EXPECT_TRUE(wait_for([&] { return watch.out().find("\"held\"") != std::string::npos; })) << watch.err();
    first.cremone().signal(SIGTERM);
    (void)first.cremone().wait();
  }
  EXPECT_TRUE(wait_for([&] { return watch.out().find("\"released\"") != std::string::npos; }));
  watch.signal(SIGTERM);
  const auto end = watch.wait();
  std::istringstream lines(end.out);
  std::vector<std::string> events;
  for (std::string line; std::getline(lines, line);) {
    events.push_back(json::parse(line)["event"]);
  }
  EXPECT_THAT(events, ::testing::ElementsAre("held", "released")) << "a renewal is no change";
}

TEST_F(RedisTool, WatchOutlivesAServerThatIsSilentForAWhile) {
  process watch(cremone_words({"watch", "--json", "--interval", "20ms"}), here());
  holding first(dir, here(), "x");
  ASSERT_TRUE(wait_for([&] { return watch.out().find("\"x\"") != std::string::npos; })) << watch.err();
  server_.suspend();
  EXPECT_TRUE(wait_for([&] { return watch.err().find("still watching") != std::string::npos; }));
  server_.resume();
  holding second(dir, here(), "y");
  EXPECT_TRUE(wait_for([&] { return watch.out().find("\"y\"") != std::string::npos; })) << watch.err();
  watch.signal(SIGTERM);
  EXPECT_EQ(watch.wait().code, 0);
}

TEST_F(RedisTool, ReleaseByForceFreesOursAndAnotherProgramsLockAndNothingElse) {
  holding first(dir, here(), "x", {"--ttl", "30s"});
  ASSERT_TRUE(first.held());
  const auto end = cremone({"release", "--json", "--force", "x"});
  EXPECT_EQ(end.code, 0) << end.err;
  EXPECT_EQ(json::parse(end.out)["removed"], 1);
  EXPECT_EQ(cremone({"who", "x"}).code, 1);

  EXPECT_EQ(server_.ask({"SET", "y", "theirs"}).shown(), "OK");
  EXPECT_EQ(cremone({"release", "--force", "y"}).code, 0);
  EXPECT_EQ(server_.ask({"EXISTS", "y"}).number, 0);

  EXPECT_EQ(server_.ask({"RPUSH", "z", "precious"}).number, 1);
  const auto no = cremone({"release", "--force", "z"});
  EXPECT_EQ(no.code, 78) << no.err;
  EXPECT_EQ(server_.ask({"LLEN", "z"}).number, 1);
}

TEST_F(RedisTool, AWrongPasswordHasItsOwnExitCodeAndIsNotShown) {
  redis_server locked({.extra = {"--requirepass", secret}});
  for (const std::string& given : {std::string(), ":" + secret + "-wrong"}) {
    for (const std::vector<std::string>& words : {std::vector<std::string>{"run", "x", "--", "true"},
                                                  {"run", "--try", "x", "--", "true"},
                                                  {"who", "x"},
                                                  {"list"},
                                                  {"release", "--force", "x"}}) {
      std::vector<std::string> all = words;
      all.insert(all.begin() + 1, {"--url", locked.url_as(given)});
      const auto end = cremone(all);
      EXPECT_EQ(end.code, 77) << end.err;
      EXPECT_THAT(end.err, AllOf(HasSubstr("password"), HasSubstr(locked.node())));
      EXPECT_THAT(end.out + end.err, Not(HasSubstr(secret)));
    }
  }
}

TEST_F(RedisTool, AServerThatIsNotThereHasItsOwnExitCode) {
  const reserved_port nobodys;
  const std::string node = "127.0.0.1:" + nobodys.text();
  const auto end =
      cremone({"run", "--url", "redis://" + node + "?layout=classic", "--wait", "200ms", "x", "--", "true"});
  EXPECT_EQ(end.code, 69) << end.err;
  EXPECT_THAT(end.err, HasSubstr(node));
}

TEST_F(RedisTool, APasswordInTheUrlIsNotSeenInThePsOfOthersNorByTheCommand) {
  redis_server locked({.extra = {"--requirepass", secret}});
  for (const bool as_one_word : {false, true}) {
    const std::string url = locked.url_as(":" + secret);
    const std::vector<std::string> options =
        as_one_word ? std::vector<std::string>{"--url=" + url} : std::vector<std::string>{"--url", url};
    holding first(dir, here(), as_one_word ? "x" : "y", options);
    ASSERT_TRUE(first.held()) << first.cremone().err();
    const std::string pid = std::to_string(first.cremone().pid());
    EXPECT_THAT(contents("/proc/" + pid + "/cmdline"), AllOf(HasSubstr("run"), Not(HasSubstr(secret))));
    const std::string command = std::to_string(first.command());
    EXPECT_THAT(contents("/proc/" + command + "/cmdline"), Not(HasSubstr(secret)));
    first.cremone().signal(SIGTERM);
    (void)first.cremone().wait();
  }
}

TEST_F(RedisTool, RunOutlivesTwoThirdsOfItsTtlWithoutTheServer) {
  holding first(dir, here(), "x", {"--ttl", "6s"});
  ASSERT_TRUE(first.held());
  const auto began = std::chrono::steady_clock::now();
  server_.suspend();
  const auto end = first.cremone().wait();
  const auto took = std::chrono::steady_clock::now() - began;
  server_.resume();
  EXPECT_EQ(end.code, 76) << end.err;
  EXPECT_GE(took, 6s * 2 / 3) << end.err;
  EXPECT_LT(took, 9s) << "the answer to a release takes 5 s more, and closing the client another";
  EXPECT_THAT(end.err, ::testing::ContainsRegex(server_.node() + ".* has been silent for [45]\\.[0-9] s"));
}

TEST_F(RedisTool, WaitEndsInTimeWhenTheServerIsSilent) {
  server_.suspend();
  bool in_time = false;
  for (int attempt = 0; attempt < 3 && !in_time; ++attempt) {  // a loaded machine may spoil one
    const auto began = std::chrono::steady_clock::now();
    const auto end = cremone({"run", "--wait", "1s", "x", "--", "true"});
    const auto took = std::chrono::steady_clock::now() - began;
    EXPECT_NE(end.code, 0);
    EXPECT_THAT(end.err, HasSubstr(server_.node()));
    EXPECT_GE(took, 1s);
    in_time = took < 1900ms;  // asking the server who holds the lock takes 5 s, closing the client 1 s
  }
  server_.resume();
  EXPECT_TRUE(in_time);
}

}  // namespace
}  // namespace cremone::test
