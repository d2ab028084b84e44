// SPDX-License-Identifier: Apache-2.0
//
// A server that speaks any protocol badly: a function of the test gets each connection's socket.
#pragma once

#include "support/sockets.hpp"

#include <sys/socket.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <list>
#include <string>
#include <thread>
#include <utility>

namespace cremone::test {

/// Threads: one that accepts, and one per connection, which runs the function. The destructor shuts
/// all sockets down and waits for the threads, so the function must return when its socket fails.
class raw_server {
 public:
  using act = std::function<void(int socket)>;

  explicit raw_server(act each) : each_(std::move(each)), acceptor_([this] { accept(); }) {}
  raw_server(const raw_server&) = delete;
  raw_server& operator=(const raw_server&) = delete;
  ~raw_server() {
    closing_ = true;
    ::shutdown(door_.socket.get(), SHUT_RDWR);
    acceptor_.join();
    for (const descriptor& one : sockets_) {
      ::shutdown(one.get(), SHUT_RDWR);
    }
    for (std::thread& one : threads_) {
      one.join();
    }
  }

  [[nodiscard]] std::string node() const { return "127.0.0.1:" + std::to_string(door_.port); }

 private:
  void accept() {
    while (!closing_) {
      descriptor client(::accept4(door_.socket.get(), nullptr, nullptr, SOCK_CLOEXEC));
      if (client) {
        const int socket = client.get();
        sockets_.push_back(std::move(client));
        threads_.emplace_back([this, socket] { each_(socket); });
      }
    }
  }

  const act each_;
  const listening_socket door_ = listen_on_loopback();
  std::atomic<bool> closing_ = false;
  std::list<descriptor> sockets_;
  std::list<std::thread> threads_;
  std::thread acceptor_;  // last: it uses the others
};

/// Reads, and answers nothing.
inline void stay_silent(int socket) {
  while (!receive_some(socket).empty()) {
  }
}

/// Sends the bytes, and then one byte every tenth of a second, until the client goes.
inline raw_server::act trickle(std::string first) {
  return [first = std::move(first)](int socket) {
    bool there = send_all(socket, first);
    while (there) {
      const bool heard = readable(socket, std::chrono::milliseconds(100));
      there = (!heard || !receive_some(socket).empty()) && send_all(socket, "x");
    }
  };
}

}  // namespace cremone::test
