// SPDX-License-Identifier: Apache-2.0
//
// Checks the protocol's form: commands as bytes, replies out of bytes in pieces of any size, and that what is no reply
// is found out without trusting a length in it.
#include "base/resp.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace cremone::redis {
namespace {

using kind = reply::kind;
using ::testing::HasSubstr;

std::string command(std::initializer_list<std::string_view> words) {
  std::string out;
  append_command(out, words);
  return out;
}

reply only_reply(std::string_view bytes) {
  reply_reader reader;
  reader.feed(bytes);
  auto got = reader.next();
  if (!got || !*got) {
    ADD_FAILURE() << "no reply in " << bytes << ": " << (got ? "unfinished" : got.error().message());
    return {};
  }
  return std::move(**got);
}

std::string complaint_about(std::string_view bytes) {
  reply_reader reader;
  reader.feed(bytes);
  auto got = reader.next();
  if (got) {
    ADD_FAILURE() << "taken for a reply: " << bytes;
    return {};
  }
  EXPECT_EQ(got.error().code(), errc::protocol_error);
  return got.error().detail();
}

TEST(RedisCommand, IsAListOfCountedWords) {
  EXPECT_EQ(command({"PING"}), "*1\r\n$4\r\nPING\r\n");
  EXPECT_EQ(command({"SET", "", "a\r\nb"}), "*3\r\n$3\r\nSET\r\n$0\r\n\r\n$4\r\na\r\nb\r\n");
}

TEST(RedisReply, OfEachKind) {
  EXPECT_EQ(only_reply("+OK\r\n").text, "OK");
  EXPECT_TRUE(only_reply("+OK\r\n").is(kind::status));
  EXPECT_EQ(only_reply(":-2\r\n").number, -2);
  EXPECT_EQ(only_reply("$5\r\na\r\nb!\r\n").text, "a\r\nb!");
  EXPECT_TRUE(only_reply("$-1\r\n").is(kind::nil));
  EXPECT_TRUE(only_reply("*-1\r\n").is(kind::nil));
  EXPECT_TRUE(only_reply("-ERR no\r\n").is(kind::error));
  EXPECT_EQ(only_reply("-ERR no\r\n").text, "ERR no");
  const reply list = only_reply("*3\r\n:1\r\n*2\r\n$1\r\na\r\n$-1\r\n*0\r\n");
  ASSERT_EQ(list.items.size(), 3U);
  ASSERT_EQ(list.items[1].items.size(), 2U);
  EXPECT_EQ(list.items[1].items[0].text, "a");
  EXPECT_TRUE(list.items[1].items[1].is(kind::nil));
  EXPECT_TRUE(list.items[2].is(kind::list));
}

TEST(RedisReply, IsTheSameInPiecesOfAnySize) {
  const std::string stream = "*2\r\n:12\r\n*2\r\n$3\r\nabc\r\n+OK\r\n-ERR x\r\n$0\r\n\r\n";
  for (std::size_t piece = 1; piece < stream.size(); ++piece) {
    reply_reader reader;
    std::vector<reply> got;
    for (std::size_t at = 0; at < stream.size(); at += piece) {
      reader.feed(std::string_view(stream).substr(at, piece));
      while (true) {
        auto next = reader.next();
        ASSERT_TRUE(next.has_value());
        if (!*next) {
          break;
        }
        got.push_back(std::move(**next));
      }
    }
    ASSERT_EQ(got.size(), 3U) << "in pieces of " << piece;
    EXPECT_EQ(got[0].items[1].items[0].text, "abc");
    EXPECT_EQ(got[1].text, "ERR x");
    EXPECT_EQ(got[2].text, "");
  }
}

TEST(RedisReply, ThatIsNoneSaysWhatKindOfServerThisMayBe) {
  EXPECT_THAT(complaint_about("HTTP/1.1 400 Bad Request\r\n"), HasSubstr("HTTP/1.1 400 Bad Request"));
  EXPECT_THAT(complaint_about(std::string("\x15\x03\x01\x1b[2J", 7)), ::testing::Not(HasSubstr("\x1b")));
}

TEST(RedisReply, WithALengthThatIsALieTakesNoMemoryForIt) {
  reply_reader reader;
  reader.feed("*2147483647\r\n:1\r\n");  // two thousand million items announced, one there
  const auto got = reader.next();
  EXPECT_TRUE(!got || !*got);
}

TEST(RedisReply, ThatNeverEndsIsGivenUp) {
  reply_reader reader;
  reader.feed("$500000000\r\n");
  const std::string piece(std::size_t{1} << 20U, 'x');
  for (int i = 0; i < 7; ++i) {
    reader.feed(piece);
    const auto got = reader.next();
    ASSERT_TRUE(got && !*got);
  }
  for (int i = 0; i < 2; ++i) {
    reader.feed(piece);
  }
  EXPECT_FALSE(reader.next().has_value());
  EXPECT_FALSE(reader.next().has_value()) << "and stays so";
}

TEST(RedisReply, OfTooManyPartsIsGivenUp) {
  reply_reader reader;
  reader.feed("*2000000000\r\n");
  std::string piece;
  for (int i = 0; i < 10'000; ++i) {
    piece += ":1\r\n";
  }
  for (int i = 0; i < 9; ++i) {
    reader.feed(piece);
    ASSERT_TRUE(reader.next().has_value());
  }
  reader.feed(piece);
  const auto got = reader.next();
  ASSERT_FALSE(got.has_value());
  EXPECT_THAT(got.error().detail(), HasSubstr("100,000 parts"));
}

TEST(RedisReply, OfManyPartsLeavesRoomForTheNext) {
  reply_reader reader;
  std::string list = "*60000\r\n";
  for (int i = 0; i < 60'000; ++i) {
    list += ":1\r\n";
  }
  for (int i = 0; i < 3; ++i) {
    reader.feed(list);
    const auto got = reader.next();
    ASSERT_TRUE(got && *got);
  }
}

TEST(RedisReply, NestedTooDeepIsRefused) {
  std::string deep;
  for (int i = 0; i < 50; ++i) {
    deep += "*1\r\n";
  }
  complaint_about(deep + ":1\r\n");
}

}  // namespace
}  // namespace cremone::redis
