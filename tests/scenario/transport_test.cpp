// SPDX-License-Identifier: Apache-2.0
//
// Byte streams over real sockets: what is sent arrives, whole and in order; what cannot be is said, with the place and
// the reason.
#include "scenario/transport_fixture.hpp"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace cremone::test {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr bool over_unix = true;
constexpr bool over_tcp = false;

class Transport : public transport_fixture {
 protected:
  void listen_at(bool unix_socket) {
    server_.emplace(unix_socket ? listener(directory_.file("s")) : listener());
  }

  std::optional<listener> server_;
  system_calls calls_;
};

class TransportOver : public Transport, public ::testing::WithParamInterface<bool> {
 protected:
  TransportOver() { listen_at(GetParam()); }
};

INSTANTIATE_TEST_SUITE_P(Kinds, TransportOver, ::testing::Values(over_tcp, over_unix),
                         [](const auto& kind) { return kind.param == over_unix ? "Unix" : "Tcp"; });

TEST_P(TransportOver, CarriesBytesBothWays) {
  const auto link = open(server_->where());
  const auto peer = server_->accept();
  ASSERT_TRUE(opened());
  link->put("hel");
  link->put("lo");
  link->flush();
  EXPECT_EQ(read_exactly(peer, 5), "hello");
  write_all(peer, "and back");
  EXPECT_TRUE(received("and back"));
}

TEST_P(TransportOver, SaysThatTheServerClosed) {
  const auto link = open(server_->where());
  server_->accept().reset();
  const auto why = end();
  EXPECT_EQ(why.code(), errc::unreachable);
  EXPECT_EQ(why.detail(), server_->where().shown() + " closed the connection");
}

TEST_P(TransportOver, DeliversTheLastWordsOfAServerThatClosed) {
  const auto link = open(server_->where());
  auto peer = server_->accept();
  ASSERT_TRUE(opened());
  // The client finds out by writing, before it has read: the loop is kept busy meanwhile.
  const signal_once done;
  env_->post([done] { EXPECT_TRUE(done.wait()); });
  write_all(peer, "go away");
  peer.reset();
  for (int i = 0; i < 5; ++i) {
    link->put("x");
    link->flush();  // without a signal that would end this program
  }
  done.set();
  EXPECT_EQ(end().code(), errc::unreachable);
  EXPECT_EQ(events_->bytes(), "go away");
}

TEST_P(TransportOver, LosesNothingThroughAKernelThatTakesLittle) {
  std::atomic<std::size_t> calls = 0;
  calls_.on_send([&](int, std::string_view bytes) -> ssize_t {
    const auto n = ++calls;
    return n % 3 == 0 ? -EAGAIN : n % 3 == 1 ? 7 : static_cast<ssize_t>(bytes.size() / 2 + 1);
  });
  const auto link = open(server_->where());
  const auto peer = server_->accept();
  ASSERT_TRUE(opened());
  std::string sent;
  for (int i = 0; i < 300; ++i) {
    const std::string message = std::to_string(i) + std::string(static_cast<std::size_t>(i), '.');
    sent += message;
    link->put(message);
    link->flush();
  }
  EXPECT_EQ(read_exactly(peer, sent.size()), sent);
}

/// 20 MB of numbers, so that each place in it looks different.
std::string much() {
  std::string bytes;
  bytes.reserve(20'000'016);
  for (std::uint64_t i = 0; bytes.size() < 20'000'000; ++i) {
    bytes.append(reinterpret_cast<const char*>(&i), sizeof i);
  }
  return bytes;
}

TEST_P(TransportOver, LosesNothingThroughASlowReader) {
  const auto link = open(server_->where());
  const auto peer = server_->accept();
  ASSERT_TRUE(opened());
  const std::string bytes = much();
  // Nobody reads yet, and still all of this returns. In steps, so that some is put while the kernel takes no more.
  for (std::size_t at = 0; at < bytes.size(); at += 1'000'000) {
    link->put(std::string_view(bytes).substr(at, 1'000'000));
    link->flush();
  }
  EXPECT_TRUE(read_exactly(peer, bytes.size()) == bytes);
  link->put("and more");
  link->flush();
  EXPECT_EQ(read_exactly(peer, 8), "and more");
}

