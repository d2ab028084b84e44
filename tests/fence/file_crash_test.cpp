// SPDX-License-Identifier: Apache-2.0
//
// Writers that are killed: after each of their system calls in turn, and anywhere. What they leave is the old content or the new one, a token that
// never went down, and nothing that the next write does not remove.
#include "fence/file_fixture.hpp"
#include "fence/file_slots.hpp"
#include "fence/file_trace.hpp"
#include "fence/no_tmpfile.hpp"
#include "fence/stepped_child.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <chrono>
#include <cstring>
#include <iostream>
#include <random>
#include <thread>

namespace cremone::test {

namespace {

using ::testing::AnyOf;
using ::testing::ElementsAre;
using ::testing::Eq;

constexpr const char* no_file = "(no file)";

/// Writes by hand the note of an append of `added` of which `there` reached the file.
void leave_half_append(const std::string& path, const std::string& added, const std::string& there,
                       std::uint64_t token) {
  const auto reading = [](const std::string& text) -> fence::reader {
    return [text](std::uint64_t offset, std::size_t most) -> result<std::string> {
      return text.substr(offset, most);
    };
  };
  const std::string before = content_of(path);
  const auto traced =
      fence::trace_of(status_of(path).st_ino, before.size(), added.size(), reading(added), reading(before));
  ASSERT_TRUE(traced);
  const fence::slot::addition begun = *traced;
  fill(path + ".fence",
       fence::encode({40, fence_token(token), {}}) + fence::encode({41, fence_token(token), begun}));
  std::ofstream(path, std::ios::app) << there;
}

/// In memory, for this process alone: to be killed makes no difference between disks, and thousands of syncs do.
class FencedFileKilled : public FencedFile {
 protected:
  FencedFileKilled() {
    const bool mounted = ::unshare(CLONE_NEWNS) == 0 &&
                         ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
                         ::mount("tmpfs", directory_.path().c_str(), "tmpfs", 0, "size=200m") == 0;
    EXPECT_TRUE(mounted) << "this test needs root, to mount a disk in memory: " << std::strerror(errno);
  }
  ~FencedFileKilled() override { ::umount2(directory_.path().c_str(), MNT_DETACH); }

  struct story {
    const char* old;                                ///< before, with token 5; no_file: neither file nor token
    std::function<result<void>(fenced_file&)> act;  ///< with token 7
    const char* then;                               ///< what it makes
    bool tmpfile = true;
    bool half_append = false;  ///< of somebody before, which is to be cut off
  };

  void prepare(const story& s, const std::string& at) {
    std::filesystem::remove_all(at);
    std::filesystem::create_directory(at);
    if (s.old != no_file) {
      ASSERT_TRUE(fenced_file(at + "/f").write(fence_token(5), s.old));
    }
    if (s.half_append) {
      leave_half_append(at + "/f", "abcdef", "abc", 5);
    }
  }

  /// Kills the story after each of its steps. Each time it must be old or new, and go on.
  void kill_after_each_step(const story& s) {
    const std::string at = path("step");
    int old = 0;
    int made = 0;
    for (int steps = 1;; ++steps) {
      SCOPED_TRACE("killed after system call " + std::to_string(steps));
      prepare(s, at);
      stepped_child child([&] {
        fenced_file file(at + "/f");
        return (s.tmpfile || forbid_unnamed_files()) && s.act(file) ? 0 : 1;
      });
      bool running = true;
      for (int i = 0; i < steps && running; ++i) {
        running = child.step();
      }
      if (!running) {
        EXPECT_EQ(child.exit_code(), 0);
        EXPECT_EQ(content_of(at + "/f"), s.then);
        break;
      }
      child.kill();
      (look_at_what_is_left(s, at) ? made : old)++;
      if (HasFailure()) {
        return;
      }
    }
    EXPECT_GT(old, 10);
    EXPECT_GT(made, 0);
    std::cout << old << " steps leave the old content, " << made << " the new\n";
  }

