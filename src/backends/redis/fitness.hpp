// SPDX-License-Identifier: Apache-2.0
//
// Whether the server that is connected may be used at all: what it says of itself, and what its ACL denies us. Asked when a
// connection is new, before any request goes out on it, so that the answer is known when theirs come. What is only a risk is
// told as an event.
#pragma once

#include "backends/redis/node.hpp"
#include "backends/redis/roster.hpp"
#include "base/events.hpp"

#include <cremone/result.hpp>

#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>

namespace cremone::redis {

/// Threads: all members from any thread.
class fitness : public std::enable_shared_from_this<fitness> {
 public:
  fitness(std::shared_ptr<node> server, std::shared_ptr<const event_hub> events) noexcept
      : node_(std::move(server)), events_(std::move(events)) {}

  /// One of several that vote, with this number among them. Before start().
  void join(std::shared_ptr<roster> all, std::size_t number) {
    roster_ = std::move(all);
    number_ = number;
  }

  /// Tells of the connection's changes from now on, and asks each time that it is new. Before the node is started.
  void start();

  /// Of several servers two are one, and none of their votes counts, whatever it is for: a grant, a token, a renewal.
  [[nodiscard]] std::optional<error> twins() const;

  /// Why what the server grants must not be used, if so. Asks again, for the next one: somebody may have mended it.
  [[nodiscard]] std::optional<error> trouble();

  /// The same, without the rights, for those who only look: what a replica shows is not what its master knows.
  [[nodiscard]] std::optional<error> misfit();

  /// By what other name this server is listed too, if it is.
  [[nodiscard]] std::optional<std::string> twin() {
    return roster_ ? roster_->twin_of(number_) : std::nullopt;
  }

 private:
  void ask_for_rights();
  void judge(const server_facts& facts);

  const std::shared_ptr<node> node_;
  const std::shared_ptr<const event_hub> events_;
  std::shared_ptr<roster> roster_;  // null: it is the only one
  std::size_t number_ = 0;

  std::mutex mutex_;
  std::optional<error> misfit_;
  std::optional<error> lacking_;  // rights
  std::set<std::string> warned_;  // of these subjects
};

}  // namespace cremone::redis
