// SPDX-License-Identifier: Apache-2.0
#include "support/scripted_server.hpp"

#include "support/resp.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <cctype>
#include <utility>

namespace cremone::test {

scripted_server::scripted_server(script s) : door_(listen_on_loopback()), script_(std::move(s)) {
  acceptor_ = std::thread([this] { accept_until_closed(); });
}

scripted_server::~scripted_server() {
  closing_ = true;
  ::shutdown(door_.socket.get(), SHUT_RDWR);  // wakes the accept
  acceptor_.join();
  for (const descriptor& socket : sockets_) {
    ::shutdown(socket.get(), SHUT_RDWR);
  }
  for (std::thread& t : threads_) {
    t.join();
  }
}

std::vector<std::string> scripted_server::heard() const {
  const std::lock_guard lock(mutex_);
  return heard_;
}

void scripted_server::accept_until_closed() {
  while (!closing_) {
    descriptor client(::accept4(door_.socket.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (client) {
      const int socket = client.get();
      sockets_.push_back(std::move(client));
      threads_.emplace_back([this, socket] { serve(socket); });
    }
  }
}

std::string scripted_server::answer(std::vector<std::string> command) {
  if (!command.empty()) {
    std::transform(command.front().begin(), command.front().end(), command.front().begin(),
                   [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  }
  std::string line;
  for (const std::string& word : command) {
    line += (line.empty() ? "" : " ") + word;
  }
  const std::lock_guard lock(mutex_);
  heard_.push_back(std::move(line));
  return script_(command);
}

void scripted_server::serve(int socket) {
  std::string bytes;
  while (true) {
    const std::string more = receive_some(socket);
    if (more.empty()) {
      return;
    }
    bytes += more;
    std::size_t used = 0;
    while (const auto command = parse_resp(bytes, used)) {
      bytes.erase(0, used);
      if (!send_all(socket, answer(command->texts()))) {
        return;
      }
    }
  }
}

}  // namespace cremone::test
