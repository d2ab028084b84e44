// SPDX-License-Identifier: Apache-2.0
#include "engine/quorum/quorum.hpp"

#include "base/check.hpp"
#include "core/quorum.hpp"
#include "engine/quorum/acquiring.hpp"
#include "engine/quorum/tally.hpp"

#include <algorithm>
#include <mutex>
#include <string>
#include <utility>

namespace cremone::detail {

namespace {

/// How far ahead of the clock a number may be proposed, so that servers whose clocks lag still take it (they bound it by 10 s).
constexpr std::chrono::seconds most_ahead{9};

/// Two round trips on any network that is of use.
constexpr std::chrono::milliseconds moment_for_the_silent{200};

}  // namespace

quorum::quorum(std::shared_ptr<env> e, std::vector<std::shared_ptr<backend>> nodes, quorum_options options)
    : env_(std::move(e)),
      nodes_(std::make_shared<const std::vector<std::shared_ptr<backend>>>(std::move(nodes))),
      options_(std::move(options)),
      tokens_(nodes_->front()->describe().quarantines),
      traffic_(nodes_->size()),
      health_(nodes_->size()),
      quarantines_(nodes_->size()),
      waits_(nodes_->size()) {
  CREMONE_CHECK(!nodes_->empty());
}

traits quorum::describe() const {
  traits t = nodes_->front()->describe();
  t.voters = nodes_->size();
  if (!options_.store.empty()) {
    t.store = options_.store;
  }
  if (!alone()) {
    t.identity = options_.identity;
    t.fifo = false;
    t.tokens = tokens_;
  }
  return t;
}

std::string quorum::name_of(std::size_t node) const {
  return node < options_.names.size() ? options_.names[node] : "server " + std::to_string(node + 1);
}

bool quorum::may_ask(std::size_t node, instant now) {
  const std::lock_guard lock(mutex_);
  return health_[node].may_ask(now);
}

bool quorum::avoided(std::size_t node) {
  const std::lock_guard lock(mutex_);
  return health_[node].open();
}

void quorum::heard_from(std::size_t node, bool answered, instant now) {
  const std::lock_guard lock(mutex_);
  answered ? health_[node].good() : health_[node].bad(now);
  traffic_[node].heard = traffic_[node].heard || answered;
}

void quorum::saw_quarantine(std::size_t node, const hold_version& version) {
  const std::lock_guard lock(mutex_);
  quarantines_[node] = version;
}

std::optional<std::size_t> quorum::quarantined_as(const hold_version& version) {
  const std::lock_guard lock(mutex_);
  const auto found = std::find(quarantines_.begin(), quarantines_.end(), version);
  return found == quarantines_.end() || version == hold_version{}
             ? std::nullopt
             : std::optional(static_cast<std::size_t>(found - quarantines_.begin()));
}

/// Our clock, or one more than what was seen, if others' clocks are ahead: then the servers agree at once. A wrong clock costs a second
/// round and nothing else.
fence_token quorum::proposal() {
  const auto clock = static_cast<std::uint64_t>(env_->wall_now().time_since_epoch().count());
  const auto bound = clock + static_cast<std::uint64_t>(std::chrono::microseconds(most_ahead).count());
  return fence_token(std::max(clock, std::min(highest_seen_ + 1, bound)));
}

void quorum::saw_token(std::uint64_t number) noexcept {
  std::uint64_t known = highest_seen_;
  while (known < number && !highest_seen_.compare_exchange_weak(known, number)) {
  }
}

vote_statistics quorum::statistics() const {
  return {.acquisitions = acquisitions_, .in_one_round = in_one_round_};
}

void quorum::try_acquire(const acquire_request& request, callback<void(acquire_answer)> reply) {
  if (alone()) {
    if (!options_.strict) {
      return nodes_->front()->try_acquire(request, std::move(reply));
    }
    return nodes_->front()->try_acquire(
        request, [self = shared_from_this(), reply = std::move(reply)](acquire_answer a) mutable {
          auto* no = std::get_if<rejection>(&a);
          if (no != nullptr && no->why == errc::quarantined && !no->holders.empty()) {
            self->saw_quarantine(0, no->holders.front().version);
            no->until_ordered = true;
          }
          reply(std::move(a));
        });
  }
  begins_attempt(request);
  std::make_shared<acquiring>(shared_from_this(), request, tokens_, std::move(reply))->start();
}

/// Its first attempt or the next, with another owner id. Noted before the answer, so that a release that comes meanwhile is too.
void quorum::begins_attempt(const acquire_request& request) {
  const std::lock_guard lock(mutex_);
  const auto before = attempt_of_.find(request.waiter);
  if (before == attempt_of_.end()) {
    if (request.join) {
      waiting_.insert_or_assign(request.owner, patient{request.name, request.waiter});
      attempt_of_[request.waiter] = request.owner;
    }
    return;
  }
  auto entry = waiting_.extract(before->second);
  entry.key() = request.owner;
  entry.mapped().spent = false;
  waiting_.insert(std::move(entry));
  before->second = request.owner;
}

/// While the lock is held the nodes tell it of releases from now on, unless it has been released meanwhile.
void quorum::failed_attempt(const acquire_request& request, const std::weak_ptr<hint_sink>& wake, bool busy) {
  {
    const std::lock_guard lock(mutex_);
    const auto found = waiting_.find(request.owner);
    if (found == waiting_.end()) {
      return;
    }
    if (!busy) {
      if (!found->second.listens) {
        attempt_of_.erase(found->second.waiter);
        waiting_.erase(found);
      }
      return;
    }
    found->second.listens = true;
    found->second.spent = true;
  }
  for (const auto& node : *nodes_) {
    node->await_release(request.name, request.waiter, wake);
  }
  if (waits_still(request.waiter)) {
    return;
  }
  for (const auto& node : *nodes_) {  // it was released while it was put on their lists
    node->stop_awaiting(request.name, request.waiter, false);
  }
}

bool quorum::waits_still(const owner_id& waiter) {
  const std::lock_guard lock(mutex_);
  return attempt_of_.contains(waiter);
}

bool quorum::waits_no_more(const owner_id& owner, bool served) {
  patient gone{lock_name("")};
  {
    const std::lock_guard lock(mutex_);
    const auto found = waiting_.find(owner);
    if (found == waiting_.end()) {
      return false;
    }
    gone = std::move(found->second);
    waiting_.erase(found);
    attempt_of_.erase(gone.waiter);
  }
  for (std::size_t node = 0; gone.listens && node < nodes_->size(); ++node) {
    (*nodes_)[node]->stop_awaiting(gone.name, gone.waiter, served);
  }
  return gone.spent;
}

/// Renewals on their way to several nodes: each item is counted for itself.
class quorum::renewing {
 public:
  renewing(std::span<const renewal> items, std::size_t nodes, callback<void(std::vector<answer>)> reply)
      : votes_(items.size(), tally(nodes)),
        open_(items.size()),
        nodes_left_(nodes),
        reply_(std::move(reply)) {
    names_.reserve(items.size());
    for (const renewal& item : items) {
      names_.push_back(*item.name);
    }
    items_.assign(items.begin(), items.end());
    for (std::size_t i = 0; i < items_.size(); ++i) {
      items_[i].name = &names_[i];
    }
  }

