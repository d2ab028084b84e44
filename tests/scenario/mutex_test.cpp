// SPDX-License-Identifier: Apache-2.0
//
// cremone::mutex and recursive_mutex as the standard's own lock classes use them, and where they differ from a std
// mutex: the lock can be lost.
#include "scenario/scripted_client.hpp"
#include "scenario/seam.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <mutex>
#include <system_error>
#include <thread>

namespace cremone::test {
namespace {

using namespace std::chrono_literals;
using std::chrono::hours;
using std::chrono::steady_clock;
using std::chrono::system_clock;

constexpr acquire_options short_lived{.ttl = 1500ms};  // learns within 500 ms that it was evicted

std::error_code code_thrown_by(const std::function<void()>& act) {
  try {
    act();
  } catch (const std::system_error& e) {
    return e.code();
  }
  return {};
}

class Mutex : public ::testing::Test {
 protected:
  /// From now on somebody else has the lock.
  void be_busy() { rival_ = others_.acquire("ledger").value(); }

  [[nodiscard]] bool busy() { return !is_free(others_, "ledger"); }

  client locks_ = open_store();
  client others_ = open_store();
  lease rival_;
  mutex m_{locks_, "ledger"};
};

TEST_F(Mutex, ServesAUniqueLockThatWaits) {
  {
    const std::unique_lock guard(m_, 2s);
    ASSERT_TRUE(guard.owns_lock());
    EXPECT_TRUE(m_.held());
    EXPECT_NE(m_.token(), fence_token{});
    EXPECT_TRUE(busy());
  }
  EXPECT_FALSE(busy());
  be_busy();
  EXPECT_FALSE(std::unique_lock(m_, 5ms).owns_lock());
}

TEST_F(Mutex, ServesAUniqueLockThatTries) {
  EXPECT_TRUE(std::unique_lock(m_, std::try_to_lock).owns_lock());
  be_busy();
  EXPECT_FALSE(std::unique_lock(m_, std::try_to_lock).owns_lock());
}

TEST_F(Mutex, ServesAScopedLockOfTwo) {
  mutex b(locks_, "other");
  {
    const std::scoped_lock guard(m_, b);
    EXPECT_TRUE(m_.held() && b.held());
  }
  EXPECT_FALSE(m_.held() || b.held());
  EXPECT_TRUE(others_.list().value().empty());
}

TEST_F(Mutex, DoesNotDeadlockWhenTwoThreadsLockInOppositeOrder) {
  mutex b(locks_, "other");
  int counter = 0;  // both locks protect it
  const auto work = [&counter](mutex& first, mutex& second) {
    for (int i = 0; i < 200; ++i) {
      std::lock(first, second);
      const std::lock_guard one(first, std::adopt_lock);
      const std::lock_guard two(second, std::adopt_lock);
      ++counter;
    }
  };
  {
    const std::jthread forwards([&] { work(m_, b); });
    const std::jthread backwards([&] { work(b, m_); });
  }
  EXPECT_EQ(counter, 400);
}

TEST_F(Mutex, WaitsUntilAMomentOfEitherClock) {
  EXPECT_TRUE(m_.try_lock_until(steady_clock::now() + 1s));
  m_.unlock();
  EXPECT_TRUE(m_.try_lock_until(system_clock::now() + 1s));
  m_.unlock();
  be_busy();
  const auto start = steady_clock::now();
  EXPECT_FALSE(m_.try_lock_until(steady_clock::now() + 20ms));
  EXPECT_FALSE(m_.try_lock_until(system_clock::now() + 20ms));
  EXPECT_GE(steady_clock::now() - start, 39ms) << "nobody waits shorter than asked";
  EXPECT_FALSE(m_.try_lock_until(steady_clock::now() - 1s));
}

TEST_F(Mutex, RoundsWaitsUp) {
  EXPECT_EQ(detail::to_wait(1ns), 1ms) << "a short wait is no plain try";
  EXPECT_EQ(detail::to_wait(1'000'001ns), 2ms);
  EXPECT_EQ(detail::to_wait(0ns), no_wait);
  EXPECT_EQ(detail::to_wait(hours::max()), forever);
}

TEST_F(Mutex, TakesAFreeLockWithAnyWait) {
  for (const std::chrono::nanoseconds wait : {0ns, 1ns, -1ns}) {
    EXPECT_TRUE(m_.try_lock_for(wait));
    m_.unlock();
  }
  EXPECT_TRUE(m_.try_lock_for(hours::max()));
  m_.unlock();
  EXPECT_TRUE(m_.try_lock_for(std::chrono::duration<double>(0.5)));
  m_.unlock();
  EXPECT_TRUE(m_.try_lock_until(system_clock::time_point::max()));
  m_.unlock();
}

TEST_F(Mutex, DoesNotWaitWhenTheTimeIsUpAlready) {
  be_busy();
  EXPECT_FALSE(m_.try_lock());
  EXPECT_FALSE(m_.try_lock_for(0s));
  EXPECT_FALSE(m_.try_lock_for(1ns));
  EXPECT_FALSE(m_.try_lock_for(-1h));
  EXPECT_FALSE(m_.try_lock_for(std::chrono::duration<float>(-1.5F)));
}

TEST_F(Mutex, DoesNotWaitUntilTheBeginningOfTime) {
  be_busy();
  EXPECT_FALSE(m_.try_lock_for(hours::min()));
  EXPECT_FALSE(m_.try_lock_until(steady_clock::time_point::min()));
  EXPECT_FALSE(m_.try_lock_until(system_clock::time_point::min()));
}

TEST_F(Mutex, WaitsForAsLongAsItTakes) {
  be_busy();
  std::atomic<bool> got = false;
  std::jthread waiter([&] {
    got = m_.try_lock_for(hours::max());
    m_.unlock();
  });
  ASSERT_TRUE(wait_for_waiters(others_, "ledger", 1));
  EXPECT_FALSE(got);
  EXPECT_TRUE(rival_.release());
  waiter.join();
  EXPECT_TRUE(got);
}

TEST_F(Mutex, LockedAgainByItsThreadSaysThatItWouldDeadlock) {
  m_.lock();
  EXPECT_EQ(code_thrown_by([&] { m_.lock(); }), std::errc::resource_deadlock_would_occur);
  EXPECT_EQ(code_thrown_by([&] { (void)m_.try_lock_for(1s); }), std::errc::resource_deadlock_would_occur);
  EXPECT_FALSE(m_.try_lock());
  EXPECT_TRUE(m_.held());
  m_.unlock();
  EXPECT_FALSE(busy());
}

TEST_F(Mutex, UnlockedWithoutALockDoesNothing) {
  m_.unlock();
  be_busy();
  m_.unlock();
  EXPECT_TRUE(rival_.held());
  EXPECT_TRUE(busy());
}

TEST_F(Mutex, UnlockedByAnotherThreadStaysLocked) {
  m_.lock();
  std::jthread([&] {
    EXPECT_FALSE(m_.held());
    EXPECT_EQ(m_.token(), fence_token{});
    m_.unlock();
  }).join();
  EXPECT_TRUE(m_.held());
  EXPECT_TRUE(busy());
  m_.unlock();
}

TEST_F(Mutex, SharedByThreadsExcludesThem) {
  m_.lock();
  std::jthread([&] { EXPECT_FALSE(m_.try_lock()); }).join();
  m_.unlock();
  std::jthread([&] {
    EXPECT_TRUE(m_.try_lock());
    m_.unlock();
  }).join();
}

TEST_F(Mutex, LostAndLockedByAnotherThreadIsNotFreedByTheFirst) {
  mutex shared(locks_, "shared", short_lived);
  shared.lock();
  const auto stop = shared.get_stop_token();
  ASSERT_TRUE(evict_holder(locks_, "shared"));
  ASSERT_TRUE(wait_for([&] { return !shared.held(); }));
  EXPECT_TRUE(wait_for([&] { return stop.stop_requested(); }));

  std::atomic<bool> locked = false;
  std::atomic<bool> may_end = false;
  std::jthread second([&] {
    shared.lock();
    locked = true;
    EXPECT_TRUE(wait_for([&] { return may_end.load(); }));
    EXPECT_TRUE(shared.held());
    shared.unlock();
  });
  ASSERT_TRUE(wait_for([&] { return locked.load(); }));
  shared.unlock();
  EXPECT_FALSE(is_free(others_, "shared"));
  may_end = true;
  second.join();
  EXPECT_TRUE(is_free(others_, "shared"));
}

TEST_F(Mutex, OfAClosedClientThrows) {
  locks_.close();
  EXPECT_EQ(code_thrown_by([&] { m_.lock(); }), make_error_code(errc::cancelled));
  EXPECT_EQ(code_thrown_by([&] { (void)m_.try_lock(); }), std::errc::operation_canceled);
  m_.unlock();
}

TEST_F(Mutex, OfAClientThatWasNeverOpenedThrows) {
  mutex of_nothing(client{}, "ledger");
  EXPECT_EQ(code_thrown_by([&] { of_nothing.lock(); }), make_error_code(errc::unsupported));
  of_nothing.unlock();
  EXPECT_FALSE(of_nothing.held());
}

TEST_F(Mutex, OutlivesAMoveOfItsClient) {
  const client moved = std::move(locks_);
  const std::lock_guard guard(m_);
  EXPECT_TRUE(m_.held());
}

TEST_F(Mutex, WithABadNameThrowsWhatIsWrong) {
  try {
    const mutex bad(locks_, "a\nb");
    FAIL() << "it took a name with a line break";
  } catch (const lock_error& e) {
    EXPECT_EQ(e.why(), errc::invalid_argument);
    EXPECT_THAT(e.what(), ::testing::HasSubstr("control character"));
  }
}

class RecursiveMutex : public Mutex {
 protected:
  recursive_mutex r_{locks_, "ledger", short_lived};
};

TEST_F(RecursiveMutex, CountsAndKeepsItsToken) {
  r_.lock();
  const auto token = r_.token();
  EXPECT_TRUE(r_.try_lock());
  EXPECT_TRUE(r_.try_lock_for(1s));
  EXPECT_EQ(r_.token(), token);
  for (int left = 2; left > 0; --left) {
    r_.unlock();
    EXPECT_TRUE(r_.held());
    EXPECT_TRUE(busy());
  }
  r_.unlock();
  EXPECT_FALSE(r_.held());
  EXPECT_FALSE(busy());
  r_.unlock();  // one too many does nothing
  EXPECT_TRUE(r_.try_lock());
  EXPECT_GT(r_.token(), token);
  r_.unlock();
}

TEST_F(RecursiveMutex, ExcludesOtherThreads) {
  const std::scoped_lock twice(r_);
  std::jthread([&] { EXPECT_FALSE(r_.try_lock()); }).join();
}

TEST_F(RecursiveMutex, ThrowsLostRatherThanPretend) {
  r_.lock();
  ASSERT_TRUE(evict_holder(locks_, "ledger"));
  ASSERT_TRUE(wait_for([&] { return !r_.held(); }));
  EXPECT_EQ(code_thrown_by([&] { r_.lock(); }), make_error_code(errc::lost));
  EXPECT_EQ(code_thrown_by([&] { (void)r_.try_lock(); }), make_error_code(errc::lost));
  r_.unlock();
  r_.lock();
  EXPECT_TRUE(r_.held());
  r_.unlock();
}

TEST_F(Mutex, IsNotInheritedByAThreadThatGetsTheIdOfOneThatEnded) {
  std::thread([&] { m_.lock(); }).join();
  for (int i = 0; i < 50; ++i) {  // glibc gives the id of the last one that ended to the next
    std::thread([&] {
      EXPECT_FALSE(m_.held());
      EXPECT_FALSE(m_.try_lock());
      m_.unlock();
    }).join();
  }
  EXPECT_TRUE(busy());
}

TEST_F(Mutex, ComplainsOfABadNameOrTtlWhenItIsMade) {
  const mutex fine(locks_, "ledger", {.wait = -1ms});  // the wait is each call's own
  EXPECT_EQ(code_thrown_by([&] { const mutex bad(locks_, ""); }), errc::invalid_argument);
  EXPECT_EQ(code_thrown_by([&] { const recursive_mutex bad(locks_, "ledger", {.ttl = 0ms}); }),
            errc::invalid_argument);
  EXPECT_EQ(code_thrown_by([&] { const mutex bad(locks_, "ledger", {.mode = mode::shared}); }),
            errc::unsupported);
}

TEST(MutexDefaults, AbsentTtlAdaptsToTheStoresMaxTtl) {
  traits strict = network_traits();
  strict.max_ttl = 2s;
  scripted_client with(strict);
  mutex m(*with.locks, "ledger");
  m.lock();
  EXPECT_EQ(with.store->calls(store_call::kind::acquire).back().request.ttl, 2s);
  EXPECT_EQ(with.locks->default_ttl(), 2s);
  m.unlock();
  EXPECT_EQ(with.locks->acquire("ledger", {.ttl = 30s}).error(), errc::invalid_argument);
}

}  // namespace
}  // namespace cremone::test
