// SPDX-License-Identifier: Apache-2.0
//
// The fenced file in one process: the rule, bytes, links, modes, and what is said to wrong input. Crashes, small disks and other users have
// files of their own.
#include "fence/file_fixture.hpp"
#include "fence/file_slots.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

namespace cremone::test {

namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST_F(FencedFile, TakesTheTokensOfLaterHoldersAndRefusesThoseOfEarlierOnes) {
  const fenced_file file(path());
  EXPECT_TRUE(file.write(fence_token(41), "a"));
  EXPECT_TRUE(file.write(fence_token(41), "b"));
  EXPECT_TRUE(file.write(fence_token(57), "c"));
  const auto late = file.write(fence_token(41), "late");
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code(), errc::stale_token);
  EXPECT_THAT(late.error().message(), AllOf(HasSubstr(path()), HasSubstr("41"), HasSubstr("57")));
  EXPECT_EQ(content_of(path()), "c");
  EXPECT_EQ(file.append(fence_token(56), "late").error().code(), errc::stale_token);
  EXPECT_EQ(file.check(fence_token(56)).error().code(), errc::stale_token);
  EXPECT_EQ(content_of(path()), "c");
  EXPECT_THAT(names_in(directory_.path()), ElementsAre("report", "report.fence"));
}

TEST_F(FencedFile, RemembersATokenThatWasOnlyChecked) {
  const fenced_file file(path());
  EXPECT_EQ(highest_of(path()), 0U);
  EXPECT_THAT(names_in(directory_.path()), ElementsAre()) << "a question makes nothing";
  EXPECT_TRUE(file.check(fence_token(5)));
  EXPECT_TRUE(file.check(fence_token(5)));
  EXPECT_EQ(highest_of(path()), 5U);
  EXPECT_EQ(file.write(fence_token(4), "late").error().code(), errc::stale_token);
  EXPECT_THAT(names_in(directory_.path()), ElementsAre("report.fence"));
}

TEST_F(FencedFile, KeepsEveryTokenThatThereIs) {
  const fenced_file file(path());
  constexpr std::uint64_t greatest = fence::token_limit - 1;
  EXPECT_EQ(file.write(fence_token(0), "x").error().code(), errc::invalid_argument);
  EXPECT_EQ(file.write(fence_token(fence::token_limit), "x").error().code(), errc::invalid_argument);
  EXPECT_EQ(file.check(fence_token(0)).error().code(), errc::invalid_argument);
  EXPECT_EQ(file.append(fence_token(0), "x").error().code(), errc::invalid_argument);
  EXPECT_THAT(names_in(directory_.path()), ElementsAre()) << "refused before anything is made";
  EXPECT_TRUE(file.write(fence_token(greatest), "x"));
  EXPECT_EQ(highest_of(path()), greatest);
  EXPECT_FALSE(file.write(fence_token(greatest - 1), "x"));
}

