// SPDX-License-Identifier: Apache-2.0
//
// `fence write` that is killed at any moment, and several of them at once: the file is a whole old one or a whole new one, its token never
// falls, and nothing piles up beside it.
#include "base/descriptor.hpp"
#include "cli/fence_fixture.hpp"

#include <cremone/fenced_file.hpp>

#include <fcntl.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

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

/// Draws how long after its beginning, or after the end of its input, a writer is killed, and looks at what it has left.
class FenceKill : public FenceCrash {
 protected:
  using microseconds = std::chrono::microseconds;

  FenceKill() {
    std::filesystem::create_directory(place);
    EXPECT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  }

  void TearDown() override {
    EXPECT_EQ(run(writing(file, token), with(content_of(token))).code, 0);
    EXPECT_EQ(names_in(place), (std::set<std::string>{"f", "f.fence"})) << "something was left behind";
    EXPECT_GT(killed, blows / 10) << "hardly any was killed";
    EXPECT_GT(written, blows / 100) << "hardly any came to its end";
    RecordProperty("killed", std::to_string(killed));
    RecordProperty("written", std::to_string(written));
    FenceCrash::TearDown();
  }

  /// Kills a writer at a random moment of `span`, and looks at what the writer has left. The span
  /// adapts, so that about half of the blows hit a writer at work, on a fast and on a slow machine.
  void strike(process& tool, microseconds& span) {
    std::this_thread::sleep_for(microseconds(std::uniform_int_distribution<long>(0, span.count())(draw)));
    tool.signal(SIGKILL);
    const finished end = tool.wait();
    span = end.signal == SIGKILL ? span + span / 10 + microseconds(1) : span - span / 10;
    look(end);
  }

  /// Sends the whole input to a writer of the next token, and waits until the writer has read it.
  /// The writer sees the end of its input when the returned descriptor is closed.
  [[nodiscard]] descriptor feed() {
    descriptor end(::open(pipe.c_str(), O_WRONLY | O_CLOEXEC));  // waits for the writer to open it
    const std::string content = content_of(token);
    const auto before = ::signal(SIGPIPE, SIG_IGN);  // a writer that has failed: look() shows why
    for (std::size_t done = 0; done < content.size();) {
      const ssize_t some = ::write(end.get(), content.data() + done, content.size() - done);
      if (some <= 0) {
        ::signal(SIGPIPE, before);
        return end;
      }
      done += static_cast<std::size_t>(some);
    }
    ::signal(SIGPIPE, before);
    int unread = -1;
    EXPECT_TRUE(wait_for([&] { return ::ioctl(end.get(), FIONREAD, &unread) == 0 && unread == 0; }));
    return end;
  }
  [[nodiscard]] std::vector<std::string> writing_from_pipe() const {
    return {"sh", "-c",
            std::string("exec ") + CREMONE_TOOL + " fence write --token " + std::to_string(token) + " " +
                file + " < " + pipe};
  }

  /// What a writer has left that was killed or was quicker.
  void look(const finished& end) {
    const std::uint64_t found = token_in(contents(file));
    const std::uint64_t seen = fenced_file(file).highest().value().value();
    ASSERT_TRUE(found == content_before || found == token) << "torn, or of another: " << found;
    ASSERT_TRUE(end.signal == SIGKILL || (end.code == 0 && found == token))
        << "code " << end.code << ": " << end.err;
    ASSERT_GE(seen, std::max(found, seen_before)) << "the token has fallen, or is lower than the content";
    ASSERT_LE(seen, token);
    ASSERT_LE(names_in(place).size(), 3U) << "the file, its token, and one new content at most";
    killed += end.signal == SIGKILL ? 1U : 0U;
    written += found == token ? 1U : 0U;
    content_before = found;
    seen_before = seen;
    ++token;
  }

  static constexpr std::uint64_t blows = 250;

  const std::string place = dir.file("place");
  const std::string file = place + "/f";
  const std::string pipe = dir.file("pipe");
  const std::random_device::result_type seed = std::random_device{}();
  std::mt19937 draw{seed};
  std::uint64_t token = 1;
  std::uint64_t content_before = 0;
  std::uint64_t seen_before = 0;
  std::uint64_t killed = 0;
  std::uint64_t written = 0;
};

TEST_F(FenceKill, AtAnyMomentLeavesAWholeFileAndNoLowerToken) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  microseconds span{};  // from start to end
  for (int i = 0; i < 5; ++i) {
    const auto start = std::chrono::steady_clock::now();
    ASSERT_NO_FATAL_FAILURE(look(run(writing(file, token), with(content_of(token)))));
    span += std::chrono::duration_cast<microseconds>(std::chrono::steady_clock::now() - start) / 5;
  }
  for (std::uint64_t i = 0; i < blows; ++i) {
    process tool(writing(file, token), with(content_of(token)));
    ASSERT_NO_FATAL_FAILURE(strike(tool, span));
  }
}

TEST_F(FenceKill, WhenItHasReadAllAndWritesLeavesAWholeFileAndNoLowerToken) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  microseconds span{};
  for (int i = 0; i < 5; ++i) {
    process tool(writing_from_pipe(), here());
    auto input = feed();
    const auto start = std::chrono::steady_clock::now();
    input.reset();
    ASSERT_NO_FATAL_FAILURE(look(tool.wait()));
    span += std::chrono::duration_cast<microseconds>(std::chrono::steady_clock::now() - start) / 5;
  }
  for (std::uint64_t i = 0; i < blows; ++i) {
    process tool(writing_from_pipe(), here());
    auto input = feed();
    input.reset();
    ASSERT_NO_FATAL_FAILURE(strike(tool, span));
  }
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
