// SPDX-License-Identifier: Apache-2.0
//
// A forked child has copies of everything and may act on none of it: its copies hold nothing, release nothing,
// close nothing and never block, whatever the parent's other threads were doing at that moment.
#include "backends/memory/backend.hpp"
#include "engine/asio_env.hpp"
#include "scenario/child_process.hpp"
#include "scenario/forwarding_backend.hpp"
#include "scenario/seam.hpp"

#include <gtest/gtest.h>

#include <sys/mman.h>

#include <array>
#include <atomic>
#include <memory>
#include <optional>
#include <stop_token>
#include <thread>
#include <vector>

namespace cremone::test {
namespace {

using namespace std::chrono_literals;

template <class Fn>
std::optional<error> thrown_by(Fn fn) {
  try {
    fn();
  } catch (const lock_error& e) {
    return e.why();
  }
  return std::nullopt;
}

/// Counts the calls of child processes to a store in memory that they share with their parent, as they would share a
/// server. The parent renews all the while.
class counting_backend final : public forwarding_backend {
 public:
  explicit counting_backend(std::shared_ptr<backend> to) : forwarding_backend(std::move(to)) {
    void* const page =
        ::mmap(nullptr, sizeof(counter), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    calls_ = ::new (page) counter(0);
  }
  counting_backend(const counting_backend&) = delete;
  counting_backend& operator=(const counting_backend&) = delete;
  ~counting_backend() override { ::munmap(calls_, sizeof(counter)); }

  [[nodiscard]] int calls() const noexcept { return *calls_; }

 private:
  using counter = std::atomic<int>;

  void called() noexcept override {
    if (::getpid() != parent_) {
      ++*calls_;
    }
  }

  const pid_t parent_ = ::getpid();
  counter* calls_;
};

class Fork : public ::testing::Test {
 protected:
  Fork() {
    auto env = std::make_shared<detail::asio_env>();
    store_ = std::make_shared<counting_backend>(
        std::make_shared<memory::memory_backend>(env, memory::shared_store("fork"), "memory://fork"));
    locks_ = std::make_unique<client>(
        detail::access::make_client(std::make_shared<detail::engine>(std::move(env), store_)));
    m_ = std::make_unique<mutex>(*locks_, "by mutex");
    held_ = locks_->acquire("by lease", {.ttl = short_ttl}).value();
    m_->lock();
  }

  static constexpr auto short_ttl = 3s;  // renewed each second

  void check_inherited(complaints& c) {
    c.expect(!held_.held(), "the lease is held");
    c.expect(held_.remaining() == 0ns, "the lease has time left");
    c.expect(held_.deadline() == instant::min(), "the lease has a deadline");
    c.expect(held_.token().value() != 0, "the lease forgot its token");
    c.expect(held_.owner() != owner_id{}, "the lease forgot its owner");
    c.expect(!held_.get_stop_token().stop_requested(), "stop is requested");
    c.expect(held_.reenter().error() == errc::not_held, "reenter is not refused with not_held");
    held_.on_lost([](const error&) {});

    const auto got = locks_->acquire("other");
    c.expect(got.error() == errc::unsupported, "acquire is not refused with unsupported");
    c.expect(got.error().message().find("open one of its own") != std::string::npos,
             "the message does not say what to do: " + got.error().message());
    c.expect(locks_->inspect("other").error() == errc::unsupported, "inspect is not refused");
    c.expect(locks_->list().error() == errc::unsupported, "list is not refused");

    c.expect(!m_->held(), "the mutex is held");
    c.expect(m_->token() == fence_token{}, "the mutex has a token");
    for (const auto& refusal : {thrown_by([&] { m_->lock(); }), thrown_by([&] { (void)m_->try_lock(); })}) {
      c.expect(refusal && *refusal == errc::unsupported, "the mutex does not throw unsupported");
    }
    m_->unlock();
  }

  void drop_inherited(complaints& c) {
    c.expect(held_.release().error() == errc::not_held, "release is not refused with not_held");
    held_ = {};
    m_.reset();
    locks_->close();
    locks_.reset();
  }

  /// What a child complains of, and whether it reached the store.
  [[nodiscard]] std::string in_quiet_child(const std::function<void(complaints&)>& fn,
                                           way_to_fork how = way_to_fork::fork) {
    return in_child(
        [&] {
          complaints c;
          const int before = store_->calls();
          fn(c);
          c.expect(store_->calls() == before, "the store was asked");
          return c.text();
        },
        how);
  }

  void expect_parent_unharmed() {
    const instant before = held_.deadline();
    EXPECT_TRUE(wait_for([&] { return held_.deadline() > before; })) << "the parent renews no more";
    EXPECT_TRUE(held_.held());
    EXPECT_TRUE(m_->held());
    client other = open("memory://fork").value();
    EXPECT_FALSE(is_free(other, "by lease"));
    EXPECT_FALSE(is_free(other, "by mutex"));
    EXPECT_TRUE(held_.release());
    m_->unlock();
    EXPECT_TRUE(is_free(other, "by lease"));
    EXPECT_TRUE(is_free(other, "by mutex"));
  }

