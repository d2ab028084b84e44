// SPDX-License-Identifier: Apache-2.0
#include "support/sockets.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <system_error>

namespace cremone::test {

namespace {

descriptor new_socket() {
  descriptor made(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!made) {
    throw std::system_error(errno, std::generic_category(), "socket");
  }
  return made;
}

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  return address;
}

/// The kernel's calls take any kind of address as this one.
sockaddr* untyped(sockaddr_in& address) { return reinterpret_cast<sockaddr*>(&address); }

listening_socket bound_socket() {
  listening_socket made{new_socket(), 0};
  sockaddr_in address = loopback(0);
  socklen_t size = sizeof address;
  if (::bind(made.socket.get(), untyped(address), size) != 0 ||
      ::getsockname(made.socket.get(), untyped(address), &size) != 0) {
    throw std::system_error(errno, std::generic_category(), "bind to a free port of the loopback");
  }
  made.port = ntohs(address.sin_port);
  return made;
}

}  // namespace

listening_socket listen_on_loopback() {
  listening_socket made = bound_socket();
  if (::listen(made.socket.get(), SOMAXCONN) != 0) {
    throw std::system_error(errno, std::generic_category(), "listen");
  }
  return made;
}

reserved_port::reserved_port() : bound_(bound_socket()) {
  const int yes = 1;
  if (::setsockopt(bound_.socket.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) != 0) {
    throw std::system_error(errno, std::generic_category(), "let a server take the port");
  }
}

descriptor connect_to(std::uint16_t port) {
  descriptor made = new_socket();
  sockaddr_in address = loopback(port);
  if (::connect(made.get(), untyped(address), sizeof address) != 0) {
    return {};
  }
  const int at_once = 1;
  (void)::setsockopt(made.get(), IPPROTO_TCP, TCP_NODELAY, &at_once, sizeof at_once);
  return made;
}

bool send_all(int socket, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) {
      continue;
    }
    if (sent <= 0) {
      return false;
    }
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

bool readable(int socket, std::chrono::milliseconds bound) {
  pollfd ready{socket, POLLIN, 0};
  return ::poll(&ready, 1, static_cast<int>(bound.count())) > 0;
}

std::string receive_some(int socket) {
  std::array<char, 65536> some{};
  ssize_t got = -1;
  do {
    got = ::recv(socket, some.data(), some.size(), 0);
  } while (got < 0 && errno == EINTR);
  return got > 0 ? std::string(some.data(), static_cast<std::size_t>(got)) : std::string();
}

}  // namespace cremone::test
