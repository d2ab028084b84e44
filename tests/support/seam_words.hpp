// SPDX-License-Identifier: Apache-2.0
//
// Short words for tests that talk to a backend: requests with sensible members, and answers as text, so that an
// expectation reads like a sentence and its failure too. Knows the seam, no store.
#pragma once

#include <cremone/backend.hpp>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>

namespace cremone::test {

/// Never evicted or expired within a test by accident.
inline constexpr std::chrono::milliseconds long_ttl{30'000};

/// An owner id that no other acquisition has, in any process.
[[nodiscard]] owner_id fresh_owner();

/// Counts the hints that reach it.
class hint_counter final : public hint_sink {
 public:
  void hint() noexcept override { ++count_; }
  [[nodiscard]] int count() const noexcept { return count_; }

 private:
  std::atomic<int> count_ = 0;
};

/// A plain try, which does not queue. Owner data with something in every member.
[[nodiscard]] acquire_request wanting(const lock_name& name, const owner_id& owner);

/// A try that queues when refused, with hints to `wake`.
[[nodiscard]] acquire_request queueing(const lock_name& name, const owner_id& owner,
                                       const std::shared_ptr<hint_sink>& wake);

/// `name` must outlive the call.
[[nodiscard]] renewal renewing(const lock_name& name, const owner_id& owner, fence_token token,
                               std::uint64_t seq = 0);
renewal renewing(lock_name&&, const owner_id&, fence_token, std::uint64_t = 0) = delete;

/// "done", "refused: lost", "unknown: unreachable".
[[nodiscard]] std::string shown(const answer& a);

/// "granted", "granted again", "refused: busy", "unknown: outcome_unknown". Places and holders are not in it.
[[nodiscard]] std::string shown(const acquire_answer& a);

/// What an acquire was granted; fails the test and gives token 0 when it was not.
[[nodiscard]] grant granted(const acquire_answer& a);

/// How an acquire was refused; fails the test when it was not.
[[nodiscard]] rejection rejected(const acquire_answer& a);

}  // namespace cremone::test
