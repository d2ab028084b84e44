// SPDX-License-Identifier: Apache-2.0
//
// Many nodes as one store: every question goes to all of them at once, and the majority's answer is the answer. What is
// enough is decided by core::ballot; what a node says, by its own backend. One server is a quorum of one, so that
// Redlock adds nodes and nothing else.
#pragma once

#include <cremone/backend.hpp>

#include <memory>
#include <vector>

namespace cremone::detail {

/// Threads: as the seam says. Answers as soon as the majority is certain; what stragglers say later goes nowhere.
///
/// An acquire that fails is released on every node, behind the request that went there, so that a minority's votes do
/// not stand in the way until they expire. With one node there is no minority, and the answer is passed on as it is.
/// Tokens come from a single node only: those of several, each counting for itself, have no order.
class quorum final : public backend {
 public:
  /// At least one node, all of one kind.
  explicit quorum(std::vector<std::shared_ptr<backend>> nodes);

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
  void close() noexcept override;

 private:
  using node_list = std::shared_ptr<const std::vector<std::shared_ptr<backend>>>;
  class acquiring;
  class renewing;
  class removing;
  template <class Record>
  class looking;
  template <class T, class Ask>
  void gather(callback<void(result<std::vector<T>>)> reply, Ask ask);

  const node_list nodes_;
};

}  // namespace cremone::detail
