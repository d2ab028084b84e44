// SPDX-License-Identifier: Apache-2.0
//
// A forked child has a copy of what its parent saw of holders and has not written yet. It writes nothing of it, however
// it drops its copies; the parent still does.
#include "backends/memory/backend.hpp"
#include "engine/asio_env.hpp"
#include "engine/engine.hpp"
#include "engine/seen_file.hpp"
#include "scenario/child_process.hpp"
#include "scenario/lasting_backend.hpp"
#include "support/temp_directory.hpp"

#include <cremone/client.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <string>

namespace cremone::test {
namespace {

using ::testing::HasSubstr;

TEST(SeenByAParent, IsNotWrittenByItsForkedChild) {
  const temp_directory directory;
  const auto shared = std::make_shared<memory::store>();
  const auto open_one = [&](std::unique_ptr<detail::seen_file> file) {
    auto env = std::make_shared<detail::asio_env>();
    auto store = std::make_shared<lasting_backend>(
        std::make_shared<memory::memory_backend>(env, shared, "memory://"), "store-1");
    return detail::access::make_client(
        std::make_shared<detail::engine>(std::move(env), std::move(store), std::move(file)));
  };
  const auto text = [&] {
    std::ifstream in(directory.file("seen"));
    return std::string(std::istreambuf_iterator<char>(in), {});
  };

  const client holder = open_one(nullptr);
  const lease first = holder.acquire("first").value();
  const lease second = holder.acquire("second").value();
  std::optional<client> locks(open_one(std::make_unique<detail::seen_file>(directory.path(), "clock")));
  EXPECT_EQ(locks->acquire("first", {.wait = no_wait}).error(), errc::busy);
  EXPECT_EQ(locks->acquire("second", {.wait = no_wait}).error(), errc::busy);  // too soon to be written
  const std::string before = text();
  EXPECT_THAT(before, HasSubstr(" first "));

  EXPECT_EQ(in_child([&] {
              complaints c;
              c.expect(locks->acquire("first", {.wait = no_wait}).error() == errc::unsupported,
                       "it acquired");
              locks->close();
              locks.reset();
              c.expect(text() == before, "it wrote");
              return c.text();
            }),
            "");
  locks.reset();
  EXPECT_THAT(text(), HasSubstr(" second "));
}

}  // namespace
}  // namespace cremone::test
