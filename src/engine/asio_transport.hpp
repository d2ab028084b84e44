// SPDX-License-Identifier: Apache-2.0
//
// The network of a real process: TCP, unix sockets and TLS, by Asio, on the env's I/O loop. Decides how long things
// live: connections may be kept longer than the loop, their sockets may not. Knows nothing of what is said on them.
#pragma once

#include "base/addresses.hpp"
#include "base/transport.hpp"

#include <cremone/callback.hpp>

#include <boost/asio/io_context.hpp>

#include <map>
#include <memory>
#include <mutex>
#include <set>

namespace cremone::detail {

class asio_link;

/// The way to the loop for those who may outlive it. Threads: from any thread.
class loop_gate {
 public:
  explicit loop_gate(boost::asio::io_context& loop) noexcept : loop_(&loop) {}

  /// Runs `fn` soon on the loop. Once that is gone, nothing happens.
  void post(callback<void()> fn);
  void shut() noexcept;

 private:
  std::mutex mutex_;
  boost::asio::io_context* loop_;
};

/// All links that have a socket. A service of Asio's, because those are told that the loop goes, on whatever thread
/// that happens and when nothing runs on it any more: no socket outlives it. Threads: the loop's.
class live_links final : public boost::asio::execution_context::service {
 public:
  static boost::asio::execution_context::id id;  // Asio's name for it

  explicit live_links(boost::asio::io_context& loop);

  void add(std::shared_ptr<asio_link> link) { links_.insert(std::move(link)); }
  void remove(const std::shared_ptr<asio_link>& link) { links_.erase(link); }

  /// Which address of a place to try first: the one that answered, or that behind one that did not while somebody was
  /// willing to wait. Else an address at which nobody is home would hide the others for ever.
  [[nodiscard]] std::size_t& first_address(const std::string& place) { return first_[place]; }

  [[nodiscard]] boost::asio::io_context& loop() noexcept { return loop_; }
  [[nodiscard]] const std::shared_ptr<loop_gate>& gate() const noexcept { return gate_; }

 private:
  void shutdown() noexcept override;

  boost::asio::io_context& loop_;
  std::shared_ptr<loop_gate> gate_;
  std::set<std::shared_ptr<asio_link>> links_;
  std::map<std::string, std::size_t> first_;
};

/// May be kept longer than the loop; what is opened then never comes to be, and nobody is told.
class asio_transport final : public transport {
 public:
  explicit asio_transport(boost::asio::io_context& loop);

  [[nodiscard]] std::shared_ptr<connection> open(const endpoint& where,
                                                 std::weak_ptr<connection_events> events) override;

 private:
  live_links& links_;  // used on the loop only
  std::shared_ptr<loop_gate> gate_;
  std::shared_ptr<name_lookup> names_;
};

}  // namespace cremone::detail
