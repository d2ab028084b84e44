// SPDX-License-Identifier: Apache-2.0
//
// Connections that are not there, not at rest, or end too early: nothing was written, or it is not known, and the gate says which.
#include "fence/redis_connection.hpp"
#include "support/tcp_proxy.hpp"
#include "support/wait_for.hpp"

#include <cremone/fence_redis.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

namespace cremone::fence {

namespace {

using test::context_ptr;
using test::direction;
using test::hiredis_to;
using test::passage;
using test::redis_server;
using test::tcp_proxy;
using test::wait_for;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

template <class T>
void expect_failed(const result<T>& got, errc code, const std::string& saying) {
  ASSERT_FALSE(got.has_value());
  EXPECT_EQ(got.error().code(), code) << got.error().message();
  EXPECT_THAT(got.error().message(), HasSubstr(saying));
}

class FenceRedisConnection : public ::testing::Test {
 protected:
  redis_server server;
  context_ptr connection = hiredis_to(server.port());
  redis_gate gate{connection.get()};
};

TEST_F(FenceRedisConnection, ThatIsNullIsUnreachable) {
  redis_gate none(nullptr);
  expect_failed(none.set("prices", fence_token(41), "k", "v"), errc::unreachable, "null");
  expect_failed(none.highest("prices"), errc::unreachable, "null");
  expect_failed(none.set("prices", fence_token(0), "k", "v"), errc::invalid_argument, "0 is no fence token");
}

TEST_F(FenceRedisConnection, ThatWasNeverMadeIsUnreachable) {
  const test::reserved_port nobody;
  const context_ptr refused(redisConnect("127.0.0.1", nobody.number()));
  expect_failed(redis_gate(refused.get()).check("prices", fence_token(41)), errc::unreachable,
                "redisReconnect");
}

TEST_F(FenceRedisConnection, ThatDoesNotBlockIsRefused) {
  const context_ptr other(redisConnectNonBlock("127.0.0.1", server.port()));
  expect_failed(redis_gate(other.get()).check("prices", fence_token(41)), errc::misconfigured, "blocking");
}

TEST_F(FenceRedisConnection, WithCommandsInItsPipelineIsRefused) {
  ASSERT_EQ(redisAppendCommand(connection.get(), "PING"), REDIS_OK);
  expect_failed(gate.check("prices", fence_token(41)), errc::misconfigured, "pipeline");
}

TEST_F(FenceRedisConnection, WithAnswersThatNobodyHasReadIsRefused) {
  redisAppendCommand(connection.get(), "PING");
  redisAppendCommand(connection.get(), "PING");
  int done = 0;
  ASSERT_EQ(redisBufferWrite(connection.get(), &done), REDIS_OK);
  char next = 0;
  ASSERT_TRUE(wait_for([&] { return ::recv(connection->fd, &next, 1, MSG_PEEK | MSG_DONTWAIT) == 1; }));
  expect_failed(gate.check("prices", fence_token(41)), errc::misconfigured, "not read");
  void* reply = nullptr;
  ASSERT_EQ(redisGetReply(connection.get(), &reply), REDIS_OK);
  freeReplyObject(reply);
  expect_failed(gate.check("prices", fence_token(41)), errc::misconfigured, "not read");
  ASSERT_EQ(redisGetReply(connection.get(), &reply), REDIS_OK);
  freeReplyObject(reply);
  EXPECT_TRUE(gate.check("prices", fence_token(41)));
}

TEST_F(FenceRedisConnection, ThatTheServerHasClosedIsUnreachableAndNotInDoubt) {
  server.kill();
  char next = 0;
  ASSERT_TRUE(wait_for([&] { return ::recv(connection->fd, &next, 1, MSG_PEEK | MSG_DONTWAIT) == 0; }));
  expect_failed(gate.set("prices", fence_token(41), "k", "v"), errc::unreachable, "closed");
  server.start_again();
  ASSERT_EQ(redisReconnect(connection.get()), REDIS_OK);
  EXPECT_TRUE(gate.set("prices", fence_token(41), "k", "v"));
}

TEST_F(FenceRedisConnection, ThatTakesNothingMoreIsUnreachableAndEndsNobody) {
  ASSERT_EQ(::shutdown(connection->fd, SHUT_WR), 0);  // from now on a write is SIGPIPE, by default the end
  // The server hangs up when it notices; either way not all was sent.
  expect_failed(gate.set("prices", fence_token(41), "k", "v"), errc::unreachable, "nothing was written");
  expect_failed(gate.set("prices", fence_token(41), "k", "v"), errc::unreachable, "redisReconnect");
  EXPECT_THAT(server.keys_in(), IsEmpty());
}

TEST_F(FenceRedisConnection, InAMultiIsRefusedAndNothingIsWritten) {
  const redis_field field[] = {{"a", "1"}};
  const std::string key[] = {"k"};
  freeReplyObject(redisCommand(connection.get(), "MULTI"));
  expect_failed(gate.set("prices", fence_token(41), "k", "v"), errc::misconfigured, "DISCARD");
  expect_failed(gate.hset("prices", fence_token(41), "h", field), errc::misconfigured, "DISCARD");
  expect_failed(gate.del("prices", fence_token(41), key), errc::misconfigured, "DISCARD");
  expect_failed(gate.run("prices", fence_token(41), "return 1", key, {}), errc::misconfigured, "DISCARD");
  expect_failed(gate.check("prices", fence_token(41)), errc::misconfigured, "DISCARD");
  expect_failed(gate.highest("prices"), errc::misconfigured, "DISCARD");
  EXPECT_THAT(server.keys_in(), IsEmpty());
  freeReplyObject(redisCommand(connection.get(), "DISCARD"));
  EXPECT_TRUE(gate.set("prices", fence_token(41), "k", "v"));
}

TEST_F(FenceRedisConnection, ThroughAUnixSocketIsNamedByItsPath) {
  const std::string path = server.directory().file("redis.sock");
  const context_ptr local(redisConnectUnix(path.c_str()));
  redis_gate near(local.get());
  ASSERT_TRUE(near.check("prices", fence_token(57)));
  expect_failed(near.check("prices", fence_token(41)), errc::stale_token, path);
}

/// The nth message in this direction meets that fate, the others pass.
tcp_proxy::schedule fate_of(direction which, passage::fate fate) {
  return [which, fate](direction way, std::uint64_t, const test::resp&) {
    return passage{.what = way == which ? fate : passage::fate::pass};
  };
}

class FenceRedisCut : public FenceRedisConnection {
 protected:
  /// The first write reaches the server once more, so that the scripts are known.
  void SetUp() override { ASSERT_TRUE(gate.set("prices", fence_token(41), "k", "old")); }

