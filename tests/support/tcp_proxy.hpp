// SPDX-License-Identifier: Apache-2.0
//
// A proxy between a client and a Redis server that loses, delays and cuts what passes, as its schedule says. It knows
// where a message of the protocol ends and nothing of what messages mean.
#pragma once

#include "support/resp.hpp"
#include "support/sockets.hpp"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

namespace cremone::test {

enum class direction : bool { to_server, to_client };

/// What becomes of one message.
struct passage {
  enum class fate : std::uint8_t {
    pass,
    swallow,  ///< it does not arrive, and the connection is cut
    cut,      ///< half of it arrives, then the connection is cut
    hold,     ///< neither it nor anything behind it arrives until the connection ends
  };
  fate what = fate::pass;
  std::chrono::milliseconds delay{0};  ///< first; what comes behind it waits too
  /// And then until this is true, also when the client has hung up meanwhile: what is on its way arrives.
  std::shared_ptr<const std::atomic<bool>> until{};
  std::optional<std::string> instead{};  ///< these bytes in its place
};

/// Threads: one to accept, two per connection. All members may be called from any thread. The destructor cuts
/// everything and waits for the threads.
class tcp_proxy {
 public:
  /// Asked for each message, one at a time; `number` counts the messages of that direction, over all connections.
  using schedule = std::function<passage(direction way, std::uint64_t number, const resp& message)>;

  explicit tcp_proxy(std::uint16_t server_port, schedule s = nullptr);
  tcp_proxy(const tcp_proxy&) = delete;
  tcp_proxy& operator=(const tcp_proxy&) = delete;
  ~tcp_proxy();

  [[nodiscard]] std::uint16_t port() const noexcept { return door_.port; }
  [[nodiscard]] std::string node() const { return "127.0.0.1:" + std::to_string(port()); }
  [[nodiscard]] std::uint64_t accepted() const noexcept { return accepted_; }

  /// How many there are now.
  [[nodiscard]] std::size_t connections();

  /// How many connections have a message that waits, in either direction, or has not quite been passed on.
  [[nodiscard]] std::size_t waiting() const noexcept { return waiting_; }

  /// From the next message on; none: everything passes.
  void follow(schedule s);
  /// New connections lead there.
  void lead_to(std::uint16_t server_port) noexcept { server_port_ = server_port; }
  /// Ends all connections there are. New ones may come.
  void cut_all();

 private:
  struct connection;

  void accept_until_closed();
  void pump(connection& c, direction way);
  [[nodiscard]] passage decide(direction way, const resp& message);
  /// False when the connection is over.
  [[nodiscard]] bool hand_on(connection& c, direction way, const passage& p, const std::string& piece);
  /// Forwards what is whole in `bytes`; false when the connection is over.
  [[nodiscard]] bool forward(connection& c, direction way, std::string& bytes);
  void reap();

  std::atomic<std::uint16_t> server_port_;
  const listening_socket door_;
  std::atomic<std::uint64_t> accepted_ = 0;
  std::atomic<bool> closing_ = false;
  std::atomic<std::size_t> waiting_ = 0;

  std::mutex schedule_mutex_;
  schedule schedule_;
  std::uint64_t passed_[2] = {0, 0};

  std::mutex connections_mutex_;
  std::list<std::unique_ptr<connection>> connections_;
  std::thread acceptor_;
};

}  // namespace cremone::test
