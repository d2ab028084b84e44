// SPDX-License-Identifier: Apache-2.0
//
// Which servers a client's nodes really speak to. Two names of one server would give it two votes;
// the run ids reveal that before the second vote is counted. The roster also keeps several nodes
// from reporting one finding twice.
#pragma once

#include <cremone/result.hpp>

#include <cstddef>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace cremone::redis {

/// Shared by the nodes of one client. Threads: all members from any thread.
class roster {
 public:
  explicit roster(std::size_t nodes) : seats_(nodes) {}

  /// The node of this number speaks to `server`, whose run id this is.
  void note(std::size_t number, const std::string& server, const std::string& run_id);

  /// Two that are one, if there are: then no vote of any counts.
  [[nodiscard]] std::optional<error> twins();

  /// By what other name the node of this number is listed, if it is.
  [[nodiscard]] std::optional<std::string> twin_of(std::size_t number);

  /// True for the first node that reports a finding about this lock. foreign_locks::most_names per
  /// node bounds the set.
  [[nodiscard]] bool tells_first(const std::string& lock) {
    const std::lock_guard guard(mutex_);
    return told_.insert(lock).second;
  }

 private:
  struct seat {
    std::string server;
    std::string run_id;
  };
  std::mutex mutex_;
  std::vector<seat> seats_;
  std::set<std::string> told_;
};

}  // namespace cremone::redis