TEST_P(TransportOver, CarriesWholeMessagesOfManyThreads) {
  constexpr std::uint32_t thread_count = 8;
  constexpr std::uint32_t per_thread = 2000;
  using message = std::array<std::uint32_t, 4>;
  const auto link = open(server_->where());
  const auto peer = server_->accept();
  ASSERT_TRUE(opened());
  std::vector<std::thread> threads;
  for (std::uint32_t t = 0; t < thread_count; ++t) {
    threads.emplace_back([&, t] {
      for (std::uint32_t i = 0; i < per_thread; ++i) {
        const message sent = {t, i, ~t, ~i};
        link->put({reinterpret_cast<const char*>(&sent), sizeof sent});
        link->flush();
      }
    });
  }
  std::array<std::uint32_t, thread_count> next{};
  for (std::uint32_t n = 0; n < thread_count * per_thread; ++n) {
    message got{};
    const auto bytes = read_exactly(peer, sizeof got);
    ASSERT_EQ(bytes.size(), sizeof got);
    std::memcpy(got.data(), bytes.data(), sizeof got);
    ASSERT_LT(got[0], thread_count);
    ASSERT_EQ(got[2], ~got[0]) << "a message was torn";
    ASSERT_EQ(got[1], next.at(got[0])++) << "thread " << got[0] << " is out of order";
  }
  for (auto& thread : threads) {
    thread.join();
  }
}

TEST_P(TransportOver, SendsAtOnceWhatManyThreadsPutWhileBytesAreReceived) {
  std::atomic<int> sends = 0;
  std::atomic<int> sends_during = -1;
  calls_.on_send([&](int, std::string_view bytes) {
    ++sends;
    return static_cast<ssize_t>(bytes.size());
  });
  std::shared_ptr<connection> link;
  const signal_once link_is_known;
  events_->on_received = [&](std::string_view) {
    EXPECT_TRUE(link_is_known.wait());
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&] {
        for (int i = 0; i < 10; ++i) {
          link->put("0123456789");
          link->flush();
        }
      });
    }
    for (auto& thread : threads) {
      thread.join();
    }
    sends_during = sends.load();
  };
  link = open(server_->where());
  link_is_known.set();
  const auto peer = server_->accept();
  write_all(peer, "?");
  EXPECT_EQ(read_exactly(peer, 400).size(), 400U);
  EXPECT_EQ(sends_during, 0);
  EXPECT_EQ(sends, 1);
}

TEST_P(TransportOver, SendsWhatWasPutWithoutAFlushAfterTheNextBytesAreReceived) {
  const auto link = open(server_->where());
  const auto peer = server_->accept();
  ASSERT_TRUE(opened());
  settle();
  link->put("behind");
  write_all(peer, "?");
  EXPECT_EQ(read_exactly(peer, 6), "behind");
}

TEST_P(TransportOver, LeavesTheRestToTheLoopWhenBytesAreReceivedDuringAFlush) {
  const signal_once link_is_known;
  const signal_once in_send;
  const signal_once receiving;
  const signal_once flushed;
  std::mutex mutex;
  std::vector<std::pair<std::thread::id, std::string>> sends;
  calls_.on_send([&](int, std::string_view bytes) {
    {
      const std::lock_guard lock(mutex);
      sends.emplace_back(std::this_thread::get_id(), bytes);
    }
    in_send.set();
    EXPECT_TRUE(receiving.wait());
    return static_cast<ssize_t>(bytes.size());
  });
  std::shared_ptr<connection> link;
  events_->on_received = [&](std::string_view) {
    EXPECT_TRUE(link_is_known.wait());
    link->put("second");
    receiving.set();
    EXPECT_TRUE(flushed.wait()) << "the flush waits for the events";
    link->put("third");
  };
  link = open(server_->where());
  link_is_known.set();
  const auto peer = server_->accept();
  ASSERT_TRUE(opened());
  settle();  // and the event that says so has returned: until then, flushing is left to the loop
  std::thread sender([&] {
    link->put("first");
    link->flush();
    flushed.set();
  });
  ASSERT_TRUE(in_send.wait());
  write_all(peer, "?");
  EXPECT_EQ(read_exactly(peer, 16), "firstsecondthird");
  sender.join();
  const std::lock_guard lock(mutex);
  ASSERT_EQ(sends.size(), 2U);
  EXPECT_EQ(sends[1], std::pair(events_->threads().front(), std::string("secondthird")));
}

