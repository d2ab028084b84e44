// SPDX-License-Identifier: Apache-2.0
#include "support/tcp_proxy.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <utility>

namespace cremone::test {

using std::chrono::milliseconds;

struct tcp_proxy::connection {
  descriptor client;
  descriptor server;
  std::atomic<int> running = 2;
  std::mutex mutex;
  std::condition_variable changed;
  bool over = false;
  std::thread upwards;
  std::thread downwards;

  ~connection() {
    cut();
    upwards.join();
    downwards.join();
  }

  [[nodiscard]] int from(direction way) const {
    return way == direction::to_server ? client.get() : server.get();
  }
  [[nodiscard]] int to(direction way) const {
    return way == direction::to_server ? server.get() : client.get();
  }

  /// The descriptors stay until the threads have left them.
  void cut() {
    {
      const std::lock_guard lock(mutex);
      over = true;
    }
    changed.notify_all();
    ::shutdown(client.get(), SHUT_RDWR);
    ::shutdown(server.get(), SHUT_RDWR);
  }

  /// False when the connection ended meanwhile.
  [[nodiscard]] bool pause(milliseconds span) {
    std::unique_lock lock(mutex);
    return !changed.wait_for(lock, span, [&] { return over; });
  }

  void wait_until_over() {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return over; });
  }
};

tcp_proxy::tcp_proxy(std::uint16_t server_port, schedule s)
    : server_port_(server_port), door_(listen_on_loopback()), schedule_(std::move(s)) {
  acceptor_ = std::thread([this] { accept_until_closed(); });
}

tcp_proxy::~tcp_proxy() {
  closing_ = true;
  ::shutdown(door_.socket.get(), SHUT_RDWR);  // wakes the accept
  acceptor_.join();
  connections_.clear();
}

void tcp_proxy::follow(schedule s) {
  const std::lock_guard lock(schedule_mutex_);
  schedule_ = std::move(s);
}

void tcp_proxy::cut_all() {
  const std::lock_guard lock(connections_mutex_);
  for (const auto& c : connections_) {
    c->cut();
  }
}

std::size_t tcp_proxy::connections() {
  const std::lock_guard lock(connections_mutex_);
  reap();
  return connections_.size();
}

void tcp_proxy::reap() {
  connections_.remove_if([](const auto& c) { return c->running == 0; });
}

void tcp_proxy::accept_until_closed() {
  while (!closing_) {
    descriptor client(::accept4(door_.socket.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!client) {
      continue;
    }
    const int at_once = 1;
    (void)::setsockopt(client.get(), IPPROTO_TCP, TCP_NODELAY, &at_once, sizeof at_once);
    auto c = std::make_unique<connection>();
    c->client = std::move(client);
    c->server = connect_to(server_port_);
    connection& placed = *c;
    const std::lock_guard lock(connections_mutex_);
    reap();
    placed.upwards = std::thread([this, &placed] { pump(placed, direction::to_server); });
    placed.downwards = std::thread([this, &placed] { pump(placed, direction::to_client); });
    connections_.push_back(std::move(c));
    ++accepted_;  // whoever reads it may cut this one too
  }
}

passage tcp_proxy::decide(direction way, const resp& message) {
  const std::lock_guard lock(schedule_mutex_);
  const std::uint64_t number = passed_[static_cast<std::size_t>(way)]++;
  return schedule_ ? schedule_(way, number, message) : passage{};
}

bool tcp_proxy::hand_on(connection& c, direction way, const passage& p, const std::string& piece) {
  if (p.delay.count() > 0 && !c.pause(p.delay)) {
    return false;
  }
  while (p.until && !*p.until) {
    if (!c.pause(milliseconds(1))) {
      return false;
    }
  }
  switch (p.what) {
    case passage::fate::pass: return send_all(c.to(way), piece);
    case passage::fate::cut:
      (void)send_all(c.to(way), std::string_view(piece).substr(0, piece.size() / 2));
      return false;
    case passage::fate::hold: c.wait_until_over(); return false;
    case passage::fate::swallow: break;
  }
  return false;
}

bool tcp_proxy::forward(connection& c, direction way, std::string& bytes) {
  std::size_t used = 0;
  while (const auto message = parse_resp(bytes, used)) {
    const passage p = decide(way, *message);
    const bool waits = p.until != nullptr;
    waiting_ += waits ? 1 : 0;
    const bool goes_on = hand_on(c, way, p, p.instead.value_or(bytes.substr(0, used)));
    waiting_ -= waits ? 1 : 0;
    if (!goes_on) {
      return false;
    }
    bytes.erase(0, used);
  }
  return true;
}

void tcp_proxy::pump(connection& c, direction way) {
  std::string bytes;
  while (true) {
    const std::string more = receive_some(c.from(way));
    bytes += more;
    if (more.empty() || !forward(c, way, bytes)) {
      break;
    }
  }
  c.cut();
  --c.running;
}

}  // namespace cremone::test
