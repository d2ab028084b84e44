// SPDX-License-Identifier: Apache-2.0
#include "engine/asio_transport.hpp"

namespace cremone::detail {

std::shared_ptr<connection> asio_transport::open(const endpoint& /*where*/,
                                                 std::weak_ptr<connection_events> /*events*/) {
  return nullptr;
}

}  // namespace cremone::detail
