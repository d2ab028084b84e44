// SPDX-License-Identifier: Apache-2.0
//
// The tool's own blocking connection to a Redis server: TCP, TLS or a unix socket. The server is
// not trusted: base/resp.hpp bounds each reply, and one deadline bounds the life of the connection.
// hiredis has no such deadline: each byte restarts its timer.
#pragma once

#include "base/descriptor.hpp"
#include "base/resp.hpp"
#include "base/tls_session.hpp"
#include "base/transport.hpp"
#include "fence/redis_exchange.hpp"

#include <chrono>
#include <memory>
#include <string>
#include <string_view>

namespace cremone::fence {

/// Threads: one at a time.
class redis_line final : public redis_exchange {
 public:
  using clock = std::chrono::steady_clock;

  /// For all that one command of the tool does: name lookup, connect, TLS, login and commands. It
  /// leaves 5 s after the slowest connect: a server that is busy with a script answers BUSY after
  /// 5 s (busy-reply-threshold), and that answer says more than a timeout.
  static constexpr std::chrono::seconds time_limit{10};

  /// Connects, and checks by PING that a Redis server answers. The server may refuse the PING, for
  /// it may require a login first. `name` is for messages. *unreachable*; *access_denied*: a
  /// certificate or the permissions of a socket; *misconfigured*: a file of the TLS settings;
  /// *protocol_error*: something else than Redis answers there.
  [[nodiscard]] static result<std::unique_ptr<redis_line>> open(const endpoint& where, std::string name);

  [[nodiscard]] std::string place() const override { return name_; }
  [[nodiscard]] result<redis::reply> ask(std::span<const std::string_view> words, effect what) override;

 private:
  explicit redis_line(std::string name) : name_(std::move(name)) {}

  [[nodiscard]] result<void> connect(const endpoint& where);
  [[nodiscard]] result<void> begin_tls(const endpoint& where);
  [[nodiscard]] result<void> ping();
  [[nodiscard]] result<void> wait_for(short events) const;
  [[nodiscard]] result<void> send(std::string_view plain);
  [[nodiscard]] result<void> receive();
  [[nodiscard]] result<redis::reply> next_reply();
  [[nodiscard]] error failed(errc code, const std::string& why) const;

  const std::string name_;
  const clock::time_point deadline_ = clock::now() + time_limit;
  descriptor socket_;
  std::unique_ptr<detail::tls_session> tls_;
  redis::reply_reader reader_;
};

}  // namespace cremone::fence
