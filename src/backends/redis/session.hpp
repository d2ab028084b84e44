// SPDX-License-Identifier: Apache-2.0
//
// A connection to one server that is kept up: opened, greeted (AUTH, SELECT, PING), and when it is lost opened anew,
// with growing pauses. Decides when to connect, where to if there are sentinels, and whether who answers is a Redis that
// lets us in, and then a master; knows nothing of what is then said on the connection.
#pragma once

#include "backends/redis/finder.hpp"
#include "backends/redis/settings.hpp"
#include "backends/redis/whereabouts.hpp"
#include "base/backoff.hpp"
#include "base/env.hpp"
#include "base/resp.hpp"
#include "base/transport.hpp"

#include <cremone/result.hpp>

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace cremone::redis {

/// Told what becomes of a session, on the executor, one at a time:
/// trying, then up or down; after up any number of received, then down; after down, trying again.
class session_user {
 public:
  session_user() = default;
  session_user(const session_user&) = delete;
  session_user& operator=(const session_user&) = delete;
  virtual ~session_user() = default;

  /// An attempt to connect begins.
  virtual void trying() = 0;

  /// It may be used until down.
  virtual void up(std::shared_ptr<connection> by) = 0;

  virtual void received(reply&& r) = 0;

  /// There is no connection now, and why. What was sent on it and not answered will not be answered.
  virtual void down(const error& why) = 0;
};

/// How to get to a server that only sentinels know. Empty without sentinels.
struct route {
  std::shared_ptr<finder> by;       ///< asks them; none: goes along with the one who has
  std::shared_ptr<whereabouts> to;  ///< where that one is
};

/// Threads: start and close from any thread. Everything else is on the executor.
class session : public std::enable_shared_from_this<session> {
 public:
  /// For resolving, connecting, TLS and the greeting together. Longer than any sane handshake, shorter than a person's
  /// patience; who asks meanwhile has a limit of their own.
  static constexpr std::chrono::milliseconds connect_limit{2000};

  /// How often the sentinels are asked while all seems well: one question to one of them. When somebody switches over, the
  /// old master goes on granting for some ten seconds, until a sentinel comes round to telling it; clients that had
  /// stayed there and clients that come anew would then use two masters.
  static constexpr std::chrono::milliseconds check_pause{2000};

  /// Between two doubts: a server that answers nothing gives reason for hundreds a second.
  static constexpr std::chrono::milliseconds doubt_pause{1000};

  /// The least time from one attempt to connect to the next after hurry(): a lease that is about to
  /// run out retries every few milliseconds.
  static constexpr std::chrono::milliseconds hurried_pause{100};

  session(std::shared_ptr<env> e, std::shared_ptr<transport> net, node_settings to,
          std::weak_ptr<session_user> user, route by = {});

  void start();

  /// For messages: the server at hand, else as the settings name it.
  [[nodiscard]] std::string server() const;

  /// Something is wrong with this server. If the sentinels say that another one is the master now, this one is given up; without
  /// sentinels nothing happens.
  void doubt();

  /// Shortens the pause before the next attempt to connect, for a lease that must be renewed.
  void hurry();

  /// Gives this connection up, because of what was or was not received on it, and opens another.
  void cut(const error& why);

  /// For good, without telling the user.
  void close() noexcept;

 private:
  class line;

  void connect();
  void look();
  void open_at(const endpoint& place);
  void follow();
  void greet();
  void take(std::string_view bytes);
  [[nodiscard]] bool greeted(const reply& r);
  [[nodiscard]] bool answered_role(const reply& r);
  void come_up();
  void lost(error why);
  void on_timer();

  const std::shared_ptr<env> env_;
  const std::shared_ptr<transport> net_;
  const node_settings to_;
  const std::weak_ptr<session_user> user_;
  const route route_;

  std::atomic<bool> closed_ = false;

  // On the executor only.
  std::unique_ptr<timer> timer_;
  std::shared_ptr<line> line_;  // the events of the connection at hand; late ones of earlier lines go nowhere
  std::shared_ptr<connection> connection_;
  reply_reader reader_;
  backoff pauses_;
  enum class stage : std::uint8_t { idle, connecting, up } stage_ = stage::idle;
  std::optional<endpoint> at_;  // where the connection at hand goes, by what sentinels say
  std::string said_by_;         // which of them
  std::size_t greetings_ = 0;
  std::size_t greetings_due_ = 0;
  instant tried_at_{};  // when the last attempt to connect began
  instant retry_at_{};  // idle: when the next one begins
  instant up_since_{};
  instant no_doubt_before_{};
};

}  // namespace cremone::redis