  /// True if it is the new content.
  bool look_at_what_is_left(const story& s, const std::string& at) {
    const std::uint64_t before = s.old == no_file ? 0 : 5;
    const std::uint64_t token = highest_of(at + "/f");
    EXPECT_THAT(token, AnyOf(Eq(before), Eq(7U)));
    const fenced_file file(at + "/f");
    // A part of an append may be there until the next who comes.
    EXPECT_TRUE(file.check(fence_token(7)));
    const std::string content = content_of(at + "/f");
    EXPECT_THAT(content, AnyOf(Eq(s.old), Eq(s.then)));
    EXPECT_TRUE(content != s.then || token == 7U) << "new content, and the token is " << token;
    EXPECT_EQ(file.write(fence_token(6), "late").error().code(), errc::stale_token);
    EXPECT_TRUE(file.append(fence_token(8), "+"));
    EXPECT_EQ(content_of(at + "/f"), (content == no_file ? "" : content) + "+");
    next_write_of_the_same_kind(s, at);
    EXPECT_THAT(names_in(at), ElementsAre("f", "f.fence"));
    EXPECT_EQ(content_of(at + "/f"), "next");
    return content == s.then;
  }

  static void next_write_of_the_same_kind(const story& s, const std::string& at) {
    stepped_child next([&] {
      return (s.tmpfile || forbid_unnamed_files()) && fenced_file(at + "/f").write(fence_token(8), "next")
                 ? 0
                 : 1;
    });
    next.leave_stopped();
    EXPECT_EQ(next.resume(), 0);
  }
};

TEST_F(FencedFileKilled, AtAnyStepOfAWriteLeavesTheOldOrTheNew) {
  kill_after_each_step({"old", [](fenced_file& f) { return f.write(fence_token(7), "the new"); }, "the new"});
}

TEST_F(FencedFileKilled, AtAnyStepOfTheFirstWriteLeavesNoFileOrAllOfIt) {
  kill_after_each_step(
      {no_file, [](fenced_file& f) { return f.write(fence_token(7), "the new"); }, "the new"});
}

TEST_F(FencedFileKilled, AtAnyStepOfAWriteFromASourceLeavesTheOldOrTheNew) {
  kill_after_each_step(
      {"old", [](fenced_file& f) { return f.write(fence_token(7), pieces_of("the new", 2)); }, "the new"});
}

TEST_F(FencedFileKilled, AtAnyStepOfAnAppendLeavesAllOfItOrNothing) {
  kill_after_each_step(
      {"old", [](fenced_file& f) { return f.append(fence_token(7), " and new"); }, "old and new"});
}

TEST_F(FencedFileKilled, AtAnyStepOfAnAppendFromASourceLeavesAllOfItOrNothing) {
  // In pieces of 64 kB: killed between two of them, a part is there.
  static const std::string more(150'000, 'm');
  static const std::string all = "old" + more;
  kill_after_each_step(
      {"old", [](fenced_file& f) { return f.append(fence_token(7), pieces_of(more, 65536)); }, all.c_str()});
}

TEST_F(FencedFileKilled, AtAnyStepOfTheFirstAppendLeavesNoFileOrAllOfIt) {
  kill_after_each_step(
      {no_file, [](fenced_file& f) { return f.append(fence_token(7), "the new"); }, "the new"});
}

TEST_F(FencedFileKilled, AtAnyStepWhileItEndsAnothersHalfAppendLeavesTheOldOrTheNew) {
  kill_after_each_step(
      {"old", [](fenced_file& f) { return f.append(fence_token(7), "XYZ"); }, "oldXYZ", true, true});
  kill_after_each_step(
      {"old", [](fenced_file& f) { return f.write(fence_token(7), "new"); }, "new", true, true});
}

TEST_F(FencedFileKilled, AtAnyStepWhereFilesNeedANameLeavesTheOldOrTheNew) {
  kill_after_each_step(
      {"old", [](fenced_file& f) { return f.write(fence_token(7), "the new"); }, "the new", false});
  kill_after_each_step(
      {no_file, [](fenced_file& f) { return f.write(fence_token(7), "the new"); }, "the new", false});
}

TEST_F(FencedFileKilled, InTheMiddleOfTheBytesOfAnAppendIsEndedByTheNext) {
  const fenced_file file(path());
  const auto begin = [&](const std::string& there) {
    fill(path(), "old\n");
    leave_half_append(path(), "added\n", there, 5);
  };
  begin("add");
  EXPECT_TRUE(file.append(fence_token(6), "next\n"));
  EXPECT_EQ(content_of(path()), "old\nnext\n") << "cut off";
  begin("added\n");
  EXPECT_TRUE(file.append(fence_token(6), "next\n"));
  EXPECT_EQ(content_of(path()), "old\nadded\nnext\n") << "it was all there";
  begin(std::string(6, '\0'));  // as a power cut may leave it
  EXPECT_TRUE(file.check(fence_token(5)));
  EXPECT_EQ(content_of(path()), "old\n") << "as long as it should be, but not it";
  EXPECT_EQ(content_of(path("report.fence-cut")), std::string(6, '\0')) << "whose that is, nobody knows";
  begin("");
  EXPECT_FALSE(file.append(fence_token(4), "late\n"));
  EXPECT_EQ(content_of(path()), "old\n");
}

TEST_F(FencedFileKilled, DoesNotCutWhatSomebodyElseWroteSince) {
  const fenced_file file(path());
  fill(path(), "old\n");
  leave_half_append(path(), "added\n", "addand much more", 5);
  EXPECT_TRUE(file.check(fence_token(5)));
  EXPECT_EQ(content_of(path()), "old\naddand much more") << "it has grown beyond what was to be added";
  fill(path(), "old\n");
  leave_half_append(path(), "added\n", "", 5);
  fill(path(), "o");
  EXPECT_TRUE(file.check(fence_token(5)));
  EXPECT_EQ(content_of(path()), "o") << "it was cut by somebody else";
  fill(path(), "old\n");
  leave_half_append(path(), "added\n", "add", 5);
  fill(path("other"), "another");
  std::filesystem::rename(path("other"), path());
  EXPECT_TRUE(file.check(fence_token(5)));
  EXPECT_EQ(content_of(path()), "another") << "it is another file";
  fill(path(), "old\n");
  leave_half_append(path(), "added\n", "add", 5);
  std::filesystem::remove(path());
  EXPECT_TRUE(file.append(fence_token(5), "new\n"));
  EXPECT_EQ(content_of(path()), "new\n") << "it is gone";
}

TEST_F(FencedFileKilled, LosesNothingThatSomebodyElseAddedBehindItsPart) {
  const std::string aside = path("report.fence-cut");
  const fenced_file file(path());
  for (const std::size_t size : {std::size_t{100}, std::size_t{5'000}, std::size_t{3'000'000}}) {
    SCOPED_TRACE(size);
    std::string added;
    while (added.size() < size) {
      added += std::to_string(added.size()) + "\n";
    }
    for (const std::size_t there : {std::size_t{0}, std::size_t{37}, size / 2 + 1}) {
      std::filesystem::remove(aside);
      fill(path(), "old\n");
      ASSERT_EQ(::chmod(path().c_str(), 0640), 0);
      leave_half_append(path(), added, added.substr(0, there) + "PRECIOUS\n", 5);
      EXPECT_TRUE(file.append(fence_token(6), "next\n"));
      EXPECT_EQ(content_of(path()), "old\nnext\n");
      const std::string kept = content_of(aside);
      EXPECT_TRUE(kept.ends_with("PRECIOUS\n")) << kept.size() << " bytes";
      EXPECT_LE(kept.size(), size / 90 + 10) << "what is proven to be ours is not kept";
      EXPECT_EQ(mode_of(aside), 0640U);
    }
  }
  fill(path(), "old\n");
  leave_half_append(path(), "added again\n", "addMORE\n", 6);
  const std::string before = content_of(aside);
  EXPECT_TRUE(file.check(fence_token(6)));
  EXPECT_EQ(content_of(aside), before + "MORE\n") << "behind what is there already";
}

TEST_F(FencedFileKilled, LeavesALogAloneThatWasEmptiedAndBegunAnew) {
  fill(path(), "some old lines\n");
  leave_half_append(path(), "added line\n", "add", 5);
  fill(path(), "a new log of ours\nby others\n");
  fill(path(), content_of(path()).substr(0, 20));  // as long as the append might have made it
  EXPECT_TRUE(fenced_file(path()).append(fence_token(5), "+"));
  EXPECT_EQ(content_of(path()), "a new log of ours\nby+");
  EXPECT_THAT(names_in(directory_.path()), ElementsAre("report", "report.fence"));
}

TEST_F(FencedFileKilled, DoesNotGoOnWhereTheUnknownCannotBeSetAside) {
  fill(path(), "old\n");
  leave_half_append(path(), "added\n", "adPREC", 5);
  std::filesystem::create_symlink("elsewhere", path("report.fence-cut"));
  EXPECT_THAT(fenced_file(path()).check(fence_token(5)).error().message(), ::testing::HasSubstr("fence-cut"));
  EXPECT_EQ(content_of(path()), "old\nadPREC");
  std::filesystem::remove(path("report.fence-cut"));
  EXPECT_TRUE(fenced_file(path()).check(fence_token(5)));
  EXPECT_EQ(content_of(path()), "old\n");
  EXPECT_EQ(content_of(path("report.fence-cut")), "PREC");
}

TEST_F(FencedFileKilled, WhileItsDraftHasANameLeavesItToTheNextButNotOneThatIsAtWork) {
  fill(path(".report.fence-new-0"), "dead");
  fill(path(".report.fence-new-1"), "alive");
  const int alive = ::open(path(".report.fence-new-1").c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_EQ(::flock(alive, LOCK_EX), 0);
  // Numbers are taken from 0 on, so that a second one in the same directory passes by the first and by the live one.
  stepped_child writer([&] {
    auto nested = [&, asked = 0](std::span<char> to) mutable -> result<std::size_t> {
      if (asked++ > 0) {
        return std::size_t{0};
      }
      const auto inner = fenced_file(path()).write(fence_token(1), "inner");
      to[0] = inner ? 'y' : 'n';
      return std::size_t{1};
    };
    return forbid_unnamed_files() && fenced_file(path()).write(fence_token(1), std::move(nested)) ? 0 : 1;
  });
  writer.leave_stopped();
  EXPECT_EQ(writer.resume(), 0);
  EXPECT_EQ(content_of(path()), "y");
  EXPECT_THAT(names_in(directory_.path()), ElementsAre(".report.fence-new-1", "report", "report.fence"));
  EXPECT_EQ(content_of(path(".report.fence-new-1")), "alive");
  ::close(alive);
}

// ---- anywhere -----------------------------------------------------------------------------------------------------------------------------

/// `TOKEN SIZE` and a line of as many letters as it says, so that any part can be told from the whole.
std::string block(std::uint64_t token, std::size_t size) {
  return std::to_string(token) + " " + std::to_string(size) + "\n" +
         std::string(size, static_cast<char>('a' + token % 26)) + "\n";
}

/// The tokens of the blocks that this is made of; fails unless it is made of whole blocks.
std::vector<std::uint64_t> tokens_of(std::string_view content) {
  std::vector<std::uint64_t> tokens;
  while (!content.empty()) {
    std::istringstream line{std::string(content.substr(0, content.find('\n')))};
    std::uint64_t token = 0;
    std::size_t size = 0;
    line >> token >> size;
    const std::string expected = block(token, size);
    if (content.substr(0, expected.size()) != expected) {
      ADD_FAILURE() << "torn after " << tokens.size() << " blocks";
      return tokens;
    }
    tokens.push_back(token);
    content.remove_prefix(expected.size());
  }
  return tokens;
}

/// As somebody who was killed leaves it.
bool append_is_open(const std::string& path) {
  const std::string text = content_of(path + ".fence");
  std::optional<fence::slot> newest;
  for (std::size_t at = 0; at < text.size(); at += fence::slot_size) {
    const auto slot = fence::decode(text.substr(at, fence::slot_size));
    newest = slot && (!newest || slot->turn > newest->turn) ? slot : newest;
  }
  return newest && newest->begun;
}

/// An append that fails when its file has 200 kB, and into which somebody adds a line as soon as `now` says so.
void fail_with_a_line_between(const std::string& at, const std::function<bool()>& now) {
  fill(at, std::string(100'000, 'o'));
  ASSERT_TRUE(fenced_file(at).check(fence_token(5)));
  stepped_child child([&] {
    const rlimit most{200'000, 200'000};
    ::signal(SIGXFSZ, SIG_IGN);
    const bool limited = ::setrlimit(RLIMIT_FSIZE, &most) == 0;
    const auto done = fenced_file(at).append(fence_token(6), pieces_of(std::string(150'000, 'n'), 65536));
    return limited && !done && done.error().message().find("cannot append to") != std::string::npos ? 0 : 1;
  });
  while (!now()) {
    ASSERT_TRUE(child.step());
  }
  std::ofstream(at, std::ios::app) << "PRECIOUS\n";
  child.leave_stopped();
  EXPECT_EQ(child.resume(), 0);
}

TEST_F(FencedFileKilled, IsNotNeededForAnAppendThatFailsToTakeBackOnlyItsOwn) {
  const std::string old(100'000, 'o');
  fail_with_a_line_between(path("before"), [&] { return append_is_open(path("before")); });
  EXPECT_TRUE(content_of(path("before")) == old + "PRECIOUS\n") << status_of(path("before")).st_size;
  fail_with_a_line_between(path("between"), [&] { return status_of(path("between")).st_size > 100'000; });
  EXPECT_TRUE(fenced_file(path("between")).check(fence_token(6)));
  EXPECT_TRUE(content_of(path("between")) == old) << status_of(path("between")).st_size;
  EXPECT_TRUE(content_of(path("between.fence-cut")).starts_with("PRECIOUS\n"));
  EXPECT_THAT(names_in(directory_.path()),
              ElementsAre("before", "before.fence", "between", "between.fence", "between.fence-cut"));
}

void kill_anywhere(const std::string& directory, int rounds, unsigned long most_microseconds) {
  const std::string at_state = directory + "/state";
  const std::string at_log = directory + "/log";
  std::mt19937 random(8);
  std::uint64_t token = 1;
  const fenced_file state(at_state);
  const fenced_file log(at_log);
  int interrupted_appends = 0;
  int finished = 0;
  std::size_t in_log = 0;
  for (int round = 0; round < rounds && !::testing::Test::HasFailure(); ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    const auto seed = random();
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      std::mt19937 sizes(seed);
      for (std::uint64_t mine = token;; ++mine) {
        const std::string bytes = block(mine, 1024 + sizes() % (63 * 1024));
        const bool fine = sizes() % 2 == 0
                              ? state.write(fence_token(mine), bytes) && log.append(fence_token(mine), bytes)
                              : log.append(fence_token(mine), bytes) && state.write(fence_token(mine), bytes);
        if (!fine) {
          ::_exit(1);
        }
      }
    }
    // Within its first steps, and every fourth time wherever in its later ones.
    std::this_thread::sleep_for(
        std::chrono::microseconds(random() % (round % 4 == 3 ? most_microseconds : 5'000)));
    ::kill(child, SIGKILL);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status)) << "it could not write";
    const std::uint64_t highest = std::max(highest_of(at_state), highest_of(at_log));
    interrupted_appends += append_is_open(at_log) ? 1 : 0;
    const std::string whole = content_of(at_state);
    if (whole != no_file) {
      const auto one = tokens_of(whole);
      ASSERT_EQ(one.size(), 1U);
      EXPECT_GE(one[0] + 1, token) << "what was acknowledged is lost";
      EXPECT_LE(one[0], highest_of(at_state));
    }
    EXPECT_GE(highest + 1, token) << "lowered";
    finished += highest > token ? 1 : 0;
    token = std::max(token, highest) + 1;
    ASSERT_TRUE(state.write(fence_token(token), block(token, 5)));
    ASSERT_TRUE(log.append(fence_token(token), block(token, 5)));
    const auto tokens = tokens_of(content_of(at_log));
    EXPECT_TRUE(std::is_sorted(tokens.begin(), tokens.end()));
    EXPECT_GT(tokens.size(), in_log);
    in_log = tokens.size();
    if (round % 5 == 4) {
      EXPECT_THAT(names_in(directory), ElementsAre("log", "log.fence", "state", "state.fence"));
      ASSERT_TRUE(log.write(fence_token(token), ""));  // or it grows to where reading it takes the time
      in_log = 0;
    }
  }
  EXPECT_GT(interrupted_appends, 0);
  EXPECT_GT(finished, 0);
  std::cout << interrupted_appends << " were killed in an append, " << finished
            << " after their first two writes; the last token was " << token << "\n";
}

TEST_F(FencedFileKilled, AnywhereFiveHundredTimesLeavesNothingTornAndNoTokenLowered) {
  kill_anywhere(directory_.path(), 500, 8'000);
}

TEST_F(FencedFile, KilledAnywhereOnARealDiskLeavesNothingTornAndNoTokenLowered) {
  kill_anywhere(directory_.path(), 50, 40'000);
}

}  // namespace

}  // namespace cremone::test
