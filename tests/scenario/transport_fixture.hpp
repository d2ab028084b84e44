// SPDX-License-Identifier: Apache-2.0
//
// What the tests of the transport share: servers of plain system calls, events that are written down, and a hand in
// the system calls that the library makes. Knows nothing of what is tested with them.
#pragma once

#include "base/descriptor.hpp"
#include "base/transport.hpp"
#include "engine/asio_env.hpp"
#include "support/temp_directory.hpp"
#include "support/wait_for.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace cremone::test {

/// A test may listen in to send() and getaddrinfo() of this program, and answer in their place; all other calls go
/// to the system. Gone, and all is as usual, with the object.
class system_calls {
 public:
  /// Called before each send; what it returns is how many bytes the kernel gets to see, or a negative errno.
  using send_hook = std::function<ssize_t(int fd, std::string_view bytes)>;
  /// Called for each name that is looked up: the numeric hosts that it has, or a negative number for an error of
  /// getaddrinfo.
  struct lookup_answer {
    int failure = 0;
    std::vector<std::string> hosts;
  };
  using lookup_hook = std::function<lookup_answer(const std::string& name)>;

  system_calls();
  system_calls(const system_calls&) = delete;
  system_calls& operator=(const system_calls&) = delete;
  ~system_calls();

  void on_send(send_hook hook);
  void on_lookup(lookup_hook hook);
};

/// Opens once; set() opens it, and wait() waits for that. A handle: the copy that another thread has may be the last.
class signal_once {
 public:
  void set() const noexcept;
  /// False when it takes unreasonably long.
  [[nodiscard]] bool wait() const;

 private:
  struct state {
    std::mutex mutex;
    std::condition_variable changed;
    bool is_set = false;
  };
  std::shared_ptr<state> state_ = std::make_shared<state>();
};

/// A listening socket on loopback with a free port, or at a path.
class listener {
 public:
  explicit listener(int backlog = 16);
  explicit listener(std::string path, int backlog = 16);

  [[nodiscard]] endpoint where() const;
  /// The next connection. One that does not come fails the test.
  [[nodiscard]] descriptor accept() const;
  /// A connection that is there already; or none.
  [[nodiscard]] descriptor accept_now() const;
  /// Connections that nobody accepts, until whoever comes next has to wait. For a small backlog.
  [[nodiscard]] std::vector<descriptor> fill_queue() const;

 private:
  descriptor fd_;
  std::uint16_t port_ = 0;
  std::string path_;
};

/// On a connection of a server; blocking, and bounded so that a broken program fails the test.
[[nodiscard]] std::string read_exactly(const descriptor& from, std::size_t count);
[[nodiscard]] std::string read_to_end(const descriptor& from);
void write_all(const descriptor& to, std::string_view bytes);

/// The numbers of this process's open descriptors.
[[nodiscard]] std::vector<int> open_descriptors();

/// Writes down what it is told.
class recorder final : public connection_events {
 public:
  std::function<void()> on_opened;                    // set before it is used
  std::function<void(std::string_view)> on_received;  // the same

  void opened() override;
  void received(std::string_view bytes) override;
  void closed(const error& why) override;

  [[nodiscard]] bool is_open() const;
  [[nodiscard]] std::string bytes() const;
  [[nodiscard]] std::size_t count() const;  ///< of events
  [[nodiscard]] std::optional<error> end() const;
  [[nodiscard]] std::vector<std::thread::id> threads() const;

 private:
  void note_thread();

  mutable std::mutex mutex_;
  std::size_t count_ = 0;
  bool open_ = false;
  std::string bytes_;
  std::optional<error> end_;
  std::vector<std::thread::id> threads_;
};

class transport_fixture : public ::testing::Test {
 protected:
  transport_fixture() : env_(std::make_unique<detail::asio_env>()), net_(env_->network()) {}
  ~transport_fixture() override {
    if (env_) {
      env_->stop();
    }
  }

  [[nodiscard]] std::shared_ptr<connection> open(const endpoint& where) { return net_->open(where, events_); }
  [[nodiscard]] bool opened() const {
    return wait_for([&] { return events_->is_open(); });
  }
  /// The error with which it ends; a failure if it does not.
  [[nodiscard]] error end() const {
    EXPECT_TRUE(wait_for([&] { return events_->end().has_value(); }));
    return events_->end().value_or(error(errc::busy, "it has not ended"));
  }
  [[nodiscard]] bool received(std::string_view bytes) const {
    return wait_for([&] { return events_->bytes() == bytes; });
  }
  /// All that the loop had to do before this is done.
  void settle() const;

  std::unique_ptr<detail::asio_env> env_;
  std::shared_ptr<transport> net_;
  std::shared_ptr<recorder> events_ = std::make_shared<recorder>();
  temp_directory directory_;
};

}  // namespace cremone::test
