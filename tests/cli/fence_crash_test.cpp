// SPDX-License-Identifier: Apache-2.0
//
// `fence write` that is killed at any moment, and several of them at once: the file is a whole old one or a whole new one, its token never
// falls, and nothing piles up beside it.
#include "cli/fence_fixture.hpp"

#include <cremone/fenced_file.hpp>

#include <chrono>
#include <filesystem>
#include <memory>
#include <random>
#include <set>
#include <thread>

namespace cremone::test {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t length = 100'000;

/// The content of a token: whole only if all of it is the same.
std::string content_of(std::uint64_t token) {
  std::string line = "token " + std::to_string(token) + "\n";
  std::string all;
  while (all.size() < length) {
    all += line;
  }
  return all;
}

/// What a content is of; 0 if it is torn.
std::uint64_t token_in(const std::string& content) {
  if (!content.starts_with("token ")) {
    return 0;
  }
  const std::uint64_t token = std::stoull(content.substr(6));
  return content == content_of(token) ? token : 0;
}

class FenceCrash : public FenceTool {
 protected:
  [[nodiscard]] surroundings with(const std::string& content) const {
    auto around = here();
    around.input = content;
    return around;
  }

  [[nodiscard]] static std::vector<std::string> writing(const std::string& file, std::uint64_t token) {
    return {CREMONE_TOOL, "fence", "write", "--token", std::to_string(token), file};
  }

  [[nodiscard]] std::set<std::string> names_in(const std::string& directory) const {
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(directory)) {
      names.insert(entry.path().filename());
    }
    return names;
  }
};

TEST_F(FenceCrash, KilledAtAnyMomentItLeavesAWholeFileAndNoLowerToken) {
  constexpr std::uint64_t kills = 500;
  const auto place = dir.file("place");
  std::filesystem::create_directory(place);
  const std::string file = place + "/f";
  const auto seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 draw(seed);

  // How long one takes from start to end, so that the blows fall all over it.
  const auto start = std::chrono::steady_clock::now();
  for (std::uint64_t token = 1; token <= 5; ++token) {
    ASSERT_EQ(run(writing(file, token), with(content_of(token))).code, 0);
  }
  const auto usual =
      std::chrono::duration_cast<std::chrono::microseconds>((std::chrono::steady_clock::now() - start) / 5);

  std::uint64_t before = 5;
  std::uint64_t seen_before = 5;
  std::uint64_t killed = 0;
  std::uint64_t written = 0;
  std::uint64_t most_names = 0;
  for (std::uint64_t token = 6; token < 6 + kills; ++token) {
    process tool(writing(file, token), with(content_of(token)));
    std::this_thread::sleep_for(std::uniform_int_distribution<long>(0, usual.count())(draw) *
                                std::chrono::microseconds(1));
    tool.signal(SIGKILL);
    const auto end = tool.wait();
    killed += end.signal == SIGKILL ? 1U : 0U;
    const std::uint64_t found = token_in(contents(file));
    ASSERT_TRUE(found == before || found == token) << "torn, or of another: " << found << " at " << token;
    ASSERT_TRUE(end.signal == SIGKILL || found == token) << "it said that it was done";
    written += found == token ? 1U : 0U;
    before = found;
    most_names = std::max<std::uint64_t>(most_names, names_in(place).size());
    const std::uint64_t seen = fenced_file(file).highest().value().value();
    ASSERT_GE(seen, std::max(found, seen_before)) << "the token has fallen, or is lower than the content";
    ASSERT_LE(seen, token);
    seen_before = seen;
  }
  EXPECT_GT(killed, kills / 10) << "hardly any was killed";
  EXPECT_GT(written, kills / 100) << "hardly any came to its end";
  EXPECT_LE(most_names, 3U) << "the file, its token, and one new content at most";
  RecordProperty("killed", std::to_string(killed));
  RecordProperty("written", std::to_string(written));
  ASSERT_EQ(run(writing(file, 6 + kills), with(content_of(6 + kills))).code, 0);
  EXPECT_EQ(names_in(place), (std::set<std::string>{"f", "f.fence"})) << "something was left behind";
}

TEST_F(FenceCrash, OfTwoAtOnceTheLaterHolderWinsAndEachIsWhole) {
  const auto file = dir.file("f");
  constexpr std::uint64_t rounds = 40;
  for (std::uint64_t round = 1; round <= rounds; ++round) {
    const std::uint64_t low = 2 * round;
    const std::uint64_t high = low + 1;
    process second(writing(file, high), with(content_of(high)));
    process first(writing(file, low), with(content_of(low)));
    const auto early = first.wait();
    EXPECT_EQ(second.wait().code, 0);
    EXPECT_TRUE(early.code == 0 || early.code == 81) << early.code << early.err;
    ASSERT_EQ(token_in(contents(file)), high);
  }
  EXPECT_EQ(highest(file), std::to_string(2 * rounds + 1));
}

TEST_F(FenceCrash, WhatManyAppendAtOnceIsNeverMixed) {
  const auto log = dir.file("log");
  constexpr int writers = 8;
  std::vector<std::unique_ptr<process>> all;
  for (int i = 0; i < writers; ++i) {
    all.push_back(std::make_unique<process>(
        std::vector<std::string>{CREMONE_TOOL, "fence", "append", "--token", "41", log},
        with(std::string(5000, static_cast<char>('a' + i)) + "\n")));
  }
  for (auto& one : all) {
    EXPECT_EQ(one->wait().code, 0);
  }
  std::set<std::string> lines;
  std::istringstream text(contents(log));
  for (std::string line; std::getline(text, line);) {
    EXPECT_EQ(line, std::string(5000, line.empty() ? ' ' : line[0]));
    lines.insert(line);
  }
  EXPECT_EQ(lines.size(), static_cast<std::size_t>(writers));
}

}  // namespace
}  // namespace cremone::test
