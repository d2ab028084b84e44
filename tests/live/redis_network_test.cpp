// SPDX-License-Identifier: Apache-2.0
//
// Servers that are not there, are no Redis, do not answer, answer nonsense or are cut off: each result names the server
// and the cause, comes in time, and what may have been locked is freed as soon as the server can be reached.
#include "live/redis_fixture.hpp"
#include "support/crowd.hpp"
#include "support/scripted_server.hpp"
#include "support/tcp_proxy.hpp"

#include <atomic>
#include <future>

namespace cremone::test {

namespace {

using namespace std::chrono_literals;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using words = std::vector<std::string>;

std::string through(const tcp_proxy& proxy) { return "redis://" + proxy.node() + "/0?layout=classic"; }

bool is_script(const words& command) { return command.at(0) == "EVALSHA" || command.at(0) == "EVAL"; }

TEST(RedisNetwork, APortOnWhichNobodyListens) {
  const reserved_port nobodys;
  const std::string node = "127.0.0.1:" + nobodys.text();
  const error why = refusal("redis://:" + secret + "@" + node + "?layout=classic", node);
  EXPECT_EQ(why.code(), errc::unreachable);
  EXPECT_THAT(why.message(), HasSubstr("refused"));
}

TEST(RedisNetwork, ANameThatDoesNotResolve) {
  const error why =
      refusal("redis://:" + secret + "@nowhere.invalid:6379?layout=classic", "nowhere.invalid:6379");
  EXPECT_EQ(why.code(), errc::unreachable);
  EXPECT_THAT(why.message(), AnyOf(HasSubstr("resolve"), HasSubstr("not found")));
}

TEST(RedisNetwork, AUnixSocketThatIsNotThere) {
  const temp_directory nothing;
  const error why =
      refusal("redis+unix://" + nothing.file("redis.sock") + "?layout=classic", nothing.file("redis.sock"));
  EXPECT_EQ(why.code(), errc::unreachable);
}

TEST(RedisNetwork, AServerThatIsNoRedis) {
  for (const std::string says :
       {"HTTP/1.1 400 Bad Request\r\nServer: nginx\r\nContent-Length: 0\r\n\r\n",
        "220 mail.example ESMTP\r\n", "SSH-2.0-OpenSSH_9.2\r\n", "\x15\x03\x03\x00\x02\x02\x46"}) {
    SCOPED_TRACE(says);
    scripted_server server([&](const words&) { return says; });
    const error why = refusal("redis://:" + secret + "@" + server.node() + "?layout=classic", server.node());
    EXPECT_EQ(why.code(), errc::protocol_error);
    EXPECT_THAT(why.message(), HasSubstr("Redis"));
  }
}

TEST(RedisNetwork, AServerThatAcceptsAndNeverAnswers) {
  scripted_server server([](const words&) { return std::string(); });
  client locks = opened(server.url());
  for (const auto wait : {0ms, 500ms, 3000ms}) {
    const error why = refusal_of(locks, server.node(), {.wait = wait});
    EXPECT_THAT(why.code(), AnyOf(errc::unreachable, errc::timed_out)) << why;
    EXPECT_THAT(why.message(), AnyOf(HasSubstr("let us in"), HasSubstr("connecting"), HasSubstr("answer")));
  }
  const auto seen = locks.inspect("lock");
  ASSERT_FALSE(seen);
  expect_names(seen.error(), server.node());
  const auto all = locks.list();
  ASSERT_FALSE(all);
  expect_names(all.error(), server.node());
}

TEST(RedisNetwork, AServerThatLetsUsInAndThenNeverAnswers) {
  scripted_server server(
      [](const words& command) { return is_script(command) ? std::string() : "+PONG\r\n"; });
  client locks = opened(server.url());
  for (const auto wait : {0ms, 500ms, 3000ms}) {
    const error why = refusal_of(locks, server.node(), {.wait = wait});
    EXPECT_THAT(why.code(), AnyOf(errc::outcome_unknown, errc::timed_out)) << why;
    EXPECT_THAT(why.message(), HasSubstr("answer"));
  }
  const auto seen = locks.inspect("lock");
  ASSERT_FALSE(seen);
  EXPECT_EQ(seen.error().code(), errc::unreachable) << "a question leaves nothing in doubt";
  expect_names(seen.error(), server.node());
}

TEST(RedisNetwork, RepliesOfTheWrongShape) {
  const words shapes = {"+OK\r\n",
                        ":1\r\n",
                        "$-1\r\n",
                        "*-1\r\n",
                        "*0\r\n",
                        "*1\r\n:1\r\n",
                        "*2\r\n:1\r\n:1\r\n",
                        "*2\r\n:1\r\n$1\r\nx\r\n",
                        "*2\r\n:1\r\n$20\r\n99999999999999999999\r\n",
                        "*2\r\n:7\r\n$1\r\n1\r\n",
                        "*2\r\n$1\r\n1\r\n$1\r\n1\r\n",
                        "*3\r\n:0\r\n:5\r\n:100\r\n",
                        "*3\r\n:0\r\n$1\r\nx\r\n$1\r\nx\r\n",
                        "*2\r\n:0\r\n$1\r\nx\r\n",
                        "*1\r\n*1\r\n*1\r\n:1\r\n",
                        "-\r\n",
                        "-WHAT is this\r\n",
                        "*2\r\n:1\r\n-ERR inside\r\n"};
  crowd(
      shapes.size(),
      [&](std::size_t i) {  // each takes a second: what it may have locked is cleared away in vain
        const std::string& says = shapes[i];
        SCOPED_TRACE(says);
        scripted_server server([&](const words& command) { return is_script(command) ? says : "+PONG\r\n"; });
        const error why = refusal(server.url(), server.node());
        EXPECT_EQ(why.code(), errc::protocol_error);
        client locks = opened(server.url());
        if (const auto seen = locks.inspect("lock"); !seen) {  // some of these are proper answers to that
          expect_names(seen.error(), server.node());
        }
        const auto all = locks.list();
        ASSERT_FALSE(all);
        expect_names(all.error(), server.node());
      });
}

TEST(RedisNetwork, BytesThatAreNoReplies) {
  for (const std::string says :
       {"?\r\n", "*100000000\r\n", "$99999999999\r\n", "*2\r\n:1\r\n$-5\r\n", ":12x\r\n",
        "*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n"}) {
    SCOPED_TRACE(says);
    scripted_server server([&](const words& command) { return is_script(command) ? says : "+PONG\r\n"; });
    client locks = opened(server.url());
    const error why = refusal_of(locks, server.node(), {.ttl = 3s, .wait = no_wait});
    EXPECT_THAT(why.code(), AnyOf(errc::protocol_error, errc::outcome_unknown));
  }
}

class RedisProxy : public RedisServer {
 protected:
  /// Waits until no lock is left in the server, long before its ttl would have freed it.
  void expect_freed_soon() {
    EXPECT_TRUE(wait_for(
        [&] {
          return server_.ask({"EXISTS", "lock"}).number == 0;
        },
        2 * generous))
        << "what may have been granted was not cleared away";
  }

