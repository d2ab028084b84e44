// SPDX-License-Identifier: Apache-2.0
#include "backends/redis/roster.hpp"

namespace cremone::redis {

void roster::note(std::size_t number, const std::string& server, const std::string& run_id) {
  const std::lock_guard lock(mutex_);
  seats_.at(number) = {server, run_id};
}

std::optional<error> roster::twins() {
  const std::lock_guard lock(mutex_);
  for (auto a = seats_.begin(); a != seats_.end(); ++a) {
    for (auto b = seats_.begin(); b != a; ++b) {
      if (!a->run_id.empty() && a->run_id == b->run_id) {
        return error(errc::misconfigured,
                     b->server + " and " + a->server +
                         " are one server under two names, and it would vote twice; list "
                         "each server once");
      }
    }
  }
  return std::nullopt;
}

std::optional<std::string> roster::twin_of(std::size_t number) {
  const std::lock_guard lock(mutex_);
  const seat& own = seats_.at(number);
  for (const seat& other : seats_) {
    if (&other != &own && !own.run_id.empty() && other.run_id == own.run_id) {
      return other.server;
    }
  }
  return std::nullopt;
}

}  // namespace cremone::redis
