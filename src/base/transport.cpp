// SPDX-License-Identifier: Apache-2.0
#include "base/transport.hpp"

namespace cremone {

std::string endpoint::shown() const {
  if (!path.empty()) {
    return path;
  }
  const bool numeric_v6 = host.find(':') != std::string::npos;
  return (numeric_v6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

}  // namespace cremone
