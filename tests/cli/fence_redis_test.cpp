// SPDX-License-Identifier: Apache-2.0
//
// `fence check` and `show` on a real Redis server, by the URL that the locks have too.
#include "cli/fence_fixture.hpp"
#include "support/redis_server.hpp"
#include "support/scripted_server.hpp"
#include "support/tcp_proxy.hpp"

#include <algorithm>

namespace cremone::test {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class FenceRedis : public FenceTool {
 protected:
  [[nodiscard]] std::string at(const std::string& who = "", const std::string& more = "") const {
    return "redis://" + who + server.node() + more;
  }
  [[nodiscard]] finished check(const std::string& url, const std::string& token) const {
    return fence({"check", "--url", url, "prices"}, {.token = token});
  }
  [[nodiscard]] finished show(const std::string& url) const {
    return fence({"show", "--url", url, "prices"});
  }

  redis_server server;
};

bool is_one_line(const std::string& text) {
  return text.ends_with('\n') && std::count(text.begin(), text.end(), '\n') == 1;
}

TEST_F(FenceRedis, KeepsTheHighestTokenOfAResource) {
  EXPECT_EQ(show(at()).code, 1);
  EXPECT_EQ(check(at(), "41").code, 0);
  EXPECT_EQ(check(at(), "41").code, 0);
  EXPECT_EQ(check(at(), "57").code, 0);
  const auto late = check(at(), "41");
  EXPECT_EQ(late.code, 81);
  EXPECT_THAT(late.err, AllOf(StartsWith("cremone: stale_token: "), HasSubstr("'prices'"), HasSubstr("41"),
                              HasSubstr("57"), HasSubstr("Redis")));
  EXPECT_TRUE(is_one_line(late.err)) << late.err;
  EXPECT_EQ(show(at()).out, "57\n");
  const auto told = json::parse(fence({"show", "--json", "--url", at(), "prices"}).out);
  EXPECT_EQ(told["highest"], 57);
  EXPECT_THAT(told["store"].get<std::string>(), HasSubstr(server.node()));
  EXPECT_EQ(show(at("", "/0?layout=classic")).out, "57\n") << "how locks are kept there does not matter";
  EXPECT_EQ(show("redis+unix://" + server.directory().file("redis.sock")).out, "57\n");
}

TEST_F(FenceRedis, OtherDatabasesAndPrefixesAreOtherResources) {
  EXPECT_EQ(check(at(), "57").code, 0);
  EXPECT_EQ(check(at("", "/3"), "41").code, 0);
  EXPECT_EQ(check(at("", "?prefix=shop"), "42").code, 0);
  EXPECT_EQ(show(at("", "?db=3")).out, "41\n");
  EXPECT_EQ(show(at("", "?prefix=shop")).out, "42\n");
  EXPECT_EQ(show(at()).out, "57\n");
  const auto end = show(at("", "/99"));
  EXPECT_EQ(end.code, 78) << end.err;
}

TEST_F(FenceRedis, TokensBeyondWhatScriptsCountAreRefused) {
  const auto end = check(at(), "9007199254740992");
  EXPECT_EQ(end.code, 64) << end.err;
  EXPECT_THAT(end.err, HasSubstr("9007199254740992"));
  EXPECT_EQ(check(at(), "9007199254740991").code, 0);
}

TEST_F(FenceRedis, AKeyThatIsSomethingElseIsComplainedAbout) {
  EXPECT_EQ(server.ask({"SET", "cremone:fence:prices", "seventeen"}).shown(), "OK");
  for (const auto& end : {check(at(), "41"), show(at())}) {
    EXPECT_EQ(end.code, 78) << end.err;
    EXPECT_TRUE(is_one_line(end.err)) << end.err;
  }
  EXPECT_EQ(server.ask({"GET", "cremone:fence:prices"}).shown(), "seventeen");
}

TEST_F(FenceRedis, LogsInAndShowsThePasswordToNobody) {
  EXPECT_EQ(server.ask({"ACL", "SETUSER", "ann", "on", ">opensesame", "+@all", "~*", "&*"}).shown(), "OK");
  const auto file = write_file(dir.file("pass"), "opensesame\n", 0600);
  EXPECT_EQ(check(at("ann:opensesame@"), "41").code, 0);
  EXPECT_EQ(check(at("ann@", "?password_file=" + file), "42").code, 0);
  EXPECT_EQ(fence({"check", "--url", at("ann@", "?password_env=WORD"), "prices"},
                  {.token = "43", .variables = {"WORD=opensesame"}})
                .code,
            0);
  EXPECT_EQ(server.ask({"ACL", "SETUSER", "default", "off"}).shown(), "OK");
  const auto wrong = check(at("ann:opensezame@"), "44");
  EXPECT_EQ(wrong.code, 77) << wrong.err;
  EXPECT_THAT(wrong.err, AllOf(HasSubstr(server.node()), Not(HasSubstr("opensezame"))));
  const auto none = check(at(), "44");
  EXPECT_EQ(none.code, 77) << none.err;
  EXPECT_EQ(show(at("ann:opensesame@")).out, "43\n");
}

TEST_F(FenceRedis, AServerThatIsGoneIsSaidInOneLine) {
  const std::string url = at("ann:opensesame@");
  const std::string socket = "redis+unix://" + dir.file("none");
  EXPECT_EQ(::kill(server.pid(), SIGKILL), 0);
  EXPECT_TRUE(wait_for([&] { return !alive(server.pid()); }));
  for (const auto& end : {check(url, "41"), show(url), show(socket)}) {
    EXPECT_EQ(end.code, 69) << end.err;
    EXPECT_TRUE(is_one_line(end.err)) << end.err;
    EXPECT_THAT(end.err, AllOf(HasSubstr("Redis at redis"), Not(HasSubstr("opensesame"))));
  }
}

/// What redis_gate tells the owner of a connection is nothing to who gave a URL.
TEST_F(FenceRedis, AnAnswerThatDoesNotComeIsSaidAsToOneWhoHasNoConnection) {
  EXPECT_EQ(check(at(), "41").code, 0);
  tcp_proxy proxy(server.port());
  proxy.follow([](direction way, std::uint64_t, const resp& message) {
    const bool passes = way == direction::to_server || message.shown() == "PONG";
    return passage{.what = passes ? passage::fate::pass : passage::fate::swallow};
  });
  const std::string url = "redis://127.0.0.1:" + std::to_string(proxy.port());
  const auto checked = check(url, "57");
  EXPECT_EQ(checked.code, 82) << checked.err;
  EXPECT_THAT(checked.err, AllOf(HasSubstr("You may repeat it with the same token\n"),
                                 Not(HasSubstr("redisReconnect")), Not(HasSubstr("hiredis"))));
  const auto shown = show(url);
  EXPECT_EQ(shown.code, 69) << shown.err;
  EXPECT_THAT(shown.err, AllOf(HasSubstr("writes nothing. Try again\n"), Not(HasSubstr("executed")),
                               Not(HasSubstr("redisReconnect"))));
}

TEST(FenceRedisWords, OfAServerArePrintedWithBlanksForTabs) {
  const scripted_server server([](const std::vector<std::string>&) { return "-ERR\tno\tsuch user\r\n"; });
  const finished end =
      run({CREMONE_TOOL, "fence", "show", "--url", "redis://ann:opensesame@" + server.node(), "prices"}, {});
  EXPECT_EQ(end.code, 77) << end.err;
  EXPECT_THAT(end.err, HasSubstr("ERR no such user"));
}

}  // namespace
}  // namespace cremone::test
