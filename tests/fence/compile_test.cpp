// SPDX-License-Identifier: Apache-2.0
//
// What a guarded write is let pass by is a fence token, and nothing that merely looks like one: anything else in its place does not compile. Each
// write is asked with a token too, so that a sentence that is wrong for another reason is noticed.
#include <cremone/cremone.hpp>
#include <cremone/fence_redis.hpp>
#include <cremone/fence_sql.hpp>
#include <cremone/fence_sqlite.hpp>
#include <cremone/fenced_file.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace cremone::test {

namespace {

using columns = std::span<const fence::sql_column>;
using strings = std::span<const std::string>;

// Each takes what stands in the token's place, which may be nothing at all.
template <class... Token>
concept transacts = requires(fence::sql_gate& g, callback<result<void>()> f, Token... t) {
  g.transact("r", t..., std::move(f));
};
template <class... Token>
concept checks = requires(fence::sql_gate& g, Token... t) {
  g.check("r", t...);
};
template <class... Token>
concept updates = requires(fence::sql_gate& g, fence::sql_row row, columns set, Token... t) {
  g.update(row, "token", t..., set);
};
template <class... Token>
concept checks_lock = requires(sqlite3* d, Token... t) {
  fence::check_lock(d, "lock", t...);
};
template <class... Token>
concept sets = requires(fence::redis_gate& g, Token... t) {
  g.set("r", t..., "key", "value");
};
template <class... Token>
concept deletes = requires(fence::redis_gate& g, strings keys, Token... t) {
  g.del("r", t..., keys);
};
template <class... Token>
concept runs = requires(fence::redis_gate& g, strings words, Token... t) {
  g.run("r", t..., "return 1", words, words);
};
template <class... Token>
concept replaces = requires(const fenced_file& f, std::string_view text, Token... t) {
  f.write(t..., text);
};
template <class... Token>
concept appends = requires(const fenced_file& f, std::string_view text, Token... t) {
  f.append(t..., text);
};

template <class... Token>
constexpr int that_compile() {
  return static_cast<int>(transacts<Token...>) + static_cast<int>(checks<Token...>) +
         static_cast<int>(updates<Token...>) + static_cast<int>(checks_lock<Token...>) +
         static_cast<int>(sets<Token...>) + static_cast<int>(deletes<Token...>) +
         static_cast<int>(runs<Token...>) + static_cast<int>(replaces<Token...>) +
         static_cast<int>(appends<Token...>);
}

TEST(GuardedWrite, CompilesWithAFenceToken) { EXPECT_EQ(that_compile<fence_token>(), 9); }

TEST(GuardedWrite, DoesNotCompileWithoutAToken) { EXPECT_EQ(that_compile<>(), 0); }

TEST(GuardedWrite, DoesNotCompileWithTheTokenOfAReader) { EXPECT_EQ(that_compile<read_token>(), 0); }

TEST(GuardedWrite, DoesNotCompileWithWhatMerelyLooksLikeAToken) {
  EXPECT_EQ(that_compile<int>(), 0);
  EXPECT_EQ(that_compile<std::uint64_t>(), 0);
  EXPECT_EQ(that_compile<std::string>(), 0);
  EXPECT_EQ(that_compile<owner_id>(), 0);
  EXPECT_EQ(that_compile<lock_name>(), 0);
  EXPECT_EQ(that_compile<fence::mark>(), 0);
}

}  // namespace

}  // namespace cremone::test
