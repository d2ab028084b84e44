// SPDX-License-Identifier: Apache-2.0
//
// A server that answers what the test says: what no real redis-server can be made to answer, and what is no Redis at
// all. Keeps no data.
#pragma once

#include "support/sockets.hpp"

#include <atomic>
#include <functional>
#include <list>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace cremone::test {

/// Threads: one to accept, one per connection. The destructor ends them.
class scripted_server {
 public:
  /// The bytes to answer a command with, words in upper case where they stand first; none: no answer. Called on any
  /// thread, one at a time.
  using script = std::function<std::string(const std::vector<std::string>& command)>;

  explicit scripted_server(script s);
  scripted_server(const scripted_server&) = delete;
  scripted_server& operator=(const scripted_server&) = delete;
  ~scripted_server();

  [[nodiscard]] std::uint16_t port() const noexcept { return door_.port; }
  [[nodiscard]] std::string node() const { return "127.0.0.1:" + std::to_string(port()); }
  [[nodiscard]] std::string url() const { return "redis://" + node() + "/0?layout=classic"; }

  /// All commands so far, each as one line.
  [[nodiscard]] std::vector<std::string> heard() const;

 private:
  void accept_until_closed();
  void serve(int socket);
  [[nodiscard]] std::string answer(std::vector<std::string> command);

  const listening_socket door_;
  std::atomic<bool> closing_ = false;
  mutable std::mutex mutex_;
  const script script_;
  std::vector<std::string> heard_;
  std::list<descriptor> sockets_;
  std::list<std::thread> threads_;
  std::thread acceptor_;
};

}  // namespace cremone::test
