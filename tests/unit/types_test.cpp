// SPDX-License-Identifier: Apache-2.0
//
// Checks the nouns: names, owner ids, tokens and modes, how they compare and are written, and that they cannot be mixed
// up. Which names are valid is decided and tested elsewhere.
#include <cremone/result.hpp>
#include <cremone/types.hpp>

#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <type_traits>
#include <unordered_set>

namespace cremone {
namespace {

TEST(OwnerId, IsWrittenAsFortyHexDigits) {
  EXPECT_EQ(owner_id{}.hex(), std::string(40, '0'));
  owner_id::bytes raw{};
  for (std::size_t i = 0; i < raw.size(); ++i) {
    raw[i] = static_cast<std::uint8_t>(i * 13);
  }
  EXPECT_EQ(owner_id(raw).hex(), "000d1a2734414e5b6875828f9ca9b6c3d0ddeaf7");
}

TEST(OwnerId, WritesEveryByteAsTwoLowerCaseDigits) {
  owner_id::bytes raw{};
  raw.front() = 0x0f;
  raw.back() = 0xa0;
  EXPECT_EQ(owner_id(raw).hex(), "0f" + std::string(36, '0') + "a0");
}

TEST(OwnerId, ComparesByItsBytes) {
  owner_id::bytes raw{};
  raw.back() = 1;
  EXPECT_EQ(owner_id(raw), owner_id(raw));
  EXPECT_NE(owner_id(raw), owner_id{});
  EXPECT_LT(owner_id{}, owner_id(raw));
  EXPECT_EQ(owner_id(raw).raw(), raw);
}

TEST(FenceToken, IsOrderedByItsValue) {
  EXPECT_LT(fence_token(1), fence_token(2));
  EXPECT_EQ(fence_token(7), fence_token(7));
  EXPECT_EQ(fence_token{}.value(), 0U);
  EXPECT_EQ(fence_token::limit, 9'007'199'254'740'992U) << "2^53, above which a double skips numbers";
}

TEST(LockName, IsMadeFromAnyText) {
  EXPECT_EQ(lock_name("a").str(), "a");
  EXPECT_EQ(lock_name(std::string("a\0b", 3)).str().size(), 3U);
  EXPECT_EQ(lock_name(std::string_view("abc").substr(1)).str(), "bc");
  EXPECT_EQ(lock_name(static_cast<const char*>(nullptr)).str(), "");
}

TEST(LockName, ComparesAndHashesByItsText) {
  EXPECT_EQ(lock_name("a"), lock_name(std::string("a")));
  EXPECT_LT(lock_name("a"), lock_name("b"));
  const std::unordered_set<lock_name> names = {"a", "b", "a"};
  EXPECT_EQ(names.size(), 2U);
}

TEST(Mode, HasANameForEachWayToHold) {
  EXPECT_EQ(to_string(mode::exclusive), "exclusive");
  EXPECT_EQ(to_string(mode::shared), "shared");
  EXPECT_EQ(to_string(mode::slot), "slot");
  EXPECT_EQ(to_string(static_cast<mode>(99)), "unknown");
}

TEST(Types, DoNotTurnIntoEachOther) {
  EXPECT_FALSE((std::is_convertible_v<std::uint64_t, fence_token>));
  EXPECT_FALSE((std::is_convertible_v<fence_token, std::uint64_t>));
  EXPECT_FALSE((std::is_convertible_v<owner_id::bytes, owner_id>));
  EXPECT_FALSE((std::is_constructible_v<lock_name, owner_id>));
  EXPECT_FALSE((std::is_constructible_v<owner_id, std::string>));
}

TEST(Printing, ShowsWhatAPersonWouldWrite) {
  std::ostringstream out;
  out << lock_name("nightly") << ' ' << fence_token(42) << ' ' << owner_id{} << ' '
      << error(errc::busy, "no");
  EXPECT_EQ(out.str(), "nightly 42 " + owner_id{}.hex() + " busy: no");
}

}  // namespace
}  // namespace cremone
