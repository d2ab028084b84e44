// SPDX-License-Identifier: Apache-2.0
//
// One connection on the loop: finds the address, connects, agrees on TLS, reads, and ends, telling each to the events.
// How bytes get out is the outbox's business.
#pragma once

#include "base/addresses.hpp"
#include "base/tls_session.hpp"
#include "base/transport.hpp"
#include "engine/asio_transport.hpp"
#include "engine/outbox.hpp"

#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/system/error_code.hpp>

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cremone::detail {

/// Threads: put, flush and close from any thread; all else on the loop. There is no lock here at all, and so none is
/// held when events are called: what threads share is `over_` and the outbox.
class asio_link : public std::enable_shared_from_this<asio_link> {
 public:
  asio_link(endpoint where, std::weak_ptr<connection_events> events, live_links& links,
            std::shared_ptr<loop_gate> gate, std::shared_ptr<name_lookup> names);

  void put(std::string_view bytes) { out_.put(bytes); }
  void flush() { out_.flush(); }
  void close() noexcept;

  void start();

  /// Lets go of the socket, without telling anybody. Also when the loop goes.
  void drop() noexcept;

 private:
  void resolved(result<addresses> found);
  void connect_next();
  [[nodiscard]] int try_connect(const socket_address& to);
  void connect_ended(const boost::system::error_code& failed);
  void refused(int why);
  void connected();

  void read();
  void on_read(const boost::system::error_code& failed, std::size_t count);
  void on_bytes(std::string_view bytes);
  [[nodiscard]] error ended(const boost::system::error_code& failed) const;

  void wait_until_writable();
  void fail(const error& why);
  void leave() noexcept;

  const endpoint where_;
  const std::weak_ptr<connection_events> events_;
  live_links& links_;
  const std::shared_ptr<loop_gate> gate_;
  const std::shared_ptr<name_lookup> names_;

  std::atomic<bool> over_ = false;  // closed by us, or the events were told of its end
  std::unique_ptr<tls_session> tls_;
  outbox out_;

  addresses addresses_;
  std::size_t next_ = 0;   // of addresses_
  std::size_t first_ = 0;  // where they begin in the resolver's own order
  bool connected_ = false;
  std::string refusals_;  // of those before
  int last_refusal_ = 0;
  bool open_ = false;
  std::optional<boost::asio::generic::stream_protocol::socket> socket_;
  std::vector<char> in_;
  std::string plain_;  // what in_ means, behind TLS
};

}  // namespace cremone::detail
