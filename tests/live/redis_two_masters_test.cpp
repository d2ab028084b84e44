// SPDX-License-Identifier: Apache-2.0
//
// A failover that leaves two masters: a replica is promoted while its master is only cut off from it, and a client is
// cut off together with the old master. Without min-replicas-to-write both masters serve one lock, which is documented:
// should that test fail, its documentation is wrong. With it the old master stops in time.
#include "live/redis_fixture.hpp"
#include "support/sockets.hpp"
#include "support/temp_directory.hpp"

#include <stdlib.h>

#include <atomic>
#include <thread>

namespace cremone::test {

namespace {

using namespace std::chrono_literals;

/// The road of one replica to its master. Once cut, nothing passes, and neither side sees the other leave.
class replication_link {
 public:
  explicit replication_link(std::uint16_t master)
      : door_(listen_on_loopback()), thread_([this, master] { run(master); }) {}
  replication_link(const replication_link&) = delete;
  replication_link& operator=(const replication_link&) = delete;
  ~replication_link() {
    over_ = true;
    thread_.join();
  }

  [[nodiscard]] std::string port() const { return std::to_string(door_.port); }
  void cut() { cut_ = true; }

 private:
  static constexpr std::chrono::milliseconds glance{2};

  void run(std::uint16_t master) {
    while (!over_ && !readable(door_.socket.get(), glance)) {
    }
    if (over_) {
      return;
    }
    const descriptor replica(::accept4(door_.socket.get(), nullptr, nullptr, SOCK_CLOEXEC));
    const descriptor server = connect_to(master);
    while (!over_) {
      if (cut_) {
        std::this_thread::sleep_for(glance);
        continue;
      }
      pass(replica.get(), server.get());
      pass(server.get(), replica.get());
    }
  }

  static void pass(int from, int to) {
    if (readable(from, glance)) {
      (void)send_all(to, receive_some(from));
    }
  }

  const listening_socket door_;
  std::atomic<bool> cut_ = false;
  std::atomic<bool> over_ = false;
  std::thread thread_;
};

class RedisTwoMasters : public ::testing::Test {
 protected:
  RedisTwoMasters() { ::setenv("CREMONE_STATE_DIR", state_.path().c_str(), 1); }
  ~RedisTwoMasters() override { ::unsetenv("CREMONE_STATE_DIR"); }

  /// A quarantine of 5 s, so that a ttl of up to max_ttl less the lag and a second is safe: 2 s.
  [[nodiscard]] static std::string url(const redis_server& server) {
    return "redis://" + server.node() + "/?prefix=two&max_ttl=4s";
  }

  /// Alice holds the lock on the master, which the replica knows. Then the link is cut and the replica promoted.
  [[nodiscard]] lease hold_and_fail_over() {
    EXPECT_TRUE(wait_for([&] {
      return master_.ask({"INFO", "replication"}).text.find("state=online") != std::string::npos;
    }));
    const auto ended = alice_.end_quarantine();
    EXPECT_TRUE(ended) << ended.error().message();
    lease first = taken(alice_, "lock", {.ttl = 2s, .wait = generous});
    EXPECT_TRUE(wait_for([&] { return replica_.ask({"EXISTS", "two:lock:lock"}).number == 1; }));
    link_.cut();
    EXPECT_EQ(replica_.ask({"REPLICAOF", "NO", "ONE"}).shown(), "OK");
    return first;
  }

  temp_directory state_;
  redis_server master_{{.extra = {"--repl-diskless-sync-delay", "0", "--min-replicas-max-lag", "1"}}};
  replication_link link_{master_.port()};
  redis_server replica_{{.extra = {"--replicaof", "127.0.0.1", link_.port()}}};
  client alice_ = opened(url(master_));
};

TEST_F(RedisTwoMasters, BothServeOneLockWithoutMinReplicas) {
  const lease first = hold_and_fail_over();
  client bob = opened(url(replica_));
  const auto second = bob.acquire("lock", {.ttl = 2s, .wait = 3 * generous});
  ASSERT_TRUE(second) << second.error().message();
  EXPECT_TRUE(first.held()) << "the old master still renews it";
  EXPECT_TRUE(second->held()) << "both were, when the first was asked";
}

TEST_F(RedisTwoMasters, OldMasterWithMinReplicasStopsBeforePromotedOneGrants) {
  ASSERT_TRUE(wait_for([&] {
    return master_.ask({"CONFIG", "SET", "min-replicas-to-write", "1"}).shown() == "OK";
  }));
  const lease first = hold_and_fail_over();
  client bob = opened(url(replica_));
  const auto second = bob.acquire("lock", {.ttl = 2s, .wait = 3 * generous});
  ASSERT_TRUE(second) << second.error().message();
  EXPECT_FALSE(first.held()) << "two holders";
  EXPECT_EQ(refusal_of(alice_, master_.node(), {.ttl = 2s, .wait = no_wait}).code(), errc::storage_error);
  EXPECT_GT(second->token(), first.token());
}

}  // namespace

}  // namespace cremone::test
