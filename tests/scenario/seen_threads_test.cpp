// SPDX-License-Identifier: Apache-2.0
//
// Several clients of many threads that find locks held and leave what they saw in one file, all at once and on real
// time: nothing is torn, and in the end all of it is there. Run under ThreadSanitizer this also shows that they share
// nothing without a lock.
#include "backends/memory/backend.hpp"
#include "engine/asio_env.hpp"
#include "engine/engine.hpp"
#include "engine/seen_file.hpp"
#include "scenario/lasting_backend.hpp"
#include "support/crowd.hpp"
#include "support/temp_directory.hpp"

#include <cremone/client.hpp>

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>
#include <vector>

namespace cremone::test {
namespace {

constexpr std::size_t locks_each = 8;

class SeenByThreads : public ::testing::Test {
 protected:
  [[nodiscard]] client open_one(const std::string& directory) const {
    auto env = std::make_shared<detail::asio_env>();
    auto store = std::make_shared<lasting_backend>(
        std::make_shared<memory::memory_backend>(env, store_, "memory://"), "store-1");
    auto file = directory.empty() ? nullptr : std::make_unique<detail::seen_file>(directory, "clock");
    return detail::access::make_client(
        std::make_shared<detail::engine>(std::move(env), std::move(store), std::move(file)));
  }

  const temp_directory directory_;
  const std::shared_ptr<memory::store> store_ = std::make_shared<memory::store>();
};

TEST_F(SeenByThreads, IsWholeAndCompleteInTheEnd) {
  const client holder = open_one("");
  std::vector<lease> held;
  for (std::size_t i = 0; i < 2 * locks_each; ++i) {
    held.push_back(holder.acquire("lock-" + std::to_string(i)).value());
  }
  {
    const client ann = open_one(directory_.path());
    const client bob = open_one(directory_.path());
    crowd(8, [&](std::size_t thread) {
      const client& mine = thread % 2 == 0 ? ann : bob;
      for (std::size_t i = 0; i < 200; ++i) {
        const std::size_t lock = thread % 2 * locks_each + i % locks_each;
        EXPECT_EQ(mine.acquire("lock-" + std::to_string(lock), {.wait = no_wait}).error(), errc::busy);
      }
    });
  }  // one closes after the other: what each has left is written then

  detail::seen_file file(directory_.path(), "clock");
  std::set<std::string> names;
  for (const core::sighting& s : file.look()) {
    EXPECT_EQ(s.from, (core::vantage{"clock", "store-1"}));
    EXPECT_TRUE(names.insert(s.name.str()).second) << "twice: " << s.name;
  }
  EXPECT_EQ(names.size(), 2 * locks_each);
}

}  // namespace
}  // namespace cremone::test
