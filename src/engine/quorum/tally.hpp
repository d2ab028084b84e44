// SPDX-License-Identifier: Apache-2.0
//
// The answers of several nodes to one question that is done or not, made one answer.
#pragma once

#include "core/quorum.hpp"
#include "engine/quorum/acquiring.hpp"

#include <cremone/backend.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

namespace cremone::detail {

inline core::ballot::vote vote_of(const answer& a) noexcept {
  if (std::holds_alternative<done>(a)) {
    return core::ballot::vote::yes;
  }
  return std::holds_alternative<refused>(a) ? core::ballot::vote::no : core::ballot::vote::unsure;
}

inline const error* reason_in(const answer& a) noexcept {
  if (const auto* no = std::get_if<refused>(&a)) {
    return &no->why;
  }
  const auto* nobody_knows = std::get_if<unknown>(&a);
  return nobody_knows == nullptr ? nullptr : &nobody_knows->why;
}

/// The answers of all nodes to a yes-or-no question, as far as they are in.
class tally {
 public:
  explicit tally(std::size_t nodes) noexcept : nodes_(nodes), votes_(nodes) {}

  /// True when this decided it. One that could not be asked says nothing about what it would have said: while it may turn out that a majority
  /// knows it to be gone, the others are heard first.
  bool count(const answer& a) {
    if (const error* why = reason_in(a)) {
      final_ += why->code() == errc::lost || why->code() == errc::not_held ? 1U : 0U;
      reasons_.push_back(*why);
    }
    (void)votes_.count(vote_of(a));
    ++in_;
    const bool was_decided = decided_;
    decided_ = votes_.state() == core::ballot::verdict::carried || gone() || in_ == nodes_;
    return decided_ && !was_decided;
  }

  [[nodiscard]] answer outcome() const {
    switch (votes_.state()) {
      case core::ballot::verdict::carried: return done{};
      case core::ballot::verdict::failed: return refused{merged(code(), reasons_)};
      default: return unknown{merged(errc::outcome_unknown, reasons_)};
    }
  }

 private:
  /// So many nodes say that it is not held any more that no majority can hold it.
  [[nodiscard]] bool gone() const noexcept { return final_ > nodes_ - core::majority_of(nodes_); }

  [[nodiscard]] errc code() const {
    const auto found = std::find_if(reasons_.begin(), reasons_.end(), [&](const error& e) {
      return gone() == (e.code() == errc::lost || e.code() == errc::not_held);
    });
    return found == reasons_.end() ? reasons_.front().code() : found->code();
  }

  std::size_t nodes_;
  core::ballot votes_;
  std::size_t in_ = 0;
  bool decided_ = false;
  std::size_t final_ = 0;  // of those who said no, those who know that it is not held
  std::vector<error> reasons_;
};

/// A release, an eviction, an order by force or an admission on its way to several nodes.
class removing {
 public:
  enum class rule : std::uint8_t {
    majority,  ///< answered when that is certain
    everyone,  ///< answered when all are in, as the majority says
    any,  ///< done when one of them has done it and a majority has nothing more to do; answered when all are in
    first  ///< the same, answered when that is certain
  };

  removing(std::size_t nodes, release_request what, const hold_version& of, rule by,
           callback<void(answer)> reply)
      : version(of),
        request(std::move(what)),
        by_(by),
        nodes_(nodes),
        votes_(nodes),
        reply_(std::move(reply)) {}

  void take(const answer& a) {
    callback<void(answer)> reply;
    answer decided;
    {
      const std::lock_guard lock(mutex_);
      const bool certain = votes_.count(a);
      ++in_;
      done_ += std::holds_alternative<done>(a) ? 1U : 0U;
      const auto* no = std::get_if<refused>(&a);
      nothing_there_ += no != nullptr && no->why == errc::not_held ? 1U : 0U;
      if (!reply_ || !enough(certain)) {
        return;
      }
      reply = std::exchange(reply_, nullptr);
      decided = outcome();
    }
    reply(std::move(decided));
  }

  const hold_version version;
  const release_request request;

 private:
  [[nodiscard]] bool one_was_enough() const noexcept {
    return done_ > 0 && done_ + nothing_there_ >= core::majority_of(nodes_);
  }

  [[nodiscard]] bool enough(bool certain) const noexcept {
    switch (by_) {
      case rule::majority: return certain;
      case rule::first: return one_was_enough() || in_ == nodes_;
      default: return in_ == nodes_;  // whoever is told goes away, and the rest with it
    }
  }

  [[nodiscard]] answer outcome() const {
    const bool any = by_ == rule::any || by_ == rule::first;
    return any && one_was_enough() ? answer(done{}) : votes_.outcome();
  }

  const rule by_;
  const std::size_t nodes_;
  std::mutex mutex_;
  std::size_t in_ = 0;
  std::size_t done_ = 0;
  std::size_t nothing_there_ = 0;
  tally votes_;
  callback<void(answer)> reply_;
};

}  // namespace cremone::detail
