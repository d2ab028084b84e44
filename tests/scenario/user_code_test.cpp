// SPDX-License-Identifier: Apache-2.0
//
// The user's callbacks: they may close the client, take their time or never come back, and nobody else suffers.
#include "scenario/scripted_client.hpp"
#include "scenario/seam.hpp"

#include <cremone/async.hpp>

#include <gtest/gtest.h>

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/io_context.hpp>

#include <atomic>
#include <memory>
#include <thread>

namespace cremone::test {
namespace {

using namespace std::chrono_literals;
namespace asio = boost::asio;
using kind = store_call::kind;

/// Holds up a callback. Shared, because the callback may outlive the test's client.
class gate {
 public:
  /// What the callback does.
  void pass() {
    entered_ = true;
    (void)wait_for([this] { return open_.load(); }, 2 * generous);
    left_ = true;
  }

  [[nodiscard]] bool wait_until_entered() const {
    return wait_for([this] { return entered_.load(); });
  }
  [[nodiscard]] bool let_pass() {
    open_ = true;
    return wait_for([this] { return left_.load(); });
  }

 private:
  std::atomic<bool> entered_ = false;
  std::atomic<bool> open_ = false;
  std::atomic<bool> left_ = false;
};

class UserCode : public ::testing::Test {
 protected:
  /// A store that says at the first renewal that "taken" belongs to another.
  UserCode() {
    script s = script::yes();
    s.renew = [](std::span<const renewal> items) {
      std::vector<answer> answers;
      for (const renewal& r : items) {
        answers.push_back(*r.name == lock_name("taken") ? answer(refused{error(errc::lost)})
                                                        : answer(done{}));
      }
      return answers;
    };
    c_.store->follow(s);
  }

  [[nodiscard]] lease take_doomed() { return c_.locks->acquire("taken", {.ttl = 600ms}).value(); }

  [[nodiscard]] std::size_t renewals_of(const lock_name& name) const {
    std::size_t n = 0;
    for (const auto& call : c_.store->calls(kind::renew)) {
      for (const auto& item : call.items) {
        if (item.name == name) {
          ++n;
        }
      }
    }
    return n;
  }

  scripted_client c_;
};

TEST_F(UserCode, MayCloseTheClientWhenALeaseIsLost) {
  auto doomed = take_doomed();
  auto other = c_.locks->acquire("other").value();
  std::atomic<int> told = 0;
  other.on_lost([&](const error&) { ++told; });
  doomed.on_lost([&](const error&) {
    c_.locks->close();
    ++told;
  });
  ASSERT_TRUE(wait_for([&] { return told == 2; }));
  EXPECT_FALSE(other.held());
  EXPECT_EQ(c_.locks->acquire("more").error(), errc::cancelled);
}

TEST_F(UserCode, MayCloseTheClientInAHandlerOnTheCallbackThread) {
  std::atomic<bool> closed = false;
  async_acquire(*c_.locks, "ledger", {}, [&](const result<lease>&) {
    c_.locks->close();
    closed = true;
  });
  EXPECT_TRUE(wait_for([&] { return closed.load(); }));
}

TEST_F(UserCode, MayCloseTheClientInAHandlerOnItsOwnExecutor) {
  asio::io_context context;
  bool closed = false;
  async_acquire(*c_.locks, "ledger", {}, asio::bind_executor(context, [&](const result<lease>& held) {
    c_.locks->close();
    closed = held && !held->held();
  }));
  context.run_for(generous);
  EXPECT_TRUE(closed);
}

TEST_F(UserCode, MayDropTheLastLeaseWhenItIsLost) {
  auto doomed = std::make_shared<lease>(take_doomed());
  std::atomic<bool> dropped = false;
  doomed->on_lost([&, held = doomed](const error&) mutable {
    held.reset();
    dropped = true;
  });
  doomed.reset();
  EXPECT_TRUE(wait_for([&] { return dropped.load(); }));
  EXPECT_TRUE(wait_for([&] { return !c_.store->calls(kind::release).empty(); }));
}

TEST_F(UserCode, ThatNeverReturnsDoesNotHangClose) {
  const auto stuck = std::make_shared<gate>();
  auto doomed = take_doomed();
  doomed.on_lost([stuck](const error&) { stuck->pass(); });
  ASSERT_TRUE(stuck->wait_until_entered());

  const auto start = std::chrono::steady_clock::now();
  c_.locks->close();
  EXPECT_LE(std::chrono::steady_clock::now() - start, 2s);
  EXPECT_TRUE(stuck->let_pass());
}

TEST_F(UserCode, ThatTakesItsTimeDelaysNoRenewal) {
  const auto slow = std::make_shared<gate>();
  auto doomed = take_doomed();
  const auto other = c_.locks->acquire("other", {.ttl = 600ms}).value();
  doomed.on_lost([slow](const error&) { slow->pass(); });
  ASSERT_TRUE(slow->wait_until_entered());

  const std::size_t before = renewals_of("other");
  EXPECT_TRUE(wait_for([&] { return renewals_of("other") >= before + 3; }));
  EXPECT_TRUE(slow->let_pass());
}

TEST_F(UserCode, ThatTakesItsTimeDelaysNoAcquire) {
  const auto slow = std::make_shared<gate>();
  auto doomed = take_doomed();
  doomed.on_lost([slow](const error&) { slow->pass(); });
  ASSERT_TRUE(slow->wait_until_entered());
  EXPECT_TRUE(c_.locks->acquire("other", {.wait = 5s}).has_value());
  EXPECT_TRUE(slow->let_pass());
}

TEST_F(UserCode, ThatIsNotThereIsNotCalled) {
  auto doomed = take_doomed();
  std::atomic<bool> told = false;
  doomed.on_lost(nullptr);
  doomed.on_lost({});
  doomed.on_lost([&](const error&) { told = true; });
  EXPECT_TRUE(wait_for([&] { return told.load(); }));
  doomed.on_lost(nullptr);
}

}  // namespace
}  // namespace cremone::test
