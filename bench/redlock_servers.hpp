// SPDX-License-Identifier: Apache-2.0
//
// Five Redis servers that know nothing of each other, all on the servers' core, for the benchmarks of redlock://.
#pragma once

#include "bench/redis_server.hpp"

#include <array>
#include <cstddef>

#include <string>

namespace cremone::bench {

class redlock_servers {
 public:
  static constexpr std::size_t count = 5;

  [[nodiscard]] redis_server& operator[](std::size_t i) { return all_.at(i); }
  [[nodiscard]] const redis_server& operator[](std::size_t i) const { return all_.at(i); }

  [[nodiscard]] std::string url(const std::string& layout) const {
    std::string hosts;
    for (const redis_server& one : all_) {
      hosts += (hosts.empty() ? "" : ",") + ("127.0.0.1:" + std::to_string(one.port()));
    }
    return "redlock://" + hosts + "?layout=" + layout;
  }

  /// A client of this layout; the servers give out locks at once, though they are new.
  [[nodiscard]] client opened(const std::string& layout) const {
    client made = open(url(layout)).value();
    if (layout == "record") {
      made.end_quarantine().value();
    }
    return made;
  }

  /// What all of them have cost so far. They share a core, so that a second of it is all there is in a second.
  [[nodiscard]] double cpu_seconds() const {
    double sum = 0;
    for (const redis_server& one : all_) {
      sum += one.cpu_seconds();
    }
    return sum;
  }

 private:
  std::array<redis_server, count> all_;
};

}  // namespace cremone::bench
