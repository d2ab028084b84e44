// SPDX-License-Identifier: Apache-2.0
//
// Checks what a process knows of itself while it does not fork; what a forked child sees is tested with the engine.
#include "base/process.hpp"

#include <gtest/gtest.h>

#include <unistd.h>

namespace cremone {
namespace {

TEST(ProcessStamp, IsNeverZeroAndStaysTheSame) {
  const std::uint64_t stamp = process_stamp();
  EXPECT_NE(stamp, 0U) << "zero is what the kernel leaves in a child";
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(process_stamp(), stamp);
  }
}

TEST(ThisProcess, SaysWhereItRunsAndAsWhom) {
  const process_identity me = this_process();
  EXPECT_EQ(me.pid, ::getpid());
  EXPECT_FALSE(me.host.empty());
  EXPECT_FALSE(me.user.empty());
}

TEST(LeakInChild, KeepsWhatItIsGivenAlive) {
  auto inherited = std::make_shared<int>(7);
  const std::weak_ptr<int> watch = inherited;
  leak_in_child(std::move(inherited));
  EXPECT_FALSE(watch.expired());
  leak_in_child(std::make_shared<int>(8));
  EXPECT_FALSE(watch.expired());
}

}  // namespace
}  // namespace cremone