  void expect_unknown_then_accepted() {
    expect_failed(through.set("prices", fence_token(57), "k", "new"), errc::outcome_unknown, "same token");
    expect_failed(through.set("prices", fence_token(57), "k", "new"), errc::unreachable, "redisReconnect");
    proxy.follow(nullptr);
    ASSERT_EQ(redisReconnect(line.get()), REDIS_OK);
    EXPECT_TRUE(through.set("prices", fence_token(57), "k", "new"));
    EXPECT_EQ(server.ask({"GET", "k"}).shown(), "new");
    EXPECT_EQ(*through.highest("prices"), fence_token(57));
    expect_failed(through.set("prices", fence_token(41), "k", "late"), errc::stale_token, "57");
  }

  tcp_proxy proxy{server.port()};
  context_ptr line = hiredis_to(proxy.port());
  redis_gate through{line.get()};
};

TEST_F(FenceRedisCut, BetweenTheWriteAndItsAnswerIsInDoubtAndTheWriteMayBeRepeated) {
  proxy.follow(fate_of(direction::to_client, passage::fate::swallow));
  expect_failed(through.set("prices", fence_token(57), "k", "new"), errc::outcome_unknown, "same token");
  EXPECT_EQ(server.ask({"GET", "k"}).shown(), "new") << "it was done";
  ASSERT_EQ(redisReconnect(line.get()), REDIS_OK);
  expect_unknown_then_accepted();
}

TEST_F(FenceRedisCut, BeforeTheWriteArrivesIsInDoubtTooAndTheWriteMayBeRepeated) {
  proxy.follow(fate_of(direction::to_server, passage::fate::swallow));
  expect_unknown_then_accepted();
}

TEST_F(FenceRedisCut, InTheMiddleOfTheAnswerIsInDoubt) {
  proxy.follow(fate_of(direction::to_client, passage::fate::cut));
  expect_unknown_then_accepted();
}

TEST_F(FenceRedisCut, ByTheUsersOwnTimeoutIsInDoubt) {
  proxy.follow(fate_of(direction::to_client, passage::fate::hold));
  redisSetTimeout(line.get(), timeval{.tv_sec = 0, .tv_usec = 50'000});
  expect_failed(through.set("prices", fence_token(57), "k", "new"), errc::outcome_unknown, "same token");
  expect_failed(through.highest("prices"), errc::unreachable, "redisReconnect");
}

TEST_F(FenceRedisCut, OfAQuestionIsNotInDoubt) {
  proxy.follow(fate_of(direction::to_client, passage::fate::swallow));
  const auto highest = through.highest("prices");
  expect_failed(highest, errc::unreachable, "writes nothing");
  EXPECT_EQ(highest.error().message().find("same token"), std::string::npos) << highest.error().message();
}

TEST_F(FenceRedisCut, AfterNoscriptIsInDoubtOnlyForTheSecondQuestion) {
  ASSERT_EQ(server.ask({"SCRIPT", "FLUSH"}).shown(), "OK");
  proxy.follow([](direction way, std::uint64_t, const test::resp& message) {
    const bool text = way == direction::to_server && message.texts().front() == "EVAL";
    return passage{.what = text ? passage::fate::swallow : passage::fate::pass};
  });
  expect_failed(through.set("prices", fence_token(57), "k", "new"), errc::outcome_unknown, "same token");
  EXPECT_EQ(server.ask({"GET", "k"}).shown(), "old");
}

TEST_F(FenceRedisCut, LongReplyIsCutOffAtItsLimit) {
  const std::string longest = "$" + std::to_string(redis_largest_reply - 100) + "\r\n" +
                              std::string(redis_largest_reply - 100, 'x') + "\r\n";
  const std::string longer = "$2000000000\r\n" + std::string(2 * redis_largest_reply, 'x');
  const auto answers = [&](const std::string& what) {
    proxy.follow([&what](direction way, std::uint64_t, const test::resp&) {
      return way == direction::to_client ? passage{.instead = what} : passage{};
    });
  };
  answers(longest);
  const auto read = through.run("prices", fence_token(57), "return 1", {}, {});
  ASSERT_TRUE(read) << read.error();
  EXPECT_EQ(std::get<std::string>(read->value).size(), redis_largest_reply - 100);
  answers(longer);
  expect_failed(through.run("prices", fence_token(57), "return 1", {}, {}), errc::outcome_unknown, "8 MiB");
  EXPECT_LT(line->reader->len, redis_largest_reply + 65536) << "it stopped reading";
  expect_failed(through.check("prices", fence_token(57)), errc::unreachable, "redisReconnect");
  ASSERT_EQ(redisReconnect(line.get()), REDIS_OK);
  expect_failed(through.highest("prices"), errc::unreachable, "8 MiB");
}

TEST_F(FenceRedisCut, IsNotWhatAnAnswerIsThatMakesNoSense) {
  for (const std::string odd : {":1\r\n", "*0\r\n", "$-1\r\n", "+FINE\r\n"}) {
    proxy.follow([&](direction way, std::uint64_t, const test::resp&) {
      return way == direction::to_client ? passage{.instead = odd} : passage{};
    });
    expect_failed(through.set("prices", fence_token(57), "k", "new"), errc::protocol_error,
                  "is the server Redis?");
  }
  proxy.follow([](direction way, std::uint64_t, const test::resp&) {
    return way == direction::to_client ? passage{.instead = "HTTP/1.1 400 Bad Request\r\n"} : passage{};
  });
  expect_failed(through.set("prices", fence_token(57), "k", "new"), errc::outcome_unknown, "Protocol error");
}

}  // namespace

}  // namespace cremone::fence
