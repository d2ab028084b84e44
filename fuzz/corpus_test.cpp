// SPDX-License-Identifier: Apache-2.0
//
// Replays the corpus without a fuzzer, so that what it once found stays found.
#include "fuzz/replies.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace cremone::fuzz {
namespace {

TEST(Corpus, NothingThatAServerOnceSaidDoesHarm) {
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(CREMONE_CORPUS)) {
    SCOPED_TRACE(entry.path().string());
    std::ifstream in(entry.path(), std::ios::binary);
    const std::string input{std::istreambuf_iterator<char>(in), {}};
    ASSERT_TRUE(in.good() || in.eof());
    answer_with(input);
    ++files;
  }
  EXPECT_GT(files, 20U) << "is this the corpus?";
}

}  // namespace
}  // namespace cremone::fuzz
