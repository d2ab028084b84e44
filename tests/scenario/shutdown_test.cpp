// SPDX-License-Identifier: Apache-2.0
//
// The end of a client, in real time: bounded whatever the store does, and leaving behind leases that can still be
// asked and thrown away.
#include "scenario/scripted_client.hpp"
#include "scenario/seam.hpp"
#include "support/crowd.hpp"

#include <cremone/cremone.hpp>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <thread>
#include <type_traits>

namespace cremone::test {
namespace {

using namespace std::chrono_literals;
using manners = scripted_backend::manners;

static_assert(std::is_nothrow_destructible_v<lease> && std::is_nothrow_destructible_v<client>);
static_assert(std::is_nothrow_destructible_v<mutex> && std::is_nothrow_destructible_v<recursive_mutex>);
static_assert(std::is_nothrow_move_assignable_v<lease> && std::is_nothrow_move_assignable_v<client>);
static_assert(noexcept(std::declval<mutex&>().unlock()) && noexcept(std::declval<client&>().close()));

constexpr auto promised = 2s;  // client.hpp: "Returns within 2 s whatever the store does."

std::chrono::nanoseconds time_of(const std::function<void()>& act) {
  const auto start = std::chrono::steady_clock::now();
  act();
  return std::chrono::steady_clock::now() - start;
}

class Shutdown : public ::testing::TestWithParam<manners> {
 protected:
  /// A thousand leases of a store that answers no more.
  std::vector<lease> hold_and_fall_silent() {
    auto leases = c_.take_many(1000);
    c_.store->behave(GetParam());
    c_.store->follow({});
    return leases;
  }

