// SPDX-License-Identifier: Apache-2.0
//
// How a node that may have forgotten votes again. Whoever asks has watched its quarantine to the end, so that every acquisition
// that a vote of its could have been counted for is over. Only then is a majority of the others asked for the highest number that
// they know: each token that this node has helped to give was given by one of them too. Asked any earlier, the answer would miss
// those that were still on their way. Where so many have forgotten that there is no such majority, the clock is all that is left,
// or a person.
#include "core/quorum.hpp"
#include "engine/describe.hpp"
#include "engine/quorum/quorum.hpp"
#include "engine/quorum/tally.hpp"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <utility>

namespace cremone::detail {

namespace {

/// Above the clock, for clocks that differ.
constexpr std::chrono::seconds clocks_differ{10};

/// What several nodes say of the tokens that were given.
class floors {
 public:
  floors(std::size_t nodes, callback<void(fence_token, std::size_t)> then)
      : left_(nodes), then_(std::move(then)) {}

  void take(const result<token_floor>& r) {
    {
      const std::lock_guard lock(mutex_);
      if (r) {
        highest_ = std::max(highest_, r->highest);
        sure_ += r->forgetful ? 0U : 1U;
      }
      if (--left_ > 0) {
        return;
      }
    }
    then_(highest_, sure_);
  }

 private:
  std::mutex mutex_;
  std::size_t left_;
  fence_token highest_{};
  std::size_t sure_ = 0;
  callback<void(fence_token, std::size_t)> then_;
};

}  // namespace

void quorum::ask_floors(std::optional<std::size_t> but, callback<void(fence_token, std::size_t)> then) {
  const std::size_t asked = nodes_->size() - (but ? 1U : 0U);
  if (asked == 0) {
    return then(fence_token(), 0);
  }
  const auto all = std::make_shared<floors>(asked, std::move(then));
  for (std::size_t node = 0; node < nodes_->size(); ++node) {
    if (node != but) {
      (*nodes_)[node]->floor([all](const result<token_floor>& r) { all->take(r); });
    }
  }
}

void quorum::readmit(std::size_t node, const hold_version& version, callback<void(answer)> reply) {
  ask_floors(node, [self = shared_from_this(), node, version, reply = std::move(reply)](
                       fence_token highest, std::size_t sure) mutable {
    const bool enough = sure >= core::majority_of(self->nodes_->size());
    if (!enough && self->options_.strict) {
      return reply(refused{error(errc::quarantined, std::string(only_a_person))});
    }
    admission order{.quarantine = version, .floor = highest, .by_clock = !enough};
    if (!enough) {
      const auto clock = self->env_->wall_now().time_since_epoch() + std::chrono::microseconds(clocks_differ);
      order.floor = std::max(order.floor, fence_token(static_cast<std::uint64_t>(clock.count())));
    }
    (*self->nodes_)[node]->admit(order, std::move(reply));
  });
}

void quorum::end_quarantine(callback<void(answer)> reply) {
  if (alone()) {
    return nodes_->front()->end_quarantine(std::move(reply));
  }
  ask_floors(std::nullopt, [self = shared_from_this(), reply = std::move(reply)](fence_token highest,
                                                                                 std::size_t) mutable {
    const std::size_t nodes = self->nodes_->size();
    const auto open = std::make_shared<std::atomic<std::size_t>>(0);
    const auto votes = std::make_shared<removing>(
        nodes, release_request{}, hold_version{}, removing::rule::everyone,
        [open, nodes, reply = std::move(reply)](answer a) mutable {
          const error* why = reason_in(a);
          if (why == nullptr || *open == 0) {
            return reply(std::move(a));
          }
          reply(unknown{
              error(why->code(), std::to_string(*open) + " of " + std::to_string(nodes) +
                                     " servers give out locks now, which is no majority: " + why->detail())});
        });
    for (const auto& node : *self->nodes_) {
      node->admit({.quarantine = {}, .floor = highest, .by_clock = true}, [votes, open](const answer& a) {
        *open += std::holds_alternative<done>(a) ? 1U : 0U;
        votes->take(a);
      });
    }
  });
}

}  // namespace cremone::detail
