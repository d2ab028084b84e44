// SPDX-License-Identifier: Apache-2.0
//
// Writers that are stopped, before they are at the file and while they are. The one is refused when it goes on after its successor has written; the
// other keeps its successor waiting, which is told by whom, and finishes first: what it does was decided when it was let in.
#include "fence/file_fixture.hpp"
#include "fence/stepped_child.hpp"
#include "support/wait_for.hpp"

#include <sys/syscall.h>

#include <chrono>
#include <thread>

namespace cremone::test {

namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

using FencedFileStopped = FencedFile;

/// 0: done, 2: stale, else 1.
int told(const result<void>& done) { return done ? 0 : done.error().code() == errc::stale_token ? 2 : 1; }

TEST_F(FencedFileStopped, BeforeItIsAtTheFileIsRefusedWhenALaterHolderHasWritten) {
  ASSERT_TRUE(fenced_file(path()).write(fence_token(5), "old"));
  stepped_child holder([&] { return told(fenced_file(path()).write(fence_token(6), "late")); });
  // Its content is on the disk and it has not asked for the lock yet.
  ASSERT_TRUE(holder.step_over(SYS_fsync));
  holder.leave_stopped();
  EXPECT_TRUE(fenced_file(path(), 0ms).write(fence_token(7), "the successor's")) << "nobody is kept waiting";
  EXPECT_EQ(holder.resume(), 2);
  EXPECT_EQ(content_of(path()), "the successor's");
  EXPECT_THAT(names_in(directory_.path()), ElementsAre("report", "report.fence"));
}

TEST_F(FencedFileStopped, AtTheFileKeepsOthersWaitingWhoAreToldByWhom) {
  ASSERT_TRUE(fenced_file(path()).write(fence_token(5), "old"));
  stepped_child holder([&] { return told(fenced_file(path()).write(fence_token(6), "first")); });
  ASSERT_TRUE(holder.step_over(SYS_flock));
  holder.leave_stopped();
  const fenced_file successor(path(), 60ms);
  const auto began = std::chrono::steady_clock::now();
  for (const auto& done : {successor.write(fence_token(7), "x"), successor.append(fence_token(7), "x"),
                           successor.check(fence_token(7))}) {
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code(), errc::busy);
    EXPECT_THAT(done.error().message(),
                AllOf(HasSubstr("process " + std::to_string(holder.pid()) + " ("), HasSubstr(path())));
  }
  EXPECT_GE(std::chrono::steady_clock::now() - began, 180ms);
  EXPECT_EQ(fenced_file(path(), 0ms).write(fence_token(7), "x").error().code(), errc::busy) << "one try";
  EXPECT_EQ(highest_of(path()), 5U) << "who only asks is not kept waiting";
  EXPECT_EQ(holder.resume(), 0) << "it was there first, and no later token was let in meanwhile";
  EXPECT_EQ(content_of(path()), "first");
  EXPECT_TRUE(successor.write(fence_token(7), "second"));
  EXPECT_EQ(content_of(path()), "second");
}

TEST_F(FencedFileStopped, AtTheFileAndThenKilledLetsTheNextIn) {
  ASSERT_TRUE(fenced_file(path()).write(fence_token(5), "old"));
  stepped_child holder([&] { return told(fenced_file(path()).write(fence_token(6), "first")); });
  ASSERT_TRUE(holder.step_over(SYS_flock));
  holder.leave_stopped();
  std::thread successor([&] { EXPECT_TRUE(fenced_file(path(), 60s).write(fence_token(7), "second")); });
  holder.kill();
  successor.join();
  EXPECT_EQ(content_of(path()), "second");
}

TEST_F(FencedFileStopped, AtATokenThatSomebodyDeletesMeanwhileIsNotFollowedThere) {
  ASSERT_TRUE(fenced_file(path()).write(fence_token(5), "old"));
  stepped_child holder([&] { return told(fenced_file(path()).write(fence_token(6), "first")); });
  ASSERT_TRUE(holder.step_over(SYS_flock));
  holder.leave_stopped();
  stepped_child waiting([&] { return told(fenced_file(path(), 60s).write(fence_token(7), "second")); });
  ASSERT_TRUE(waiting.step_over(SYS_poll)) << "it has the file open by now";
  waiting.leave_stopped();
  std::filesystem::remove(path("report.fence"));
  ASSERT_EQ(holder.resume(), 0);
  EXPECT_EQ(waiting.resume(), 0);
  EXPECT_EQ(highest_of(path()), 7U)
      << "kept in the file that has the name, not in the one that was waited for";
}

}  // namespace

}  // namespace cremone::test
