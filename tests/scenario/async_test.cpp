// SPDX-License-Identifier: Apache-2.0
//
// The async face with plain completion tokens: where handlers run, when, in which order, and how they are cancelled.
#include "scenario/seam.hpp"

#include <cremone/async.hpp>

#include <gtest/gtest.h>

#include <boost/asio/any_completion_handler.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_future.hpp>

#include <atomic>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

namespace cremone::test {
namespace {

using namespace std::chrono_literals;
namespace asio = boost::asio;

class Async : public ::testing::Test {
 protected:
  /// What a handler was given, and on which thread.
  struct visit {
    result<lease> given;
    std::thread::id on;
  };

  /// Acquires with a handler that has no executor of its own.
  visit acquire_without_executor(const lock_name& name) {
    std::promise<visit> came;
    async_acquire(locks_, name, {}, [&](result<lease> r) {
      came.set_value({std::move(r), std::this_thread::get_id()});
    });
    return soon(came.get_future());
  }

  [[nodiscard]] bool waiting(std::size_t count) { return wait_for_waiters(locks_, "ledger", count); }

  client locks_ = open_store();
};

TEST_F(Async, HandlersWithoutAnExecutorRunOnTheClientsCallbackThread) {
  const auto first = acquire_without_executor("one");
  const auto second = acquire_without_executor("two");
  ASSERT_TRUE(first.given && second.given);
  EXPECT_TRUE(first.given->held());
  EXPECT_NE(first.on, std::this_thread::get_id());
  EXPECT_EQ(first.on, second.on);

  auto evicted = locks_.acquire("three", {.ttl = 1500ms}).value();
  std::promise<std::thread::id> lost_on;
  evicted.on_lost([&](const error&) { lost_on.set_value(std::this_thread::get_id()); });
  evict_holder(locks_, "three");
  EXPECT_EQ(soon(lost_on.get_future()), first.on);
}

TEST_F(Async, HandlersOfAnErasedTypeRunOnTheirExecutorToo) {
  using erased = asio::any_completion_handler<void(result<lease>)>;
  asio::io_context context;
  bool initiating = true;
  std::optional<bool> came_inside;
  asio::post(context, [&] {  // on the very thread where its executor could run it at once
    async_acquire(locks_, "ledger", {}, erased(asio::bind_executor(context, [&](const result<lease>& r) {
                    EXPECT_TRUE(r.has_value());
                    came_inside = initiating;
                  })));
    initiating = false;
  });
  context.run_for(generous);
  EXPECT_EQ(came_inside, false);
}

TEST_F(Async, HandlersRunOnTheExecutorTheyAreBoundTo) {
  asio::io_context context;
  std::optional<visit> came;
  async_acquire(locks_, "ledger", {}, asio::bind_executor(context, [&](result<lease> r) {
                  came = visit{std::move(r), std::this_thread::get_id()};
                }));
  EXPECT_FALSE(came) << "never inside the initiating call";
  context.run_for(generous);
  ASSERT_TRUE(came && came->given);
  EXPECT_EQ(came->on, std::this_thread::get_id());

  std::optional<result<void>> released;
  async_release(std::move(*came->given),
                asio::bind_executor(context, [&](result<void> r) { released = std::move(r); }));
  EXPECT_FALSE(released) << "never inside the initiating call";
  context.restart();
  context.run_for(generous);
  ASSERT_TRUE(released);
  EXPECT_TRUE(released->has_value());
  EXPECT_TRUE(is_free(locks_, "ledger"));
}

TEST_F(Async, KeepsTheContextOfItsHandlerRunning) {
  auto rival = locks_.acquire("ledger").value();
  asio::io_context context;
  std::optional<result<lease>> got;
  async_acquire(locks_, "ledger", {},
                asio::bind_executor(context, [&](result<lease> r) { got = std::move(r); }));
  context.poll();
  EXPECT_FALSE(context.stopped()) << "a context without work stops";
  EXPECT_FALSE(got);
  EXPECT_TRUE(rival.release());
  context.run_for(generous);
  ASSERT_TRUE(got);
  EXPECT_TRUE((*got)->held());
}

TEST_F(Async, WorksWithFutures) {
  auto held = soon(async_acquire(locks_, "ledger", {.wait = 2s}, asio::use_future)).value();
  EXPECT_TRUE(held.held());
  EXPECT_EQ(soon(async_acquire(locks_, "ledger", {.wait = no_wait}, asio::use_future)).error(), errc::busy);
  EXPECT_EQ(soon(async_acquire(locks_, "ledger", {.wait = 5ms}, asio::use_future)).error(), errc::timed_out);
  EXPECT_TRUE(soon(async_release(std::move(held), asio::use_future)).has_value());
  EXPECT_EQ(soon(async_release(lease{}, asio::use_future)).error(), errc::not_held);
}

TEST_F(Async, ReleaseGivesBackOneHandleOfMany) {
  auto held = locks_.acquire("ledger").value();
  auto again = held.reenter().value();
  EXPECT_TRUE(soon(async_release(std::move(again), asio::use_future)).has_value());
  EXPECT_TRUE(held.held());
}

TEST_F(Async, DeferredStartsWhenItIsCalled) {
  auto operation = async_acquire(locks_, "ledger", {.wait = 2s}, asio::deferred);
  EXPECT_TRUE(is_free(locks_, "ledger"));
  const auto held = soon(std::move(operation)(asio::use_future));
  EXPECT_TRUE(held->held());
}

TEST_F(Async, CopiesTheLabelBeforeTheCallReturns) {
  const std::string text(200, 'x');
  auto operation = async_acquire(locks_, "ledger", {.label = std::string(text)}, asio::deferred);
  const auto held = soon(std::move(operation)(asio::use_future));
  EXPECT_EQ(locks_.inspect("ledger").value().holders.at(0).owner.label, text);
}

TEST_F(Async, IsCancelledThroughItsSlot) {
  const auto rival = locks_.acquire("ledger").value();
  asio::io_context context;
  asio::cancellation_signal signal;
  std::optional<result<lease>> got;
  async_acquire(
      locks_, "ledger", {},
      asio::bind_cancellation_slot(
          signal.slot(), asio::bind_executor(context, [&](result<lease> r) { got = std::move(r); })));
  ASSERT_TRUE(waiting(1));
  signal.emit(asio::cancellation_type::total);
  context.run_for(generous);
  ASSERT_TRUE(got);
  EXPECT_EQ(got->error(), errc::cancelled);
  EXPECT_TRUE(waiting(0));
  signal.emit(asio::cancellation_type::total);  // reaches nobody any more
}

TEST_F(Async, HandlerMayOwnItsCancellationSignal) {
  std::atomic<int> came = 0;
  for (int i = 0; i < 2000; ++i) {
    auto signal = std::make_unique<asio::cancellation_signal>();
    const auto slot = signal->slot();
    async_acquire(locks_, "lock-" + std::to_string(i), {},
                  asio::bind_cancellation_slot(
                      slot, [&came, owned = std::move(signal)](const result<lease>&) { ++came; }));
  }
  EXPECT_TRUE(wait_for([&] { return came == 2000; }));
}

TEST_F(Async, ManyOnOneNameAreServedInTheOrderOfTheirCalls) {
  auto rival = locks_.acquire("ledger").value();
  std::mutex guard;
  std::vector<int> order;
  for (int i = 0; i < 100; ++i) {
    async_acquire(locks_, "ledger", {}, [&, i](const result<lease>& held) {  // freed when the handler returns
      const std::lock_guard lock(guard);
      order.push_back(held ? i : -1);
    });
  }
  ASSERT_TRUE(waiting(100));
  EXPECT_TRUE(rival.release());
  ASSERT_TRUE(wait_for([&] {
    const std::lock_guard lock(guard);
    return order.size() == 100;
  }));
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(order[static_cast<std::size_t>(i)], i);
  }
}

TEST_F(Async, OnAClosedClientCompletesWithCancelled) {
  locks_.close();
  EXPECT_EQ(acquire_without_executor("ledger").given.error(), errc::cancelled);
  EXPECT_EQ(soon(async_acquire(locks_, "ledger", {}, asio::use_future)).error(), errc::cancelled);
}

TEST_F(Async, OnAClientThatClosesMeanwhileCompletesWithCancelled) {
  const auto rival = locks_.acquire("ledger").value();
  auto waiting_for_it = async_acquire(locks_, "ledger", {}, asio::use_future);
  locks_.close();
  EXPECT_EQ(soon(std::move(waiting_for_it)).error(), errc::cancelled);
}

TEST_F(Async, OnAMovedFromClientCompletesWithUnsupported) {
  const client moved = std::move(locks_);
  // NOLINTNEXTLINE(bugprone-use-after-move): that is what is tested
  EXPECT_EQ(acquire_without_executor("ledger").given.error(), errc::unsupported);
  EXPECT_EQ(soon(async_acquire(client{}, "ledger", {}, asio::use_future)).error(), errc::unsupported);
}

TEST_F(Async, OfAnInvalidNameCompletesWithInvalidArgument) {
  EXPECT_EQ(acquire_without_executor("").given.error(), errc::invalid_argument);
}

}  // namespace
}  // namespace cremone::test