  [[nodiscard]] std::span<const renewal> items() const noexcept { return items_; }

  void take(const std::vector<answer>& answers) {
    std::vector<answer> all;
    callback<void(std::vector<answer>)> reply;
    {
      const std::lock_guard lock(mutex_);
      --nodes_left_;
      for (std::size_t i = 0; i < answers.size(); ++i) {
        open_ -= votes_[i].count(answers[i]) ? 1U : 0U;
      }
      if (!reply_ || (open_ > 0 && nodes_left_ > 0)) {
        return;
      }
      for (const tally& t : votes_) {
        all.push_back(t.outcome());
      }
      reply = std::exchange(reply_, nullptr);
    }
    reply(std::move(all));
  }

 private:
  std::vector<lock_name> names_;
  std::vector<renewal> items_;  // copies, as above
  std::mutex mutex_;
  std::vector<tally> votes_;
  std::size_t open_;
  std::size_t nodes_left_;
  callback<void(std::vector<answer>)> reply_;
};

void quorum::renew(std::span<const renewal> items, callback<void(std::vector<answer>)> reply) {
  if (alone()) {
    return nodes_->front()->renew(items, std::move(reply));
  }
  const auto all = std::make_shared<renewing>(items, nodes_->size(), std::move(reply));
  for (const auto& node : *nodes_) {
    node->renew(all->items(), [all](const std::vector<answer>& answers) { all->take(answers); });
  }
}

void quorum::release(const release_request& request, callback<void(answer)> reply) {
  if (alone()) {
    return nodes_->front()->release(request, std::move(reply));
  }
  if (waits_no_more(request.owner, false)) {
    // What it had was taken back when its attempt failed. Those who had nothing to give back are told that it is gone for good.
    const auto end =
        std::make_shared<const release_request>(release_request{request.name, request.owner, true});
    for (std::size_t node = 0; node < nodes_->size(); ++node) {
      release_at(node, *end, [end](const answer&) {});
    }
    return env_->post([reply = std::move(reply)]() mutable { reply(done{}); });
  }
  const auto all = std::make_shared<removing>(nodes_->size(), request, hold_version{},
                                              removing::rule::majority, std::move(reply));
  for (std::size_t node = 0; node < nodes_->size(); ++node) {
    release_at(node, all->request, [all](const answer& a) { all->take(a); });
  }
}

void quorum::release_at(std::size_t node, const release_request& request,
                        callback<void(const answer&)> reply) {
  {
    const std::lock_guard lock(mutex_);
    ++traffic_[node].releases;
  }
  (*nodes_)[node]->release(
      request, [self = shared_from_this(), node, reply = std::move(reply)](const answer& a) mutable {
        reply(a);
        self->released_at(node);
      });
}

void quorum::released_at(std::size_t node) {
  {
    const std::lock_guard lock(mutex_);
    --traffic_[node].releases;
  }
  settle_now_perhaps(false);
}

/// What is on its way is with the kernel, nearly always; only where a server did not know a script is there more to send. So who has
/// answered before is waited for, and who has been silent all the time only for a moment.
void quorum::settle(callback<void()> done) {
  {
    const std::lock_guard lock(mutex_);
    settled_.push_back(std::move(done));
  }
  settle_now_perhaps(false);
  const std::lock_guard lock(mutex_);
  if (settled_.empty()) {
    return;
  }
  if (!settling_) {
    settling_ = env_->make_timer([weak = weak_from_this()] {
      if (const auto self = weak.lock()) {
        self->settle_now_perhaps(true);
      }
    });
  }
  settling_->arm(env_->now() + moment_for_the_silent);
}

void quorum::settle_now_perhaps(bool without_the_silent) {
  std::vector<callback<void()>> settled;
  {
    const std::lock_guard lock(mutex_);
    patient_ = patient_ && !without_the_silent;
    const bool busy = std::any_of(traffic_.begin(), traffic_.end(),
                                  [&](const traffic& t) { return t.releases > 0 && (t.heard || patient_); });
    if (busy) {
      return;
    }
    settled.swap(settled_);
  }
  for (auto& done : settled) {
    done();
  }
}

void quorum::evict(const lock_name& name, const hold_version& version, callback<void(answer)> reply) {
  if (alone() && !options_.strict) {
    return nodes_->front()->evict(name, version, std::move(reply));
  }
  if (const auto node = quarantined_as(version)) {
    return readmit(*node, version, std::move(reply));
  }
  // Where versions name the life of a server, one server has this one, and nobody waits for those that do not.
  const auto by = version.life != 0 ? removing::rule::first : removing::rule::any;
  const auto all = std::make_shared<removing>(nodes_->size(), release_request{name, version.owner}, version,
                                              by, std::move(reply));
  for (const auto& node : *nodes_) {
    node->evict(all->request.name, all->version, [all](const answer& a) { all->take(a); });
  }
}

void quorum::force(const lock_name& name, const owner_id& holder, callback<void(answer)> reply) {
  const auto all = std::make_shared<removing>(nodes_->size(), release_request{name, holder}, hold_version{},
                                              removing::rule::any, std::move(reply));
  for (const auto& node : *nodes_) {
    node->force(all->request.name, all->request.owner, [all](const answer& a) { all->take(a); });
  }
}

void quorum::close() noexcept {
  for (const auto& node : *nodes_) {
    node->close();
  }
}

}  // namespace cremone::detail
