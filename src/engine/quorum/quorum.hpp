// SPDX-License-Identifier: Apache-2.0
//
// Many nodes as one store: every question goes to all of them at once, and the majority's answer is the answer. What is
// enough is decided by core::coordinator and core::ballot; what a node says, by its own backend. One server is a quorum of one, so
// that Redlock adds nodes and nothing else.
#pragma once

#include "base/env.hpp"
#include "core/breaker.hpp"

#include <cremone/backend.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace cremone::detail {

struct quorum_options {
  std::string store{};               ///< for messages, instead of what the first node says
  std::string identity{};            ///< traits::identity of them all
  std::vector<std::string> names{};  ///< of the nodes, for messages
  bool strict = false;               ///< when a majority has forgotten, only a person lets them go on
};

/// Threads: as the seam says. Answers as soon as the majority is certain; what stragglers say later goes nowhere.
///
/// An acquire that fails is released on every node that may have voted for it, behind the request that went there, so that a
/// minority's votes do not stand in the way until they expire; in the published layout on every node, as it says there. With one node there is no minority, and the answer is passed on as it is.
///
/// A node that is silent is not waited for once a majority has answered, and after a few times not asked but now and then
/// (core::breaker). A node in quarantine is let in again by evict() of the hold that stands for it, with a floor for its tokens
/// that a majority of the others knows; where there is no such majority, by the clock, or not at all (`strict`). Where there may be one that
/// does not answer, *quarantined* for as long again as any lease lasts, and then by the clock.
class quorum final : public backend, public std::enable_shared_from_this<quorum> {
 public:
  /// At least one node, all of one kind.
  quorum(std::shared_ptr<env> e, std::vector<std::shared_ptr<backend>> nodes, quorum_options options = {});

  [[nodiscard]] traits describe() const override;
  void try_acquire(const acquire_request& request, callback<void(acquire_answer)> reply) override;
  void renew(std::span<const renewal> items, callback<void(std::vector<answer>)> reply) override;
  void release(const release_request& request, callback<void(answer)> reply) override;
  void evict(const lock_name& name, const hold_version& version, callback<void(answer)> reply) override;
  void force(const lock_name& name, const owner_id& holder, callback<void(answer)> reply) override;
  void inspect(const lock_name& name, callback<void(result<lock_record>)> reply) override;
  void list(callback<void(result<std::vector<lock_record>>)> reply) override;
  void sweep(std::uint64_t cursor, callback<void(result<sweep_step>)> reply) override;
  void examine(callback<void(result<std::vector<finding>>)> reply) override;
  void quarantine(callback<void(result<std::vector<quarantine_state>>)> reply) override;
  void end_quarantine(callback<void(answer)> reply) override;
  [[nodiscard]] vote_statistics statistics() const override;
  void settle(callback<void()> done) override;
  void close() noexcept override;

 private:
  using node_list = std::shared_ptr<const std::vector<std::shared_ptr<backend>>>;
  class acquiring;
  class renewing;
  template <class Record>
  class looking;

  [[nodiscard]] bool alone() const noexcept { return nodes_->size() == 1; }
  [[nodiscard]] std::string name_of(std::size_t node) const;

  // A node's health, as its answers show it.
  [[nodiscard]] bool may_ask(std::size_t node, instant now);
  [[nodiscard]] bool avoided(std::size_t node);
  void heard_from(std::size_t node, bool answered, instant now);

  void released_at(std::size_t node);
  void settle_now_perhaps(bool without_the_silent);

  /// A release to one node, which is answered or not long after others have decided.
  void release_at(std::size_t node, const release_request& request, callback<void(const answer&)> reply);

  // Those who wait for a lock, through all their attempts.
  void begins_attempt(const acquire_request& request);
  void failed_attempt(const acquire_request& request, const std::weak_ptr<hint_sink>& wake, bool busy);
  [[nodiscard]] bool waits_still(const owner_id& waiter);
  /// True when this owner id was spent by an attempt that has failed: there is nothing to release.
  bool waits_no_more(const owner_id& owner, bool served);

  void saw_quarantine(std::size_t node, const hold_version& version);
  [[nodiscard]] std::optional<std::size_t> quarantined_as(const hold_version& version);
  [[nodiscard]] fence_token proposal();
  void saw_token(std::uint64_t number) noexcept;

  /// What nodes know of the tokens that were given.
  struct memory {
    fence_token highest{};   // of what anybody remembers
    std::size_t sure = 0;    // nodes that have forgotten nothing
    std::size_t silent = 0;  // nodes that did not answer
  };
  class floors;
  void ask_floors(std::optional<std::size_t> but, callback<void(const memory&)> then);
  [[nodiscard]] bool waits_for_silent(std::size_t node, const hold_version& version);
  void readmit(std::size_t node, const hold_version& version, callback<void(answer)> reply);
  void sweep_node(std::size_t node, std::uint64_t cursor, callback<void(result<sweep_step>)> reply);

  const std::shared_ptr<env> env_;
  const node_list nodes_;
  const quorum_options options_;
  const bool tokens_;  // else each server counts for itself, which is no order

  std::atomic<std::uint64_t> highest_seen_ = 0;  // of the numbers that nodes gave
  std::atomic<std::uint64_t> acquisitions_ = 0;
  std::atomic<std::uint64_t> in_one_round_ = 0;

  std::mutex mutex_;
  struct traffic {
    std::size_t releases = 0;  // on their way
    bool heard = false;        // it has answered once
  };
  std::vector<traffic> traffic_;  // with each node
  std::vector<callback<void()>> settled_;
  std::unique_ptr<timer> settling_;
  bool patient_ = true;  // who is to end waits for all; else only for those that answer at all
  std::vector<core::breaker> health_;
  std::vector<hold_version> quarantines_;  // the last that each node was seen in
  struct wait {
    hold_version quarantine{};
    instant since{};
  };
  std::vector<wait> waits_;  // of each node, for others that do not answer
  struct patient {
    lock_name name;
    owner_id waiter{};
    bool listens = false;  // the nodes tell it of releases
    bool spent = false;
  };
  std::map<owner_id, patient> waiting_;      // by the owner id of the latest attempt
  std::map<owner_id, owner_id> attempt_of_;  // the same by who waits
};

}  // namespace cremone::detail
