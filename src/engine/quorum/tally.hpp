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

  /// True when this decided it.
  bool count(const answer& a) {
    if (const error* why = reason_in(a)) {
      final_ += why->code() == errc::lost || why->code() == errc::not_held ? 1U : 0U;
      reasons_.push_back(*why);
    }
    return votes_.count(vote_of(a));
  }

  [[nodiscard]] answer outcome() const {
    switch (votes_.state()) {
      case core::ballot::verdict::carried: return done{};
      case core::ballot::verdict::failed: return refused{merged(code(), reasons_)};
      default: return unknown{merged(errc::outcome_unknown, reasons_)};
    }
  }

 private:
  /// That it is not held any more is said only when so many nodes say so that no majority can hold it. A node that could
  /// not be asked says nothing about that.
  [[nodiscard]] errc code() const {
    const bool gone = final_ > nodes_ - core::majority_of(nodes_);
    const auto found = std::find_if(reasons_.begin(), reasons_.end(), [&](const error& e) {
      return gone == (e.code() == errc::lost || e.code() == errc::not_held);
    });
    return found == reasons_.end() ? reasons_.front().code() : found->code();
  }

  std::size_t nodes_;
  core::ballot votes_;
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
      if (by_ == rule::majority ? !certain
                                : in_ < nodes_) {  // whoever is told goes away, and the rest with it
        return;
      }
      reply = std::move(reply_);
      decided = outcome();
    }
    reply(std::move(decided));
  }

  const hold_version version;
  const release_request request;

 private:
  [[nodiscard]] answer outcome() const {
    if (by_ == rule::any && done_ > 0 && done_ + nothing_there_ >= core::majority_of(nodes_)) {
      return done{};
    }
    return votes_.outcome();
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