TEST_P(TransportOver, EndsWhenTheKernelRefusesToSend) {
  calls_.on_send([&](int, std::string_view) -> ssize_t { return -ENOBUFS; });
  const auto link = open(server_->where());
  const auto peer = server_->accept();
  ASSERT_TRUE(opened());
  link->put("x");
  link->flush();
  EXPECT_EQ(end().code(), errc::unreachable);
  EXPECT_EQ(end().detail(),
            "lost the connection to " + server_->where().shown() + ": No buffer space available");
}

TEST_P(TransportOver, SendsWhatIsPutWhenItOpensAndNothingPutBefore) {
  std::shared_ptr<connection> link;
  const signal_once link_is_known;
  events_->on_opened = [&] {
    EXPECT_TRUE(link_is_known.wait());
    link->put("first");
    link->flush();
  };
  env_->post([link_is_known] { EXPECT_TRUE(link_is_known.wait()); });  // so that it does not open before that
  link = open(server_->where());
  link->put("too early");
  link->flush();
  link_is_known.set();
  const auto peer = server_->accept();
  EXPECT_EQ(read_exactly(peer, 5), "first");
}

TEST_P(TransportOver, CallsEventsOnTheExecutorOnly) {
  std::thread::id executor;
  env_->post([&] { executor = std::this_thread::get_id(); });
  settle();
  const auto link = open(server_->where());
  auto peer = server_->accept();
  write_all(peer, "bytes");
  ASSERT_TRUE(received("bytes"));
  peer.reset();
  static_cast<void>(end());
  EXPECT_THAT(events_->threads(), Each(executor));
}

TEST_P(TransportOver, GivesItsDescriptorToNoOtherProgram) {
  const auto before = open_descriptors();
  const auto link = open(server_->where());
  const auto peer = server_->accept();
  ASSERT_TRUE(opened());
  int seen = 0;
  for (const int fd : open_descriptors()) {
    if (std::find(before.begin(), before.end(), fd) == before.end()) {
      ++seen;
      EXPECT_NE(::fcntl(fd, F_GETFD) & FD_CLOEXEC, 0) << "descriptor " << fd;
    }
  }
  EXPECT_EQ(seen, 2);  // the peer's, which has it too, and ours
}

