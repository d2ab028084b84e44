// SPDX-License-Identifier: Apache-2.0
//
// Blocking sockets on the loopback, for servers and clients that tests play themselves. Every wait has a bound. What
// cannot be set up throws, which fails the test.
#pragma once

#include "base/descriptor.hpp"

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace cremone::test {

struct listening_socket {
  descriptor socket;
  std::uint16_t port = 0;
};

/// On a free port of 127.0.0.1.
[[nodiscard]] listening_socket listen_on_loopback();

/// A port of 127.0.0.1 on which nobody listens but who is told of it, as long as this lives: the kernel gives it to no
/// other server and to no outgoing connection. A server that reuses addresses, as redis-server does, can take it,
/// die and take it again.
class reserved_port {
 public:
  reserved_port();
  [[nodiscard]] std::uint16_t number() const noexcept { return bound_.port; }
  [[nodiscard]] std::string text() const { return std::to_string(number()); }

 private:
  listening_socket bound_;  // but it does not listen
};

/// An empty descriptor when nobody listens there.
[[nodiscard]] descriptor connect_to(std::uint16_t port);

/// False when the other side is gone.
[[nodiscard]] bool send_all(int socket, std::string_view bytes);

/// Whether there is something to read, or the end, within `bound`.
[[nodiscard]] bool readable(int socket, std::chrono::milliseconds bound);

/// The next bytes; empty at the end of the stream.
[[nodiscard]] std::string receive_some(int socket);

}  // namespace cremone::test