TEST_F(FencedFile, HasWhateverBytesWereWritten) {
  const fenced_file file(path());
  std::string large(10'000'000, '\0');
  for (std::size_t i = 0; i < large.size(); ++i) {
    large[i] = static_cast<char>(i * 31 + i / 4096);
  }
  std::uint64_t token = 0;
  for (const std::string& content : {std::string(), std::string("\0\n\xff\0", 4), large, std::string()}) {
    EXPECT_TRUE(file.write(fence_token(++token), content));
    EXPECT_TRUE(content_of(path()) == content) << content.size();
    EXPECT_TRUE(file.write(fence_token(token), pieces_of(content, 50'000)));
    EXPECT_TRUE(content_of(path()) == content) << content.size();
    EXPECT_TRUE(file.append(fence_token(token), content));
    EXPECT_TRUE(content_of(path()) == content + content) << content.size();
    EXPECT_TRUE(file.append(fence_token(token), pieces_of(content, 50'000)));
    EXPECT_TRUE(content_of(path()) == content + content + content) << content.size();
  }
}

TEST_F(FencedFile, IsMadeByItsFirstAppend) {
  EXPECT_TRUE(fenced_file(path()).append(fence_token(1), "one\n"));
  EXPECT_TRUE(fenced_file(path()).append(fence_token(1), pieces_of("two\n", 1)));
  EXPECT_EQ(content_of(path()), "one\ntwo\n");
  EXPECT_TRUE(fenced_file(path("other")).append(fence_token(1), pieces_of("one\n", 1)));
  EXPECT_EQ(content_of(path("other")), "one\n");
  EXPECT_TRUE(fenced_file(path("empty")).append(fence_token(1), ""));
  EXPECT_EQ(content_of(path("empty")), "");
  EXPECT_THAT(names_in(directory_.path()),
              ElementsAre("empty", "empty.fence", "other", "other.fence", "report", "report.fence"));
}

TEST_F(FencedFile, OfASourceThatFailsIsAsItWas) {
  const fenced_file file(path());
  ASSERT_TRUE(file.write(fence_token(1), "old"));
  const auto failing = []() -> fenced_file::source {
    return [calls = 0](std::span<char> to) mutable -> result<std::size_t> {
      if (calls++ > 0) {
        return error(errc::unreachable, "the cable is out");
      }
      return to.size();
    };
  };
  EXPECT_THAT(file.write(fence_token(2), failing()).error().message(), HasSubstr("the cable is out"));
  EXPECT_THAT(file.append(fence_token(2), failing()).error().message(), HasSubstr("the cable is out"));
  EXPECT_EQ(file.write(fence_token(2), fenced_file::source()).error().code(), errc::invalid_argument);
  EXPECT_EQ(file.append(fence_token(2), fenced_file::source()).error().code(), errc::invalid_argument);
  const auto boasting = [](std::span<char> to) -> result<std::size_t> { return to.size() + 1; };
  EXPECT_EQ(file.write(fence_token(2), boasting).error().code(), errc::invalid_argument);
  EXPECT_EQ(content_of(path()), "old");
  EXPECT_EQ(highest_of(path()), 1U);
  EXPECT_THAT(names_in(directory_.path()), ElementsAre("report", "report.fence"));
}

TEST_F(FencedFile, DoesNotAskTheSourceOfOneWhoIsLateAlready) {
  const fenced_file file(path());
  ASSERT_TRUE(file.write(fence_token(7), "old"));
  bool asked = false;
  const auto source = [&](std::span<char>) -> result<std::size_t> {
    asked = true;
    return std::size_t{0};
  };
  EXPECT_EQ(file.write(fence_token(6), source).error().code(), errc::stale_token);
  EXPECT_EQ(file.append(fence_token(6), source).error().code(), errc::stale_token);
  EXPECT_FALSE(asked);
}

TEST_F(FencedFile, ThatIsNewGetsWhatTheUmaskLeaves) {
  const mode_t before = ::umask(027);
  EXPECT_TRUE(fenced_file(path("written")).write(fence_token(1), "x"));
  EXPECT_TRUE(fenced_file(path("added")).append(fence_token(1), "x"));
  ::umask(before);
  for (const char* const name : {"written", "written.fence", "added", "added.fence"}) {
    EXPECT_EQ(mode_of(path(name)), 0640U) << name;
  }
}

TEST_F(FencedFile, KeepsItsModeAndItsTokenFollows) {
  fill(path(), "old");
  ASSERT_EQ(::chmod(path().c_str(), 0751), 0);
  ASSERT_TRUE(fenced_file(path()).write(fence_token(1), "new"));
  EXPECT_EQ(mode_of(path()), 0751U);
  EXPECT_EQ(mode_of(path("report.fence")), 0640U) << "the same rights to read and write, none to run it";
  ASSERT_EQ(::chmod(path().c_str(), 0664), 0);
  ASSERT_TRUE(fenced_file(path()).append(fence_token(1), "er"));
  EXPECT_EQ(mode_of(path()), 0664U);
  EXPECT_EQ(mode_of(path("report.fence")), 0664U);
}

TEST_F(FencedFile, BehindASymbolicLinkIsWrittenWhereItIs) {
  std::filesystem::create_directory(path("data"));
  fill(path("data/real"), "old");
  std::filesystem::create_symlink("data/real", path("relative"));
  std::filesystem::create_symlink(path("relative"), path("absolute"));
  EXPECT_TRUE(fenced_file(path("absolute")).write(fence_token(3), "new"));
  EXPECT_TRUE(fenced_file(path("relative")).append(fence_token(3), "er"));
  EXPECT_EQ(content_of(path("data/real")), "newer");
  EXPECT_THAT(names_in(path("data")), ElementsAre("real", "real.fence"));
  EXPECT_THAT(names_in(directory_.path()), ElementsAre("absolute", "data", "relative"));
  EXPECT_EQ(std::filesystem::read_symlink(path("relative")), "data/real");
  EXPECT_EQ(fenced_file(path("data/real")).write(fence_token(2), "late").error().code(), errc::stale_token)
      << "one file, one token, by whatever name";
}

TEST_F(FencedFile, BehindALinkThatLeadsToNothingIsMadeThere) {
  std::filesystem::create_symlink("later", path());
  EXPECT_TRUE(fenced_file(path()).write(fence_token(1), "x"));
  EXPECT_EQ(content_of(path("later")), "x");
  EXPECT_TRUE(std::filesystem::is_symlink(path()));
}

TEST_F(FencedFile, LeavesTheOldContentToItsOtherHardLinks) {
  fill(path(), "old");
  std::filesystem::create_hard_link(path(), path("backup"));
  EXPECT_TRUE(fenced_file(path()).write(fence_token(1), "new"));
  EXPECT_EQ(content_of(path("backup")), "old");
  EXPECT_EQ(content_of(path()), "new");
}

TEST_F(FencedFile, WithTwoNamesIsNotAppendedTo) {
  fill(path(), "old");
  std::filesystem::create_hard_link(path(), path("second"));
  for (const char* const name : {"report", "second"}) {
    for (const auto& done : {fenced_file(path(name)).append(fence_token(1), "x"),
                             fenced_file(path(name)).append(fence_token(1), pieces_of("x"))}) {
      ASSERT_FALSE(done);
      EXPECT_EQ(done.error().code(), errc::invalid_argument);
      EXPECT_THAT(done.error().message(), AllOf(HasSubstr(path(name)), HasSubstr("hard links")));
    }
  }
  EXPECT_EQ(content_of(path()), "old");
  EXPECT_THAT(names_in(directory_.path()), ElementsAre("report", "second")) << "nothing was made";
  std::filesystem::remove(path("second"));
  EXPECT_TRUE(fenced_file(path()).append(fence_token(1), "er"));
  EXPECT_EQ(content_of(path()), "older");
}

TEST_F(FencedFile, DoesNotTakeWhatBelongsToAnotherForAFile) {
  ASSERT_TRUE(fenced_file(path()).write(fence_token(9), "x"));
  const std::string token = content_of(path("report.fence"));
  std::filesystem::create_symlink("report.fence", path("alias"));
  for (const char* const name : {"report.fence", "alias", ".report.fence-new", ".report.fence-new-17",
                                 "report.fence-cut", "other.fence"}) {
    for (const auto& done : {fenced_file(path(name)).write(fence_token(1), "x"),
                             fenced_file(path(name)).append(fence_token(1), "x"),
                             fenced_file(path(name)).check(fence_token(1))}) {
      ASSERT_FALSE(done) << name;
      EXPECT_EQ(done.error().code(), errc::invalid_argument);
      EXPECT_THAT(done.error().message(), HasSubstr(path(name)));
    }
  }
  EXPECT_EQ(content_of(path("report.fence")), token);
  EXPECT_THAT(names_in(directory_.path()), ElementsAre("alias", "report", "report.fence"));
  EXPECT_TRUE(fenced_file(path("fence")).write(fence_token(1), "x")) << "only the end counts";
  EXPECT_TRUE(fenced_file(path(".a.fence-news")).write(fence_token(1), "x"));
}

TEST_F(FencedFile, IsNotSoughtBehindWhatAProcessHasOpen) {
  fill(path(), "old");
  const int open = ::open(path().c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_GE(open, 0);
  std::filesystem::create_symlink("/dev/fd/" + std::to_string(open), path("link"));
  for (const std::string& at :
       {"/dev/fd/" + std::to_string(open), "/proc/self/fd/" + std::to_string(open), path("link")}) {
    const auto done = fenced_file(at).write(fence_token(1), "x");
    ASSERT_FALSE(done) << at;
    EXPECT_EQ(done.error().code(), errc::invalid_argument);
    EXPECT_THAT(done.error().message(), HasSubstr("shell's >"));
  }
  ::close(open);
  EXPECT_EQ(content_of(path()), "old");
  EXPECT_THAT(names_in(directory_.path()), ElementsAre("link", "report"));
}

TEST_F(FencedFile, IsFoundByAPathWithoutADirectory) {
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(directory_.path());
  EXPECT_TRUE(fenced_file("report").write(fence_token(1), "x"));
  std::filesystem::current_path(before);
  EXPECT_EQ(content_of(path()), "x");
}

TEST_F(FencedFile, SaysWhatIsWrongWithAPath) {
  std::filesystem::create_directory(path("folder"));
  std::filesystem::create_symlink("b", path("a"));
  std::filesystem::create_symlink("a", path("b"));
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  fill(path("file"), "");
  const std::vector<std::pair<std::string, const char*>> table = {
      {"", "empty"},
      {path("folder"), "is a directory"},
      {path("folder/"), "names a directory"},
      {path("folder/.."), "names a directory"},
      {"/", "names a directory"},
      {path("pipe"), "is a pipe"},
      {"/dev/null", "is a device"},
      {path("a"), "leads to itself"},
      {path("nowhere/report"), "nowhere'"},
      {path("file/report"), "Not a directory"},
      {path("nul") + std::string("\0x", 2), "NUL"},
      {path(std::string(256, 'x')), "too long"},
      {path(std::string(250, 'x')), "too long"},
  };
  for (const auto& [at, says] : table) {
    for (const auto& done :
         {fenced_file(at).write(fence_token(1), "x"), fenced_file(at).append(fence_token(1), "x")}) {
      ASSERT_FALSE(done) << at;
      EXPECT_EQ(done.error().code(), errc::invalid_argument) << at;
      EXPECT_THAT(done.error().message(), HasSubstr(says)) << at;
    }
  }
  EXPECT_THAT(names_in(directory_.path()), ElementsAre("a", "b", "file", "folder", "pipe"));
  EXPECT_FALSE(std::filesystem::exists("/dev/null.fence"));
}

TEST_F(FencedFile, MayHaveALongName) {
  const std::string name(244, 'x');  // 255, less the name that the new one has for a moment
  EXPECT_TRUE(fenced_file(path(name)).write(fence_token(1), "x"));
  EXPECT_EQ(content_of(path(name)), "x");
}

TEST_F(FencedFile, WhoseTokenIsDamagedIsNotWrittenTo) {
  const fenced_file file(path(), 50ms);
  const std::string token = path("report.fence");
  ASSERT_TRUE(file.write(fence_token(7), "old"));
  const std::string whole = content_of(token);
  std::string both = whole;
  both[20] = both[fence::slot_size + 20] = 'x';
  for (const std::string& damage : {std::string(), whole.substr(0, fence::slot_size), whole + "\n", both}) {
    fill(token, damage);
    for (const auto& done : {file.write(fence_token(9), "new"), file.append(fence_token(9), "new"),
                             file.check(fence_token(9))}) {
      ASSERT_FALSE(done);
      EXPECT_EQ(done.error().code(), errc::storage_error);
      EXPECT_THAT(done.error().message(), AllOf(HasSubstr(token), HasSubstr("damaged")));
    }
    EXPECT_EQ(file.highest().error().code(), errc::storage_error) << "never 0";
  }
  EXPECT_EQ(content_of(path()), "old");
}

TEST_F(FencedFile, WithOneSlotTornHasTheTokenOfTheOther) {
  const fenced_file file(path());
  ASSERT_TRUE(file.write(fence_token(7), "old"));
  ASSERT_TRUE(file.write(fence_token(8), "new"));
  const std::string whole = content_of(path("report.fence"));
  const std::size_t seven = whole.find("token 7 ");
  ASSERT_NE(seven, std::string::npos);
  std::string torn = whole;
  torn[seven] = 'x';  // the older one, which is the one that is written to
  fill(path("report.fence"), torn);
  EXPECT_EQ(highest_of(path()), 8U);
  EXPECT_FALSE(file.write(fence_token(7), "late"));
  EXPECT_TRUE(file.write(fence_token(9), "newer"));
  EXPECT_EQ(highest_of(path()), 9U);
  EXPECT_NE(content_of(path("report.fence")).find("token 8 "), std::string::npos)
      << "the torn one was overwritten";
}

TEST_F(FencedFile, DoesNotTouchAFileOfSomebodyElsesWithTheNameOfItsToken) {
  for (const std::string& theirs :
       {std::string("a picket fence\n"), std::string(2 * fence::slot_size, 'x')}) {
    fill(path("report.fence"), theirs);
    const auto done = fenced_file(path()).write(fence_token(1), "x");
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code(), errc::misconfigured);
    EXPECT_EQ(fenced_file(path()).highest().error().code(), errc::misconfigured);
    EXPECT_EQ(content_of(path("report.fence")), theirs);
  }
  std::filesystem::remove(path("report.fence"));
  std::filesystem::create_symlink("elsewhere", path("report.fence"));
  EXPECT_EQ(fenced_file(path()).write(fence_token(1), "x").error().code(), errc::misconfigured);
  std::filesystem::remove(path("report.fence"));
  std::filesystem::create_directory(path("report.fence"));
  EXPECT_FALSE(fenced_file(path()).write(fence_token(1), "x"));
  EXPECT_THAT(names_in(directory_.path()), ElementsAre("report.fence"));
}

TEST_F(FencedFile, WhoseTokenWasDeletedBeginsAnew) {
  const fenced_file file(path());
  ASSERT_TRUE(file.write(fence_token(7), "old"));
  std::filesystem::remove(path("report.fence"));
  EXPECT_EQ(highest_of(path()), 0U);
  EXPECT_TRUE(file.write(fence_token(3), "new"));
  EXPECT_EQ(highest_of(path()), 3U);
}

TEST_F(FencedFile, RemovesWhatSomebodyWhoWasKilledLeft) {
  fill(path(".report.fence-new"), "half");
  EXPECT_TRUE(fenced_file(path()).write(fence_token(1), "x"));
  EXPECT_THAT(names_in(directory_.path()), ElementsAre("report", "report.fence"));
}

}  // namespace

}  // namespace cremone::test
