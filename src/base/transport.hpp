// SPDX-License-Identifier: Apache-2.0
//
// The seam to the network: byte streams to servers. Whoever implements it decides what a network is, the operating
// system (engine/asio_transport) or a simulator. It knows no protocol above bytes, and makes no policy: what
// to open, when to give up and when to try again is its user's decision.
#pragma once

#include <cremone/result.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace cremone {

/// How to speak TLS. The server's certificate is always checked, against `ca_file` or what the system trusts, and so
/// is the name in it.
struct tls_settings {
  std::string ca_file;      ///< PEM; empty: the system's
  std::string cert_file;    ///< PEM, with its chain; empty: no certificate of our own
  std::string key_file;     ///< PEM, of cert_file
  std::string server_name;  ///< what must stand in the certificate; empty: the host
};

/// Where a server listens: host and port, or the path of a unix socket.
struct endpoint {
  std::string host;
  std::uint16_t port = 0;
  std::string path;  ///< not empty: a unix socket, and host and port are not used
  std::optional<tls_settings> tls;

  /// For messages: "db.example:6379", "[::1]:6379" or the path.
  [[nodiscard]] std::string shown() const;
};

/// What becomes of a connection. On the env's executor, one at a time, in order, and never inside a call to the
/// connection: opened at most once, then any number of received, then closed exactly once, unless our own side closed
/// it, after which nothing comes.
class connection_events {
 public:
  connection_events() = default;
  connection_events(const connection_events&) = delete;
  connection_events& operator=(const connection_events&) = delete;
  virtual ~connection_events() = default;

  virtual void opened() = 0;

  /// The next bytes of the stream, in pieces of any size.
  virtual void received(std::string_view bytes) = 0;

  /// It could not be opened (unreachable; access_denied: a certificate was not accepted; misconfigured: a certificate
  /// file cannot be used), or it is over. Says which, and why.
  virtual void closed(const error& why) = 0;
};

/// One connection, from open to close; another one to the same place is another object. What is sent on it arrives in
/// order, or from some point on not at all. Threads: all members from any thread.
class connection {
 public:
  connection() = default;
  connection(const connection&) = delete;
  connection& operator=(const connection&) = delete;
  virtual ~connection() = default;  ///< closes

  /// Puts bytes behind those that were put before. Never blocks, and makes no system call: what several threads put
  /// is sent together by the next flush, or after the next `opened` or `received` at the latest. Before `opened` and after the end it goes nowhere.
  virtual void put(std::string_view bytes) = 0;

  /// Hands to the kernel what was put, as far as it takes it without waiting; the rest follows by itself. While
  /// another thread is at it, or while `opened` or `received` runs, that one takes what was put along and this returns at once.
  virtual void flush() = 0;

  /// At once, without telling the events.
  virtual void close() noexcept = 0;
};

/// Threads: from any thread.
class transport {
 public:
  transport() = default;
  transport(const transport&) = delete;
  transport& operator=(const transport&) = delete;
  virtual ~transport() = default;

  /// Begins to open a connection and returns at once; never blocks, names are resolved in the background. There is
  /// no time limit: who does not want to wait any longer closes it. The events are held weakly.
  [[nodiscard]] virtual std::shared_ptr<connection> open(const endpoint& where,
                                                         std::weak_ptr<connection_events> events) = 0;
};

}  // namespace cremone
