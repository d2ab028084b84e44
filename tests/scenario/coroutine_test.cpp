// SPDX-License-Identifier: Apache-2.0
//
// The async face in the user's coroutines, on both compilers. Coroutines here are functions, never lambdas with
// captures: GCC 12 destroys those twice.
#include "scenario/seam.hpp"

#include <cremone/async.hpp>

#include <gtest/gtest.h>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>

#include <atomic>
#include <string>
#include <thread>

namespace cremone::test {
namespace {

using namespace std::chrono_literals;
using namespace boost::asio::experimental::awaitable_operators;
namespace asio = boost::asio;

class Coroutine : public ::testing::Test {
 protected:
  client locks_ = open_store();
  asio::io_context context_;
};

asio::awaitable<void> take_and_give_back(client& locks, bool& released) {
  auto held =
      co_await async_acquire(locks, "ledger", {.wait = 2s, .label = "in a coroutine"}, asio::use_awaitable);
  EXPECT_TRUE(held->held());
  EXPECT_EQ(locks.inspect("ledger")->holders.at(0).owner.label, "in a coroutine");
  const auto done = co_await async_release(std::move(*held), asio::use_awaitable);
  released = done.has_value();
}

TEST_F(Coroutine, AwaitsALease) {
  bool released = false;
  asio::co_spawn(context_, take_and_give_back(locks_, released), asio::detached);
  context_.run_for(generous);
  EXPECT_TRUE(released);
  EXPECT_TRUE(is_free(locks_, "ledger"));
}

asio::awaitable<bool> give_up_after(client& locks, std::chrono::milliseconds patience) {
  asio::steady_timer timer(co_await asio::this_coro::executor, patience);
  const auto first = co_await (async_acquire(locks, "ledger", {}, asio::use_awaitable) ||
                               timer.async_wait(asio::use_awaitable));
  co_return first.index() == 1;
}

TEST_F(Coroutine, IsCancelledWhenATimerIsFaster) {
  const auto rival = locks_.acquire("ledger").value();
  auto gave_up = asio::co_spawn(context_, give_up_after(locks_, 20ms), asio::use_future);
  context_.run_for(generous);
  EXPECT_TRUE(soon(std::move(gave_up)));
  EXPECT_EQ(waiters(locks_, "ledger"), 0U);
}

TEST_F(Coroutine, CancelsTheTimerWhenTheLeaseIsFaster) {
  auto gave_up = asio::co_spawn(context_, give_up_after(locks_, 1h), asio::use_future);
  context_.run_for(generous);
  EXPECT_FALSE(soon(std::move(gave_up)));
  EXPECT_TRUE(is_free(locks_, "ledger")) << "the lease went with the result";
}

asio::awaitable<void> count_up(client& locks, int rounds, int& counter) {
  for (int i = 0; i < rounds; ++i) {
    const auto held = co_await async_acquire(locks, "ledger", {}, asio::use_awaitable);
    EXPECT_TRUE(held.has_value());
    ++counter;
  }
}

TEST_F(Coroutine, OnAThreadPoolExcludesTheOthers) {
  int counter = 0;  // the lock is all that protects it
  asio::thread_pool pool(4);
  for (int i = 0; i < 8; ++i) {
    asio::co_spawn(pool, count_up(locks_, 200, counter), asio::detached);
  }
  pool.join();
  EXPECT_EQ(counter, 8 * 200);
}

asio::awaitable<void> wait_in_vain(client& locks, errc& heard) {
  const auto held = co_await async_acquire(locks, "ledger", {}, asio::use_awaitable);
  heard = held ? errc{} : held.error().code();
}

TEST_F(Coroutine, HearsThatItsClientWasClosed) {
  const auto rival = locks_.acquire("ledger").value();
  errc heard{};
  asio::co_spawn(context_, wait_in_vain(locks_, heard), asio::detached);
  std::jthread runs([&] { context_.run_for(generous); });
  ASSERT_TRUE(wait_for_waiters(locks_, "ledger", 1));
  locks_.close();
  runs.join();
  EXPECT_EQ(heard, errc::cancelled);
}

}  // namespace
}  // namespace cremone::test
