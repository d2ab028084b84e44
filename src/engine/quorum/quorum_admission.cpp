// SPDX-License-Identifier: Apache-2.0
//
// How a node that may have forgotten votes again. Whoever asks has watched its quarantine to the end, so that every acquisition
// that a vote of its could have been counted for is over. Only then is a majority of the others asked for the highest number that
// they know: each token that this node has helped to give was given by one of them too. Asked any earlier, the answer would miss
// those that were still on their way. Where so many have forgotten that there is no such majority, the clock is all that is left,
// or a person. One that does not answer may be one that remembers, and is waited for, though not for ever.
#include "core/quorum.hpp"
#include "engine/describe.hpp"
#include "engine/quorum/quorum.hpp"
#include "engine/quorum/tally.hpp"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <utility>

namespace cremone::detail {

/// What several nodes say of the tokens that were given, as far as they have answered.
class quorum::floors {
 public:
  floors(std::size_t nodes, callback<void(const memory&)> then) : left_(nodes), then_(std::move(then)) {}

  void take(const result<token_floor>& r) {
    {
      const std::lock_guard lock(mutex_);
      known_.highest = std::max(known_.highest, r ? r->highest : fence_token());
      known_.sure += r && !r->forgetful ? 1U : 0U;
      known_.silent += r ? 0U : 1U;
      if (--left_ > 0) {
        return;
      }
    }
    then_(known_);
  }

 private:
  std::mutex mutex_;
  std::size_t left_;
  memory known_;
  callback<void(const memory&)> then_;
};

void quorum::ask_floors(std::optional<std::size_t> but, callback<void(const memory&)> then) {
  const std::size_t asked = nodes_->size() - (but ? 1U : 0U);
  if (asked == 0) {
    return then({});
  }
  const auto all = std::make_shared<floors>(asked, std::move(then));
  for (std::size_t node = 0; node < nodes_->size(); ++node) {
    if (node != but) {
      (*nodes_)[node]->floor([all](const result<token_floor>& r) { all->take(r); });
    }
  }
}

/// Those that do not answer could make up a majority that remembers. Most are back soon, so that going by the clock at once would give
/// up for nothing what rests on no wall clock. One that is gone for good must not keep the others closed: they are waited for
/// as long again as any lease lasts, by a client that lasts as long.
bool quorum::waits_for_silent(std::size_t node, const hold_version& version) {
  const std::lock_guard lock(mutex_);
  const instant now = env_->now();
  if (waits_[node].quarantine != version) {
    waits_[node] = {version, now};
  }
  return now < waits_[node].since + nodes_->front()->describe().max_ttl;
}

void quorum::readmit(std::size_t node, const hold_version& version, callback<void(answer)> reply) {
  ask_floors(node, [self = shared_from_this(), node, version,
                    reply = std::move(reply)](const memory& others) mutable {
    const std::size_t needed = core::majority_of(self->nodes_->size());
    admission order{.quarantine = version, .floor = others.highest, .by_clock = others.sure < needed};
    if (order.by_clock && self->options_.strict) {
      return reply(refused{error(errc::quarantined, std::string(too_few_remember))});
    }
    if (order.by_clock && others.sure + others.silent >= needed && self->waits_for_silent(node, version)) {
      return reply(refused{
          error(errc::quarantined,
                "too few servers report which tokens were granted. The silent servers are waited for as long "
                "as any lease lasts. After that, or after `cremone quarantine --end`, clocks decide which "
                "token is the next")});
    }
    (*self->nodes_)[node]->admit(order, std::move(reply));
  });
}

void quorum::end_quarantine(callback<void(answer)> reply) {
  if (alone()) {
    return nodes_->front()->end_quarantine(std::move(reply));
  }
  ask_floors(std::nullopt, [self = shared_from_this(), reply = std::move(reply)](const memory& all) mutable {
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
      node->admit({.quarantine = {}, .floor = all.highest, .by_clock = true}, [votes, open](const answer& a) {
        *open += std::holds_alternative<done>(a) ? 1U : 0U;
        votes->take(a);
      });
    }
  });
}

}  // namespace cremone::detail
