// SPDX-License-Identifier: Apache-2.0
//
// The two lines of FILE.fence as text: what is read is what was written, and nothing else is read at all.
#include "fence/file_slots.hpp"
#include "fence/file_trace.hpp"

#include <gtest/gtest.h>

namespace cremone::fence {

namespace {

const slot idle{17, fence_token(41), {}};
const slot busy{18, fence_token((std::uint64_t{1} << 63U) - 1),
                slot::addition{~std::uint64_t{0}, 1, 2, 3, 4, {0xdeadbeefU, 0}}};

TEST(FencedFileSlot, IsReadAsItWasWritten) {
  EXPECT_EQ(decode(encode(idle)), idle);
  EXPECT_EQ(decode(encode(busy)), busy);
  EXPECT_EQ(decode(encode({})), slot{});
}

TEST(FencedFileSlot, HasOneSizeAndIsOneLineOfText) {
  for (const slot& s : {idle, busy}) {
    const std::string line = encode(s);
    EXPECT_EQ(line.size(), slot_size);
    EXPECT_EQ(line.find('\n'), slot_size - 1);
  }
}

TEST(FencedFileSlot, HasRoomForTheLongestNoteThatIsMade) {
  const fence::reader zeros = [](std::uint64_t, std::size_t most) -> result<std::string> {
    return std::string(most, '\0');
  };
  std::size_t most = 0;
  for (std::uint64_t length = 1; length < 20'000'000; length = length * 5 / 4 + 1) {
    for (const std::uint64_t before : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{1} << 62U}) {
      const auto note = trace_of(~std::uint64_t{0}, before, length, zeros, zeros);
      ASSERT_TRUE(note);
      most = std::max(most, note->sums.size());
      const slot full{~std::uint64_t{0}, fence_token((std::uint64_t{1} << 63U) - 1), *note};
      EXPECT_EQ(decode(encode(full)), full) << length;
    }
  }
  slot longest{~std::uint64_t{0}, fence_token((std::uint64_t{1} << 63U) - 1), slot::addition{}};
  const std::uint64_t wide = ~std::uint64_t{0};
  *longest.begun = {wide, wide, wide, wide, wide, std::vector<std::uint64_t>(most, wide)};
  EXPECT_EQ(decode(encode(longest)), longest) << most << " sums";
}

TEST(FencedFileSlot, IsNotReadWhenAnyOfItsBytesIsAnother) {
  const std::string line = encode(busy);
  for (std::size_t at = 0; at < line.size(); ++at) {
    std::string torn = line;
    torn[at] = torn[at] == '1' ? '2' : '1';
    EXPECT_EQ(decode(torn), std::nullopt) << "byte " << at;
  }
}

TEST(FencedFileSlot, IsNotReadWhenItsBeginningIsTheNewOneAndItsEndTheOld) {
  const std::string before = encode({8, fence_token(99), {}});
  const std::string after = encode({10, fence_token(100), slot::addition{5, 6, 7, 8, 9, {10, 11}}});
  for (std::size_t at = 1; at < slot_size; ++at) {
    const auto read = decode(after.substr(0, at) + before.substr(at));
    EXPECT_TRUE(!read || read->turn == 8 || read->turn == 10) << "torn after " << at;
    EXPECT_TRUE(!read || encode(*read) == before || encode(*read) == after) << "torn after " << at;
  }
}

TEST(FencedFileSlot, OfAnotherVersionOrLengthIsNotRead) {
  EXPECT_EQ(decode(""), std::nullopt);
  EXPECT_EQ(decode(std::string(slot_size, ' ')), std::nullopt);
  EXPECT_EQ(decode(std::string(slot_size, '\0')), std::nullopt);
  EXPECT_EQ(decode(encode(idle) + " "), std::nullopt);
  std::string other = encode(idle);
  other.replace(14, 1, "2");
  EXPECT_EQ(decode(other), std::nullopt);
  EXPECT_TRUE(resembles_slots(other));
  EXPECT_FALSE(resembles_slots("a;b;c\n"));
  EXPECT_FALSE(resembles_slots(""));
}

}  // namespace

}  // namespace cremone::fence