  scripted_client c_;
};

TEST_P(Shutdown, ByCloseIsBoundedThoughTheStoreNeverAnswers) {
  auto leases = hold_and_fall_silent();
  const auto stop = leases[500].get_stop_token();
  EXPECT_LE(time_of([&] { c_.locks->close(); }), promised);
  EXPECT_EQ(c_.store->calls(store_call::kind::release).size(), leases.size());
  EXPECT_TRUE(stop.stop_requested());
  EXPECT_FALSE(leases[500].held());
  EXPECT_LE(time_of([&] { leases.clear(); }), promised);
}

TEST_P(Shutdown, ByTheDestructorIsBoundedThoughTheStoreNeverAnswers) {
  const auto leases = hold_and_fall_silent();
  EXPECT_LE(time_of([&] { c_.locks.reset(); }), promised);
  EXPECT_EQ(c_.store->calls(store_call::kind::release).size(), leases.size());
}

TEST_P(Shutdown, EndsAcquiresThatWaitForASilentStore) {
  c_.store->behave(GetParam());
  c_.store->follow({});
  std::atomic<int> cancelled = 0;
  {
    const auto call = [&] { cancelled += c_.locks->acquire("ledger").error() == errc::cancelled ? 1 : 0; };
    const std::array callers = {std::jthread(call), std::jthread(call), std::jthread(call)};
    ASSERT_TRUE(wait_for([&] { return c_.store->waiting() == callers.size(); }));
    EXPECT_LE(time_of([&] { c_.locks->close(); }), promised);
  }
  EXPECT_EQ(cancelled, 3);
}

TEST_P(Shutdown, EndsAReleaseThatWaitsForASilentStore) {
  auto held = c_.locks->acquire("ledger").value();
  c_.store->behave(GetParam());
  c_.store->follow({});
  std::jthread caller([&] { EXPECT_EQ(held.release().error(), errc::outcome_unknown); });
  ASSERT_TRUE(wait_for([&] { return c_.store->waiting() == 1; }));
  EXPECT_LE(time_of([&] { c_.locks->close(); }), promised);
}

INSTANTIATE_TEST_SUITE_P(OfASilentStore, Shutdown, ::testing::Values(manners::proper, manners::rude),
                         [](const auto& how) {
                           return how.param == manners::proper ? "ThatAnswersWhenClosed" : "ThatNeverAnswers";
                         });

TEST(Destructors, NeverThrowWhateverTheStoreAnswers) {
  const std::vector<answer> answers = {refused{error(errc::storage_error)},
                                       refused{error(errc::access_denied)}, refused{error(errc::not_held)},
                                       refused{error(errc::unreachable)},
                                       unknown{error(errc::outcome_unknown)}};
  for (const answer& a : answers) {
    scripted_client c;
    script s = script::yes();
    s.release = [a](const release_request&) { return a; };
    c.store->follow(s);
    {
      const auto dropped = c.locks->acquire("by lease").value();
      auto assigned_over = c.locks->acquire("by assignment").value();
      assigned_over = {};
      mutex m(*c.locks, "by mutex");
      m.lock();
      m.unlock();
    }
    EXPECT_TRUE(wait_for([&] { return c.store->calls(store_call::kind::release).size() >= 3; }));
  }
}

TEST(Leases, CanBeUsedAfterTheirClientIsGone) {
  auto locks = std::make_unique<client>(open_store());
  auto released = locks->acquire("released").value();
  auto dropped = locks->acquire("dropped").value();
  auto again = dropped.reenter().value();
  mutex m(*locks, "by mutex");
  m.lock();
  const auto token = released.token();
  const auto owner = released.owner();
  locks.reset();

  EXPECT_FALSE(released.held());
  EXPECT_EQ(released.token(), token);
  EXPECT_EQ(released.owner(), owner);
  EXPECT_EQ(released.remaining(), 0ns);
  EXPECT_EQ(released.name(), lock_name("released"));
  EXPECT_TRUE(released.get_stop_token().stop_requested());
  EXPECT_EQ(released.reenter().error(), errc::lost);
  EXPECT_EQ(released.release().error(), errc::lost);
  EXPECT_EQ(released.release().error(), errc::not_held);
  EXPECT_EQ(released.token(), fence_token{});
  EXPECT_EQ(released.owner(), owner_id{});
  EXPECT_EQ(again.release().error(), errc::lost);
  EXPECT_FALSE(dropped.held());
  EXPECT_FALSE(m.held());
  m.unlock();
  EXPECT_THROW(m.lock(), lock_error);

  client other = open_store();
  EXPECT_TRUE(other.list().value().empty());
}

TEST(Closing, WhileAcquiresBeginAnswersEachOnce) {
  for (int i = 0; i < 500; ++i) {
    scripted_client c;
    std::atomic<int> begun = 0;
    std::atomic<int> answered = 0;
    crowd(3, [&](std::size_t t) {
      if (t == 0) {
        return c.locks->close();
      }
      const auto& engine = detail::access::engine_of(*c.locks);
      while (!engine->closed()) {
        ++begun;
        engine->acquire("ledger", {}, [&](const result<lease>&) { ++answered; });
      }
    });
    ASSERT_TRUE(wait_for([&] { return answered == begun; })) << answered << " of " << begun;
  }
}

TEST(Closing, BetweenAGrantAndItsNewsReleasesTheHold) {
  traits t = network_traits();
  t.answers_inline = true;
  scripted_client c(t);
  std::atomic<bool> granting = false;
  std::atomic<int> released = 0;
  script s = script::yes();
  s.acquire = [&](const acquire_request&) {
    granting = true;
    (void)wait_for([&] { return c.store->closed(); },
                   300ms);  // close() has begun; it must not end without us
    return acquire_answer(grant{.token = fence_token(1), .ticket = 1});
  };
  s.release = [&](const release_request&) {  // is not asked any more once the store is closed
    ++released;
    return answer(done{});
  };
  c.store->follow(s);
  {
    const std::jthread caller([&] { EXPECT_EQ(c.locks->acquire("ledger").error(), errc::cancelled); });
    ASSERT_TRUE(wait_for([&] { return granting.load(); }));
    c.locks->close();
  }
  EXPECT_EQ(released, 1);
}

TEST(Closing, IsBoundedThoughAGreatCrowdWaits) {
  constexpr int crowd_size = 10'000;
  client locks = open_store();
  client others = open_store();
  const auto rival = others.acquire("ledger").value();
  std::atomic<int> cancelled = 0;
  const auto& engine = detail::access::engine_of(locks);
  for (int i = 0; i < crowd_size; ++i) {
    engine->acquire("ledger", {}, [&](const result<lease>& r) { cancelled += r.error() == errc::cancelled; });
  }
  EXPECT_LE(time_of([&] { locks.close(); }), promised);
  EXPECT_EQ(cancelled, crowd_size);
  EXPECT_EQ(waiters(others, "ledger"), 0U);
}

}  // namespace
}  // namespace cremone::test