  /// What meets the reply to the next script.
  void next_reply_meets(passage::fate fate) {
    proxy_.follow([fate, met = false](direction way, std::uint64_t, const resp& message) mutable {
      if (way == direction::to_server || met || message.type != '*') {
        return passage{};
      }
      met = true;
      return passage{.what = fate};
    });
  }

  tcp_proxy proxy_{server_.port()};
};

TEST_F(RedisProxy, AReplyThatIsLostLeavesNothingLocked) {
  for (const auto fate : {passage::fate::swallow, passage::fate::cut}) {
    client locks = opened(through(proxy_));
    (void)taken(locks, "warm", {.wait = 5s}).release();
    next_reply_meets(fate);
    const error why = refusal_of(locks, proxy_.node(), {.ttl = 60s, .wait = no_wait});
    EXPECT_EQ(why.code(), errc::outcome_unknown);
    expect_freed_soon();
    EXPECT_TRUE(taken(locks, "lock", {.wait = 5s}).held());
    expect_freed_soon();
  }
}

TEST_F(RedisProxy, AReplyThatIsLostIsAskedForAgainByOneWhoWaits) {
  for (const auto fate : {passage::fate::swallow, passage::fate::cut}) {
    client locks = opened(through(proxy_));
    (void)taken(locks, "warm", {.wait = 5s}).release();
    next_reply_meets(fate);
    lease held = taken(locks, "lock", {.ttl = 60s, .wait = 5s});
    EXPECT_TRUE(held.held());
    EXPECT_TRUE(held.release());
    expect_freed_soon();
  }
}

TEST_F(RedisProxy, AConnectionThatIsCutDoesNotEndALease) {
  client locks = opened(through(proxy_));
  lease held = taken(locks, "lock", {.ttl = 9s, .wait = 5s});
  const instant first = held.deadline();
  for (int i = 0; i < 5; ++i) {
    const auto before = proxy_.accepted();
    proxy_.cut_all();
    EXPECT_TRUE(wait_for([&] { return proxy_.accepted() > before; })) << "it does not connect anew";
  }
  EXPECT_TRUE(wait_for([&] { return held.deadline() > first || !held.held(); }));
  EXPECT_TRUE(held.held());
}

TEST_F(RedisProxy, WaitersFindALockThatWasFreedWhileTheyWereCutOff) {
  client ann = opened(server_.url());
  client bob = opened(through(proxy_));
  lease held = taken(ann, "lock", {.ttl = 60s});
  auto waiting = std::async(std::launch::async, [&] { return bob.acquire("lock", {.wait = generous}); });
  ASSERT_TRUE(wait_for([&] {
    return server_.ask({"PUBSUB", "NUMPAT"}).number >= 0 && proxy_.accepted() >= 2;
  })) << "it does not subscribe";
  proxy_.cut_all();
  EXPECT_TRUE(held.release());
  const auto got = waiting.get();
  EXPECT_TRUE(got) << got.error().message();
}

TEST_F(RedisProxy, AServerThatStartsAgainIsFoundAgain) {
  client locks = opened(server_.url());
  (void)taken(locks, "lock", {.wait = 5s}).release();
  server_.kill();
  const error why = refusal_of(locks, server_.node(), {.wait = 1s});
  EXPECT_EQ(why.code(), errc::unreachable);
  server_.start_again();
  EXPECT_TRUE(taken(locks, "lock", {.wait = generous}).held());
}

TEST_F(RedisProxy, TokensGrowWhenTheServerForgetsEverything) {
  client locks = opened(server_.url());
  fence_token last;
  for (int i = 0; i < 5; ++i) {
    lease held = taken(locks, "lock", {.wait = generous});
    EXPECT_GT(held.token(), last);
    last = held.token();
    EXPECT_TRUE(held.release());
    if (i % 2 == 0) {
      server_.start_again();
    } else {
      EXPECT_EQ(server_.ask({"FLUSHALL"}).shown(), "OK");
    }
  }
}

}  // namespace

}  // namespace cremone::test
