// SPDX-License-Identifier: Apache-2.0
//
// What the tests of the fenced file share: a directory, what stands in its files, and what else is left there.
#pragma once

#include "support/temp_directory.hpp"

#include <cremone/fenced_file.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <span>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace cremone::test {

inline std::string content_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    return "(no file)";
  }
  std::ostringstream all;
  if (file.peek() != std::ifstream::traits_type::eof()) {
    all << file.rdbuf();
  }
  return all.str();
}

inline void fill(const std::string& path, const std::string& content) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << content;
}

/// Sorted.
inline std::vector<std::string> names_in(const std::string& directory) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    names.push_back(entry.path().filename());
  }
  std::sort(names.begin(), names.end());
  return names;
}

inline struct stat status_of(const std::string& path) {
  struct stat status {};
  EXPECT_EQ(::lstat(path.c_str(), &status), 0) << path;
  return status;
}

inline unsigned mode_of(const std::string& path) { return status_of(path).st_mode & 07777U; }

/// The highest token as a number, for messages; a failure is one of the test's.
inline std::uint64_t highest_of(const std::string& path) {
  const auto highest = fenced_file(path).highest();
  EXPECT_TRUE(highest) << highest.error();
  return highest ? highest->value() : 0;
}

/// Gives a text away in pieces of this size.
inline fenced_file::source pieces_of(std::string text, std::size_t size = 7) {
  return
      [text = std::move(text), size, at = std::size_t{0}](std::span<char> to) mutable -> result<std::size_t> {
        const std::size_t n = std::min({size, to.size(), text.size() - at});
        std::copy_n(text.data() + at, n, to.data());
        at += n;
        return n;
      };
}

/// For children: what is wrong, as text.
inline std::string wrong_unless(const result<void>& done) { return done ? "" : done.error().message(); }

class FencedFile : public ::testing::Test {
 protected:
  [[nodiscard]] std::string path(const std::string& name = "report") const { return directory_.file(name); }

  temp_directory directory_;
};

}  // namespace cremone::test
