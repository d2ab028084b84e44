// SPDX-License-Identifier: Apache-2.0
//
// How connections end: by our own hand, by the last of their owners, and by the end of the loop, in whatever state they
// are and whatever other threads are doing with them.
#include "scenario/transport_fixture.hpp"

#include <fcntl.h>
#include <netdb.h>
#include <sys/socket.h>

#include <cerrno>
#include <functional>

namespace cremone::test {
namespace {

class TransportEnd : public transport_fixture {
 protected:
  /// Descriptors are closed on the loop, a little later than close() returns.
  [[nodiscard]] static bool descriptors_are(const std::vector<int>& expected) {
    return wait_for([&] { return open_descriptors() == expected; });
  }

  /// What may be done with a connection whose loop is gone: anything.
  static void use(const std::shared_ptr<connection>& link) {
    link->put("bytes");
    link->flush();
    link->close();
    link->put("bytes");
    link->flush();
    link->close();
  }

  system_calls calls_;
  listener server_;
};

// ---- by our own hand -----------------------------------------------------------------------------------------------

TEST_F(TransportEnd, ClosingEndsTheConnectionAndTellsNobody) {
  const auto link = open(server_.where());
  const auto peer = server_.accept();
  ASSERT_TRUE(opened());
  link->close();
  EXPECT_EQ(read_to_end(peer), "");
  settle();
  EXPECT_EQ(events_->count(), 1U);  // opened
  use(link);
}

TEST_F(TransportEnd, DroppingTheLastReferenceCloses) {
  auto link = open(server_.where());
  const auto peer = server_.accept();
  ASSERT_TRUE(opened());
  link.reset();
  EXPECT_EQ(read_to_end(peer), "");
  settle();
  EXPECT_EQ(events_->count(), 1U);
}

TEST_F(TransportEnd, ThePeerLearnsOfItEvenIfTheLoopIsBusy) {
  const auto link = open(server_.where());
  const auto peer = server_.accept();
  ASSERT_TRUE(opened());
  const signal_once done;
  env_->post([done] { EXPECT_TRUE(done.wait()); });
  link->close();
  EXPECT_EQ(read_to_end(peer), "");
  done.set();
}

TEST_F(TransportEnd, MayBeClosedByItsOwnEvents) {
  std::shared_ptr<connection> link;
  const signal_once link_is_known;
  events_->on_received = [&](std::string_view) {
    EXPECT_TRUE(link_is_known.wait());
    link.reset();
  };
  link = open(server_.where());
  link_is_known.set();
  const auto peer = server_.accept();
  write_all(peer, "enough");
  EXPECT_EQ(read_to_end(peer), "");
  settle();
  EXPECT_EQ(events_->bytes(), "enough");
  EXPECT_FALSE(events_->end());
}

TEST_F(TransportEnd, EventsAreHeldWeakly) {
  const auto link = open(server_.where());
  const auto peer = server_.accept();
  ASSERT_TRUE(opened());
  const std::weak_ptr<recorder> gone = events_;
  events_.reset();
  EXPECT_TRUE(wait_for([&] { return gone.expired(); }));  // the event that opened it may still be returning
  write_all(peer, "nobody hears this");
  link->put("x");
  link->flush();
  EXPECT_EQ(read_exactly(peer, 1), "x");
  events_ = std::make_shared<recorder>();
}

TEST_F(TransportEnd, NothingComesAfterItWasClosedWhileBytesArrive) {
  for (int round = 0; round < 50; ++round) {
    const auto events = std::make_shared<recorder>();
    const auto link = net_->open(server_.where(), events);
    auto peer = server_.accept();
    std::thread writer([&] {
      const std::string piece(1000, 'x');
      while (::sendto(peer.get(), piece.data(), piece.size(), MSG_NOSIGNAL, nullptr, 0) > 0) {
      }
    });
    ASSERT_TRUE(wait_for([&] { return events->count() > 10; }));
    link->close();
    settle();  // one event may have been running
    const auto count = events->count();
    settle();
    EXPECT_EQ(events->count(), count);
    EXPECT_FALSE(events->end());
    writer.join();
  }
}

TEST_F(TransportEnd, NoDescriptorIsLeftBehind) {
  const auto before = open_descriptors();
  for (int round = 0; round < 1000; ++round) {
    // Given up at once, given up by us, given up by the server.
    auto link = net_->open(server_.where(), std::make_shared<recorder>());
    if (round % 3 == 0) {
      link.reset();
      static_cast<void>(server_.accept_now());
    } else if (round % 3 == 1) {
      const auto peer = server_.accept();
      link.reset();
    } else {
      server_.accept().reset();
    }
  }
  while (server_.accept_now()) {
  }
  EXPECT_TRUE(descriptors_are(before))
      << ::testing::PrintToString(open_descriptors()) << " were " << ::testing::PrintToString(before);
}

/// The number of a closed descriptor may be somebody else's file: a send that is about to happen keeps it open.
TEST_F(TransportEnd, ADescriptorIsNotClosedUnderASend) {
  const signal_once in_send;
  const signal_once go_on;
  std::atomic<int> fd = -1;
  calls_.on_send([&](int used, std::string_view bytes) {
    fd = used;
    in_send.set();
    EXPECT_TRUE(go_on.wait());
    // Time in which it must not happen: too short a time would miss a fault, and never make one up.
    EXPECT_FALSE(wait_for([&] { return ::fcntl(used, F_GETFD) == -1; }, std::chrono::milliseconds(100)));
    return static_cast<ssize_t>(bytes.size());
  });
  auto link = open(server_.where());
  auto peer = server_.accept();
  ASSERT_TRUE(opened());
  std::thread sender([&, mine = link] {
    mine->put("x");
    mine->flush();
  });
  ASSERT_TRUE(in_send.wait());
  std::thread closer([&] { link->close(); });
  peer.reset();  // the loop learns of an end, too, and would close it as well
  go_on.set();
  closer.join();
  sender.join();
  link.reset();
  EXPECT_TRUE(wait_for([&] { return ::fcntl(fd, F_GETFD) == -1; }));
}

// ---- by the end of the loop ----------------------------------------------------------------------------------------

TEST_F(TransportEnd, TheLoopMayGoWhileANameIsLookedUp) {
  const signal_once asked;
  const signal_once answer;
  const signal_once answered;
  calls_.on_lookup([=](const std::string&) {
    asked.set();
    EXPECT_TRUE(answer.wait());
    answered.set();
    return system_calls::lookup_answer{0, {"127.0.0.1"}};
  });
  const auto link = open({"some.host", server_.where().port, "", {}});
  ASSERT_TRUE(asked.wait());
  env_.reset();
  use(link);
  answer.set();  // and what comes of it is dropped
  EXPECT_TRUE(answered.wait());
}

TEST_F(TransportEnd, TheLoopMayGoWhileItConnects) {
  const listener full(0);
  const auto crowd = full.fill_queue();
  const auto link = open(full.where());
  settle();
  env_.reset();
  use(link);
  EXPECT_EQ(events_->count(), 0U);
}

TEST_F(TransportEnd, TheLoopMayGoWhileItAgreesOnTls) {
  endpoint at = server_.where();
  at.tls.emplace();
  const auto link = open(at);
  const auto silent = server_.accept();
  EXPECT_EQ(read_exactly(silent, 5).size(), 5U);
  env_.reset();
  use(link);
  EXPECT_EQ(events_->count(), 0U);
}

TEST_F(TransportEnd, TheLoopMayGoWhileBytesWaitToBeSent) {
  const auto link = open(server_.where());
  const auto peer = server_.accept();
  ASSERT_TRUE(opened());
  link->put(std::string(20'000'000, 'x'));  // more than any kernel takes when nobody reads
  link->flush();
  env_.reset();
  // The socket is gone with the loop, although the connection is kept.
  const std::string taken = read_to_end(peer);
  EXPECT_LT(taken.size(), 20'000'000U);
  use(link);
}

TEST_F(TransportEnd, TheLoopMayGoWithAllKindsOfConnectionsAndNothingIsLeft) {
  env_.reset();
  const auto before = open_descriptors();
  for (int round = 0; round < 20; ++round) {
    env_ = std::make_unique<detail::asio_env>();
    net_ = env_->network();
    std::vector<std::shared_ptr<connection>> links;
    std::vector<descriptor> peers;
    for (int i = 0; i < 5; ++i) {
      links.push_back(net_->open(server_.where(), std::make_shared<recorder>()));
      peers.push_back(server_.accept());
      links.push_back(net_->open({"", 0, directory_.file("none"), {}}, std::make_shared<recorder>()));
      write_all(peers.back(), "bytes");
    }
    links.resize(8);
    links.push_back(net_->open(server_.where(), {}));  // hardly begun
    env_.reset();
    for (const auto& link : links) {
      use(link);
    }
    while (server_.accept_now()) {
    }
  }
  EXPECT_EQ(open_descriptors(), before);
}

TEST_F(TransportEnd, ThreadsMayUseTheirConnectionsWhileTheLoopGoes) {
  for (int round = 0; round < 30; ++round) {
    auto env = std::make_unique<detail::asio_env>();
    const auto net = env->network();
    auto link = net->open(server_.where(), std::make_shared<recorder>());
    const auto peer = server_.accept();
    std::atomic<bool> stop = false;
    std::atomic<int> busy = 0;
    std::vector<std::thread> threads;
    for (int t = 0; t < 3; ++t) {
      threads.emplace_back([&, t] {
        for (int i = 0; !stop; ++i) {
          link->put(std::string(1000, 'x'));
          link->flush();
          if (t == 0) {
            static_cast<void>(net->open(server_.where(), std::make_shared<recorder>()));
          }
          busy += i == 3 ? 1 : 0;
        }
      });
    }
    EXPECT_TRUE(wait_for([&] { return busy == 3; }));
    env.reset();
    stop = true;
    for (auto& thread : threads) {
      thread.join();
    }
    while (server_.accept_now()) {
    }
  }
}

TEST_F(TransportEnd, WhatIsOpenedAfterTheLoopNeverComesToBe) {
  env_.reset();
  const auto link = open(server_.where());
  ASSERT_NE(link, nullptr);
  use(link);
  EXPECT_FALSE(server_.accept_now());
}

TEST_F(TransportEnd, TheLoopMayBeStoppedByAnEvent) {
  events_->on_received = [&](std::string_view) { env_->stop(); };
  const auto link = open(server_.where());
  const auto peer = server_.accept();
  write_all(peer, "stop");
  EXPECT_EQ(read_to_end(peer), "");
  use(link);
}

}  // namespace
}  // namespace cremone::test
