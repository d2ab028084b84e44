// SPDX-License-Identifier: Apache-2.0
//
// What must not grow: descriptors, memory and keys, over a thousand reconnects and a million acquisitions.
#include "live/redis_fixture.hpp"
#include "support/crowd.hpp"
#include "support/sanitized.hpp"
#include "support/tcp_proxy.hpp"

#include <cremone/async.hpp>

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <future>
#include <iterator>
#include <latch>
#include <memory>
#include <stop_token>

namespace cremone::test {

namespace {

using namespace std::chrono_literals;

#ifdef CREMONE_TEST_SANITIZED
constexpr bool memory_is_ours = false;  // a sanitizer keeps what was freed
#else
constexpr bool memory_is_ours = true;
#endif
#if defined(NDEBUG) && !defined(CREMONE_TEST_SANITIZED)
constexpr int pairs = 1'000'000;
constexpr int reconnects = 20;
#else
constexpr int pairs = 20'000;
constexpr int reconnects = 6;
#endif

struct size_of_process {
  std::ptrdiff_t descriptors = 0;
  std::int64_t kilobytes = 0;

  static size_of_process now() {
    using std::filesystem::directory_iterator;
    size_of_process s;
    s.descriptors = std::distance(directory_iterator("/proc/self/fd"), directory_iterator());
    std::ifstream in("/proc/self/statm");
    std::int64_t total = 0;
    in >> total >> s.kilobytes;
    s.kilobytes *= ::sysconf(_SC_PAGESIZE) / 1024;
    return s;
  }
};

/// `before` was taken when all had been used once.
void expect_no_growth(const size_of_process& before) {
  EXPECT_TRUE(wait_for([&] { return size_of_process::now().descriptors <= before.descriptors; }))
      << size_of_process::now().descriptors << " descriptors, " << before.descriptors << " before";
  if (memory_is_ours) {
    // The allocator's own slack. A leak of a hundred bytes per acquisition would be 100 MB.
    EXPECT_LT(size_of_process::now().kilobytes, before.kilobytes + 8192) << before.kilobytes << " kB before";
  }
}

/// Takes and leaves locks without a thread of its own: many of these are under way at once.
class lane : public std::enable_shared_from_this<lane> {
 public:
  lane(client& locks, std::size_t number, int times, std::latch& over)
      : locks_(locks), number_(number), left_(times), over_(over) {}

  void go_on() {
    if (left_-- == 0) {
      return over_.count_down();
    }
    const std::string name = "lock-" + std::to_string(number_) + "-" + std::to_string(left_ % 250);
    async_acquire(locks_, name, {.wait = generous}, [self = shared_from_this()](result<lease> got) {
      if (!got) {
        return self->fail(got.error());
      }
      async_release(std::move(*got), [self](const result<void>& released) {
        if (!released) {
          return self->fail(released.error());
        }
        self->go_on();
      });
    });
  }

 private:
  void fail(const error& why) {
    ADD_FAILURE() << why.message();
    over_.count_down();
  }

  client& locks_;
  const std::size_t number_;
  int left_;
  std::latch& over_;
};

class RedisGrowth : public RedisServer {
 protected:
  static void work(client& locks, int times) {
    constexpr int lanes = 64;
    std::latch over(lanes);
    for (std::size_t i = 0; i < lanes; ++i) {
      std::make_shared<lane>(locks, i, times / lanes, over)->go_on();
    }
    over.wait();
  }
};

TEST_F(RedisGrowth, DoesNotComeFromAcquisitions) {
  client locks = opened(server_.url());
  work(locks, 16'000);  // every name once
  const size_of_process before = size_of_process::now();
  const auto fields = server_.ask({"HLEN", fence_key}).number;
  work(locks, pairs);
  expect_no_growth(before);
  expect_only_fixed_keys();
  EXPECT_LE(fields, 1025);  // one per bucket, and one that says what it is
  EXPECT_LE(server_.ask({"HLEN", fence_key}).number, 1025);
}

TEST_F(RedisGrowth, DoesNotComeFromReconnects) {
  tcp_proxy proxy(server_.port());
  std::vector<client> clients(50);
  const auto use_all = [&] {
    crowd(clients.size(), [&](std::size_t i) {
      auto got = clients[i].acquire("lock-" + std::to_string(i), {.wait = 3 * generous});
      EXPECT_TRUE(got) << got.error().message();
    });
  };
  for (client& c : clients) {
    c = opened("redis://" + proxy.node() + "?layout=classic");
  }
  use_all();
  const auto two_each = [&] {
    EXPECT_TRUE(wait_for([&] { return proxy.connections() == 2 * clients.size(); })) << proxy.connections();
  };
  {
    // Whoever has waited once has a second connection, for notices. Each does, so that it does not matter who has to later.
    client other = opened(server_.url());
    const lease held = taken(other, "held", {.wait = generous});
    std::stop_source enough;
    const auto waiting = std::async(std::launch::async, [&] {
      crowd(clients.size(), [&](std::size_t i) {
        EXPECT_FALSE(clients[i].acquire("held", {}, enough.get_token()).has_value());
      });
    });
    two_each();
    enough.request_stop();
    waiting.wait();
  }
  const auto cut_and_use = [&] {
    const auto connections = proxy.accepted();
    proxy.cut_all();
    EXPECT_TRUE(wait_for([&] { return proxy.accepted() >= connections + 2 * clients.size(); }, 3 * generous));
    use_all();
  };
  cut_and_use();
  two_each();
  const size_of_process before = size_of_process::now();
  for (int i = 0; i < reconnects && !HasFailure(); ++i) {
    cut_and_use();
  }
  two_each();
  EXPECT_GE(proxy.accepted(), static_cast<std::uint64_t>(reconnects) * clients.size());
  expect_no_growth(before);
  EXPECT_TRUE(wait_for([&] { return server_.keys_in() == std::vector<std::string>{fence_key}; }));
}

TEST_F(RedisGrowth, DoesNotComeFromWaitersThatComeAndGo) {
  client ann = opened(server_.url());
  client bob = opened(server_.url());
  const auto wait_in_vain = [&](int times) {
    const lease held = taken(ann, "lock", {.wait = generous});
    crowd(8, [&](std::size_t) {
      for (int i = 0; i < times; ++i) {
        const auto no = bob.acquire("lock", {.wait = 2ms});
        EXPECT_FALSE(no);
      }
    });
  };
  wait_in_vain(50);
  const size_of_process before = size_of_process::now();
  wait_in_vain(500);
  expect_no_growth(before);
  EXPECT_LE(server_.ask({"PUBSUB", "CHANNELS"}).items.size(), 1U) << "one lock, one channel";
}

}  // namespace

}  // namespace cremone::test
