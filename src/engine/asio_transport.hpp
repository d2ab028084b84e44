// SPDX-License-Identifier: Apache-2.0
//
// The network of a real process: TCP, unix sockets and TLS, by Asio, on the env's I/O loop. Knows sockets and nothing
// of what is said on them.
#pragma once

#include "base/transport.hpp"

#include <boost/asio/io_context.hpp>

#include <memory>
#include <mutex>
#include <vector>

namespace cremone::detail {

class asio_transport final : public transport {
 public:
  explicit asio_transport(boost::asio::io_context& loop) : loop_(loop) {}

  [[nodiscard]] std::shared_ptr<connection> open(const endpoint& where,
                                                 std::weak_ptr<connection_events> events) override;

 private:
  boost::asio::io_context& loop_;
};

}  // namespace cremone::detail
