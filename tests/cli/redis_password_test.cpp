// SPDX-License-Identifier: Apache-2.0
//
// The tool on a real redis-server, with the layout `classic`, as a user with a password: what it shows of holders of which
// less is known, and that the password is nowhere to be seen.
#include "cli/fixture.hpp"
#include "support/redis_server.hpp"

#include <memory>

namespace cremone::test {
namespace {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;

class RedisToolWithPassword : public Tool {
 protected:
  RedisToolWithPassword() {
    EXPECT_EQ(server.ask({"ACL", "SETUSER", "ann", "on", ">opensesame", "+@all", "~*", "&*"}).shown(), "OK");
  }

  [[nodiscard]] std::string url() const override { return server.url_as("ann:opensesame"); }

  redis_server server;
};

TEST_F(RedisToolWithPassword, ShowsOfAHolderWhatIsKnownAndNothingElse) {
  const holding first(dir, here(), "x", {"--label", "nightly"});
  ASSERT_TRUE(first.held());
  EXPECT_THAT(
      cremone({"who", "x"}).out,
      MatchesRegex(
          "lock\tx\nstore\tredis://[0-9.:]+/0[?]layout=classic\nstate\theld\nheld by\t[^ ]+ pid [0-9]+\n"
          "label\tnightly\nexpires\tin [0-9]+m?s unless renewed\n"));
  const auto holder = nlohmann::json::parse(cremone({"who", "--json", "x"}).out)["holders"][0];
  EXPECT_TRUE(holder["since"].is_null() && holder["token"].is_null() && holder["ttl_ms"].is_null());
  EXPECT_TRUE(holder["foreign"].is_null());
  EXPECT_GT(holder["expires_in_ms"], 0);
  EXPECT_THAT(cremone({"list"}).out, MatchesRegex("x\theld\t[^\t]+\t[0-9]+\t\t\t\t0\tnightly\n"));
  EXPECT_THAT(
      cremone({"run", "--try", "x", "--", "true"}).err,
      MatchesRegex(
          "cremone: busy: lock 'x' at redis://[0-9.:]+/0[?]layout=classic is held by [^ ]+ pid [0-9]+ "
          "\\('nightly'\\), expires in [0-9.]+ m?s unless renewed\n"));
}

TEST_F(RedisToolWithPassword, ShowsAnotherProgramAsSuchAndRemovesItsLockByOrderOnly) {
  EXPECT_EQ(server.ask({"SET", "x", "f3a9", "PX", "60000"}).shown(), "OK");
  EXPECT_EQ(server.ask({"SET", "y", "for ever"}).shown(), "OK");
  EXPECT_THAT(cremone({"who", "x"}).out,
              HasSubstr("held by\tanother program, which left 'f3a9'\nexpires\tin "));
  EXPECT_THAT(cremone({"who", "y"}).out, HasSubstr("expires\tnever\n"));
  EXPECT_EQ(cremone({"list"}).out, "") << "any text could be a lock or anything else";
  const auto busy = cremone({"run", "--try", "y", "--", "true"});
  EXPECT_EQ(busy.code, 75);
  EXPECT_THAT(busy.err, HasSubstr("is held by another program, which left 'for ever', does not expire"));
  EXPECT_EQ(cremone({"release", "--force", "x"}).code, 0);
  EXPECT_EQ(cremone({"who", "x"}).code, 1);
  EXPECT_EQ(cremone({"who", "y"}).code, 0);
}

TEST_F(RedisToolWithPassword, ALockThatIsTakenAwayEndsItsCommand) {
  holding first(dir, here(), "x", {"--ttl", "3s"});
  ASSERT_TRUE(first.held());
  EXPECT_EQ(cremone({"release", "--force", "x"}).code, 0);
  EXPECT_EQ(first.cremone().wait().code, 76);
  EXPECT_FALSE(alive(first.command()));
}

TEST_F(RedisToolWithPassword, ARunUnderTheSameLockDoesNotWaitForItself) {
  const auto end = cremone({"run", "x", "--", CREMONE_TOOL, "run", "x", "--", "true"});
  EXPECT_EQ(end.code, 75);
  EXPECT_THAT(end.err, HasSubstr("would wait for itself"));
}

TEST_F(RedisToolWithPassword, ManyRunsExcludeEachOther) {
  const auto counter = write_file(dir.file("counter"), "0\n");
  std::vector<std::unique_ptr<process>> all;
  for (int i = 0; i < 8; ++i) {
    all.push_back(std::make_unique<process>(
        cremone_words({"run", "x", "--", "sh", "-c",
                       "read n < " + counter + "; sleep 0.01; echo $((n + 1)) > " + counter}),
        here()));
  }
  for (const auto& one : all) {
    EXPECT_EQ(one->wait().code, 0);
  }
  EXPECT_EQ(contents(counter), "8\n");
}

TEST_F(RedisToolWithPassword, WatchTellsWhoCameAndWhoWent) {
  process watching(cremone_words({"watch", "--interval", "20ms"}), here());
  {
    const holding first(dir, here(), "x");
    ASSERT_TRUE(first.held());
    EXPECT_TRUE(wait_for([&] { return watching.out().find("\theld\tx\t") != std::string::npos; }));
    EXPECT_EQ(server.ask({"DEL", "x"}).number, 1);
    EXPECT_TRUE(wait_for([&] { return watching.out().find("\treleased\tx\t") != std::string::npos; }));
  }
  watching.signal(SIGTERM);
  EXPECT_EQ(watching.wait().code, 0);
}

TEST_F(RedisToolWithPassword, ThePasswordIsNowhereToBeSeen) {
  const auto environment = dir.file("environment");
  surroundings around = here();
  around.environment[0].second = "";
  process p(cremone_words({"run", "--url=" + url(), "x", "--", "sh", "-c",
                           "env > " + environment + ".new; mv " + environment + ".new " + environment +
                               "; exec sleep 1000"}),
            around);
  ASSERT_TRUE(wait_for([&] { return !contents(environment).empty(); }));
  EXPECT_THAT(contents(environment), HasSubstr("CREMONE_STORE=redis://"));
  const std::string words = contents("/proc/" + std::to_string(p.pid()) + "/cmdline");
  EXPECT_THAT(words, HasSubstr("--url=redis://ann:**********@"));
  const auto busy = cremone({"run", "--try", "x", "--", "true"});
  EXPECT_EQ(busy.code, 75);
  const auto denied = run(cremone_words({"who", "--url", server.url_as("ann:opensesame-not"), "x"}), around);
  EXPECT_EQ(denied.code, 77) << denied.err;
  server.kill();
  const auto gone = cremone({"run", "--wait", "0.1", "y", "--", "true"});
  EXPECT_NE(gone.code, 0);
  for (const std::string& said : {contents(environment), words, p.out(), p.err(),
                                  cremone({"list", "--json"}).err, busy.err, denied.err, gone.err}) {
    EXPECT_THAT(said, Not(HasSubstr("opensesame")));
  }
}

}  // namespace
}  // namespace cremone::test
