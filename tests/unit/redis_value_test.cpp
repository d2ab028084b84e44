// SPDX-License-Identifier: Apache-2.0
//
// Checks the value at a lock's key: what we write is read back, what others write is never taken for ours, and the
// bucket of a name is what every client computes.
#include "backends/redis/digest.hpp"
#include "backends/redis/value.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <set>
#include <string>

namespace cremone::redis {
namespace {

using ::testing::StartsWith;

owner_id some_owner() {
  owner_id::bytes raw{};
  for (std::size_t i = 0; i < raw.size(); ++i) {
    raw[i] = static_cast<std::uint8_t>(i * 13);
  }
  return owner_id(raw);
}

TEST(RedisValue, HasTheForm) {
  const owner_data who{"db1.example", 4711, "ann", "nightly: part 2", {}};
  EXPECT_EQ(encode_value(some_owner(), who),
            "cremone1:" + some_owner().hex() + ":db1.example:4711:nightly: part 2");
  EXPECT_THAT(encode_value(some_owner(), who), StartsWith(owner_mark(some_owner())));
}

TEST(RedisValue, IsReadBackAsItWasWritten) {
  for (const std::string label : {"", ":", "a:b:c", "Bericht für März", "\xff\xfe", "cremone1:"}) {
    const owner_data who{"host", 1LL << 40U, "ann", label, {}};
    const hold_record seen = decode_value(encode_value(some_owner(), who));
    EXPECT_TRUE(seen.foreign.empty());
    EXPECT_EQ(seen.version.owner, some_owner());
    EXPECT_EQ(seen.owner.host, who.host);
    EXPECT_EQ(seen.owner.pid, who.pid);
    EXPECT_EQ(seen.owner.label, label);
  }
}

TEST(RedisValue, OfAHostWithColonsIsStillReadBack) {
  const hold_record seen = decode_value(encode_value(some_owner(), {"fe80::1", 5, "", "label", {}}));
  EXPECT_TRUE(seen.foreign.empty());
  EXPECT_EQ(seen.owner.pid, 5);
  EXPECT_EQ(seen.owner.label, "label");
}

TEST(RedisValue, IsShorterThanWhatTheScriptsReturn) {
  const owner_data longest{
      std::string(300, 'h'), std::numeric_limits<std::int64_t>::min(), "", std::string(256, 'l'), {}};
  EXPECT_LT(encode_value(some_owner(), longest).size(), longest_value);
}

TEST(RedisValue, OfAnotherProgramIsForeign) {
  const std::string hex = some_owner().hex();
  for (const std::string& value :
       {std::string(), std::string("1"), hex, "cremone1:" + hex, "cremone1:" + hex + ":",
        "cremone1:" + hex + ":host", "cremone1:" + hex + ":host:", "cremone1:" + hex + ":host:x:label",
        "cremone1:" + hex + ":host:1x:label", "cremone2:" + hex + ":host:1:label",
        "cremone1:" + std::string(40, 'Z') + ":host:1:label", std::string(10'000, 'x')}) {
    const hold_record seen = decode_value(value);
    EXPECT_FALSE(seen.foreign.empty()) << value;
    EXPECT_LT(seen.foreign.size(), 100U);
    EXPECT_EQ(seen.version.owner, owner_id(sha1(value)));
    EXPECT_EQ(seen.owner.pid, 0);
  }
}

TEST(RedisValue, CannotMakeATerminalObey) {
  EXPECT_EQ(decode_value("\x1b[2J").foreign.find('\x1b'), std::string::npos);
  const hold_record forged = decode_value("cremone1:" + some_owner().hex() + ":h\x1b[1m:1:l\x1b[2J");
  EXPECT_EQ(forged.owner.host.find('\x1b'), std::string::npos);
  EXPECT_EQ(forged.owner.label.find('\x1b'), std::string::npos);
}

TEST(RedisDigest, IsSha1) {
  EXPECT_EQ(sha1_hex("abc"), "a9993e364706816aba3e25717850c26c9cd0d89d");
  EXPECT_EQ(sha1_hex(""), "da39a3ee5e6b4b0d3255bfef95601890afd80709");
}

TEST(RedisDigest, PutsNamesIntoBucketsByTheFirst32Bits) {
  EXPECT_EQ(bucket_of("abc"), 0xa9993e36U % 1024U);
  std::set<std::uint32_t> used;
  for (int i = 0; i < 20'000; ++i) {
    used.insert(bucket_of("name-" + std::to_string(i)));
  }
  EXPECT_EQ(used.size(), bucket_count) << "names are spread over all of them";
}

}  // namespace
}  // namespace cremone::redis