TEST_F(Transport, AsksTcpToSendAtOnceAndToNoticeADeadPeer) {
  std::atomic<int> fd = -1;
  calls_.on_send([&](int used, std::string_view bytes) {
    fd = used;
    return static_cast<ssize_t>(bytes.size());
  });
  listen_at(over_tcp);
  const auto link = open(server_->where());
  const auto peer = server_->accept();
  ASSERT_TRUE(opened());
  link->put("x");
  link->flush();
  const auto option = [&](int level, int name) {
    int value = -1;
    socklen_t size = sizeof value;
    EXPECT_EQ(::getsockopt(fd, level, name, &value, &size), 0);
    return value;
  };
  EXPECT_EQ(option(IPPROTO_TCP, TCP_NODELAY), 1);
  EXPECT_EQ(option(SOL_SOCKET, SO_KEEPALIVE), 1);
  EXPECT_EQ(option(IPPROTO_TCP, TCP_USER_TIMEOUT), 10'000);
}

// ---- what cannot be opened ---------------------------------------------------------------------------------------

TEST_F(Transport, SaysThatAPortRefuses) {
  server_.emplace(listener(-1));  // it has the port and does not listen
  const auto link = open(server_->where());
  const auto why = end();
  EXPECT_EQ(why.code(), errc::unreachable);
  EXPECT_EQ(why.detail(), "cannot connect to " + server_->where().shown() + ": Connection refused");
  EXPECT_FALSE(events_->is_open());
}

TEST_F(Transport, SaysThatThereIsNoSocketAtAPath) {
  const std::string path = directory_.file("none.sock");
  const auto link = open({"", 0, path, {}});
  const auto why = end();
  EXPECT_EQ(why.code(), errc::unreachable);
  EXPECT_EQ(why.detail(), "cannot connect to " + path + ": No such file or directory");
}

TEST_F(Transport, SaysThatAPathIsTooLong) {
  const std::string path = "/" + std::string(107, 'p');
  const auto link = open({"", 0, path, {}});
  const auto why = end();
  EXPECT_EQ(why.code(), errc::misconfigured);
  EXPECT_THAT(why.detail(), AllOf(HasSubstr("at most 107 bytes"), HasSubstr("108"), HasSubstr(path)));
}

TEST_F(Transport, TakesAUnixSocketWithAFullQueueForARefusal) {
  server_.emplace(listener(directory_.file("s"), 0));
  const auto crowd = server_->fill_queue();
  const auto link = open(server_->where());
  EXPECT_EQ(end().detail(),
            "cannot connect to " + server_->where().shown() + ": Resource temporarily unavailable");
}

TEST_F(Transport, SaysThatANameIsUnknown) {
  calls_.on_lookup([](const std::string&) { return system_calls::lookup_answer{EAI_NONAME, {}}; });
  const auto link = open({"no.such.host.invalid", 6379, "", {}});
  const auto why = end();
  EXPECT_EQ(why.code(), errc::unreachable);
  EXPECT_EQ(why.detail(), "cannot resolve 'no.such.host.invalid': Name or service not known");
}

TEST_F(Transport, SaysThatThereIsNoThreadToLookUpAName) {
  calls_.on_lookup([](const std::string&) { return system_calls::lookup_answer{EAI_NONAME, {}}; });
  settle();  // the loop has its own
  // No address space has room for a stack like this.
  pthread_attr_t usual;
  pthread_attr_t vast;
  ASSERT_EQ(::pthread_getattr_default_np(&usual), 0);
  ASSERT_EQ(::pthread_attr_init(&vast), 0);
  ASSERT_EQ(::pthread_attr_setstacksize(&vast, std::size_t{1} << 60), 0);
  ASSERT_EQ(::pthread_setattr_default_np(&vast), 0);
  const auto link = open({"some.host", 1, "", {}});
  const auto why = end();
  ASSERT_EQ(::pthread_setattr_default_np(&usual), 0);
  EXPECT_EQ(why.code(), errc::unreachable);
  EXPECT_THAT(why.detail(), StartsWith("cannot resolve 'some.host': no thread for it: "));
}

TEST_F(Transport, TriesTheAddressesOfANameInOrder) {
  listen_at(over_tcp);
  calls_.on_lookup([](const std::string&) {
    return system_calls::lookup_answer{0, {"127.0.0.3", "127.0.0.2", "127.0.0.1"}};
  });
  const auto link = open({"three.addresses", server_->where().port, "", {}});
  const auto peer = server_->accept();
  EXPECT_TRUE(opened());
}

TEST_F(Transport, NamesAllAddressesThatRefused) {
  server_.emplace(listener(-1));
  calls_.on_lookup([](const std::string&) {
    return system_calls::lookup_answer{0, {"127.0.0.2", "127.0.0.1"}};
  });
  const auto link = open({"two.addresses", server_->where().port, "", {}});
  const auto port = std::to_string(server_->where().port);
  EXPECT_EQ(end().detail(), "cannot connect to two.addresses:" + port +
                                ": 127.0.0.2: Connection refused, 127.0.0.1: Connection refused");
}

TEST_F(Transport, DoesNotWaitForASilentNameServer) {
  const auto asked = std::make_shared<std::atomic<int>>(0);
  const signal_once answer;
  calls_.on_lookup([asked, answer](const std::string&) {
    ++*asked;
    EXPECT_TRUE(answer.wait());
    return system_calls::lookup_answer{EAI_AGAIN, {}};
  });
  std::vector<std::shared_ptr<connection>> links;
  for (int i = 0; i < 32; ++i) {
    links.push_back(net_->open({"hangs", 1, "", {}}, {}));
  }
  EXPECT_TRUE(wait_for([&] { return *asked == 32; }));
  // There is a limit to the threads that hang there.
  const auto link = open({"hangs", 1, "", {}});
  EXPECT_THAT(end().detail(), StartsWith("cannot resolve 'hangs': 32 names are being asked for"));
  links.clear();
  env_.reset();
  answer.set();
}

}  // namespace
}  // namespace cremone::test