  std::shared_ptr<counting_backend> store_;
  std::unique_ptr<client> locks_;
  lease held_;
  std::unique_ptr<mutex> m_;
};

TEST_F(Fork, LeavesTheChildWithInertCopies) {
  EXPECT_EQ(in_quiet_child([&](complaints& c) { check_inherited(c); }), "");
  expect_parent_unharmed();
}

TEST_F(Fork, LetsTheChildDestroyItsCopiesWithoutEffect) {
  EXPECT_EQ(in_quiet_child([&](complaints& c) { drop_inherited(c); }), "");
  expect_parent_unharmed();
}

TEST_F(Fork, LetsTheChildDestroyTheClientBeforeWhatWasMadeFromIt) {
  const auto child = [&](complaints&) {
    locks_.reset();
    m_.reset();
    held_ = {};
  };
  EXPECT_EQ(in_quiet_child(child), "");
  expect_parent_unharmed();
}

TEST_F(Fork, ByTheBareSystemCallIsRecognisedToo) {
  const auto child = [&](complaints& c) {
    check_inherited(c);
    drop_inherited(c);
  };
  EXPECT_EQ(in_quiet_child(child, way_to_fork::raw_clone), "");
  expect_parent_unharmed();
}

TEST_F(Fork, LeavesTheGrandchildWithInertCopies) {
  const auto grandchild = [&](complaints& c) { check_inherited(c); };
  EXPECT_EQ(in_quiet_child([&](complaints& c) {
              c.expect(!held_.held(), "held in the child");  // which has a stamp of its own from here on
              c.expect(in_quiet_child(grandchild).empty(), "the grandchild complains");
            }),
            "");
  expect_parent_unharmed();
}

/// A client of the child's own works as any, with the parent's store out of reach: memory:// is within a process.
std::string use_own_client(const std::string& url) {
  complaints c;
  client own = open(url).value();
  auto mine = own.acquire("by lease", {.wait = 2s});
  c.expect(mine.has_value(), "the child's own client: " + (mine ? "" : mine.error().message()));
  if (mine) {
    c.expect(mine->held(), "the child's own lease is not held");
    c.expect(mine->release().has_value(), "the child's own lease is not released");
  }
  own.close();
  return c.text();
}

TEST_F(Fork, LetsTheChildOpenAClientOfItsOwn) {
  EXPECT_EQ(in_child([] { return use_own_client("memory://opened by the child"); }), "");
  expect_parent_unharmed();
}

TEST_F(Fork, HidesTheParentsMemoryStoreFromTheChild) {
  client parents = open("memory://both").value();
  const auto held_by_parent = parents.acquire("by lease").value();
  EXPECT_EQ(in_child([] { return use_own_client("memory://both"); }), "");
  expect_parent_unharmed();
}

/// The parent's threads keep every lock of the library in use while it forks.
class ForkInABusyProcess : public Fork {
 protected:
  ForkInABusyProcess() {
    for (int i = 0; i < 4; ++i) {
      busy_.emplace_back([this](const std::stop_token& stop) {
        mutex shared(*locks_, "shared");
        while (!stop.stop_requested()) {
          const auto one = locks_->acquire("one", {.wait = 1s});
          const auto again = one ? one->reenter() : one.error();
          const auto stop_of = one ? one->get_stop_token() : std::stop_token{};
          if (m_->try_lock()) m_->unlock();
          if (shared.try_lock_for(1s)) shared.unlock();
        }
      });
    }
  }

  std::vector<std::jthread> busy_;
};

TEST_F(ForkInABusyProcess, NeverBlocksTheChild) {
  for (int i = 0; i < 30; ++i) {
    ASSERT_EQ(in_child([&] {
                complaints c;
                check_inherited(c);
                drop_inherited(c);
                return c.text();
              }),
              "")
        << "fork " << i;
  }
  busy_.clear();
  expect_parent_unharmed();
}

TEST_F(ForkInABusyProcess, LetsTheChildOpenAClientOfItsOwn) {
  client parents = open("memory://busy").value();
  {
    const auto use = [&](const std::stop_token& stop) {
      while (!stop.stop_requested()) {
        const auto one = parents.acquire("by lease", {.wait = 1s});
      }
    };
    const std::array users = {std::jthread(use), std::jthread(use), std::jthread(use)};
    for (int i = 0; i < 30; ++i) {
      ASSERT_EQ(in_child([] { return use_own_client("memory://busy"); }), "") << "fork " << i;
    }
  }
  busy_.clear();
  expect_parent_unharmed();
}

/// The mutex is then the last to know its client's engine, whose end would take locks that the parent's threads use.
TEST_F(ForkInABusyProcess, LetsTheChildDestroyAMutexThatOutlivedItsClient) {
  {
    const std::jthread opener([](const std::stop_token& stop) {
      while (!stop.stop_requested()) {
        (void)open("memory://opened and closed").has_value();
      }
    });
    for (int i = 0; i < 100; ++i) {
      auto locks = std::make_unique<client>(open("memory://gone").value());
      auto left = std::make_unique<mutex>(*locks, "ledger");
      locks.reset();
      ASSERT_EQ(in_child([&] {
                  left.reset();
                  return std::string();
                }),
                "")
          << "fork " << i;
    }
  }
  busy_.clear();
  expect_parent_unharmed();
}

}  // namespace
}  // namespace cremone::test
