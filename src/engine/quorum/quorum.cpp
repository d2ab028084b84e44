// SPDX-License-Identifier: Apache-2.0
#include "engine/quorum/quorum.hpp"

#include "base/check.hpp"
#include "core/quorum.hpp"

#include <algorithm>
#include <mutex>
#include <string>
#include <utility>

namespace cremone::detail {

namespace {

using core::ballot;
using verdict = ballot::verdict;
using vote = ballot::vote;

vote vote_of(const answer& a) noexcept {
  if (std::holds_alternative<done>(a)) {
    return vote::yes;
  }
  return std::holds_alternative<refused>(a) ? vote::no : vote::unsure;
}

const error* reason_in(const answer& a) noexcept {
  if (const auto* no = std::get_if<refused>(&a)) {
    return &no->why;
  }
  const auto* nobody_knows = std::get_if<unknown>(&a);
  return nobody_knows == nullptr ? nullptr : &nobody_knows->why;
}

/// What the nodes said against it, each once: "a: …; b: …" where they differ.
error merged(errc code, const std::vector<error>& reasons) {
  std::string text;
  for (auto r = reasons.begin(); r != reasons.end(); ++r) {
    const bool said =
        std::any_of(reasons.begin(), r, [&](const error& e) { return e.detail() == r->detail(); });
    if (!said && !r->detail().empty()) {
      text += text.empty() ? r->detail() : "; " + r->detail();
    }
  }
  return {code, std::move(text)};
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
      case verdict::carried: return done{};
      case verdict::failed: return refused{merged(code(), reasons_)};
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
  ballot votes_;
  std::size_t final_ = 0;  // of those who said no, those who know that it is not held
  std::vector<error> reasons_;
};

}  // namespace

quorum::quorum(std::vector<std::shared_ptr<backend>> nodes)
    : nodes_(std::make_shared<const std::vector<std::shared_ptr<backend>>>(std::move(nodes))) {
  CREMONE_CHECK(!nodes_->empty());
}

traits quorum::describe() const { return nodes_->front()->describe(); }

/// One acquire on its way to several nodes.
class quorum::acquiring : public std::enable_shared_from_this<acquiring> {
 public:
  acquiring(node_list nodes, acquire_request request, callback<void(acquire_answer)> reply)
      : nodes_(std::move(nodes)),
        request_(std::move(request)),
        votes_(nodes_->size()),
        reply_(std::move(reply)) {}

  void start() {
    for (const auto& node : *nodes_) {
      node->try_acquire(request_,
                        [self = shared_from_this()](acquire_answer a) { self->take(std::move(a)); });
    }
  }

 private:
  void take(acquire_answer&& a) {
    callback<void(acquire_answer)> reply;
    acquire_answer decided;
    {
      const std::lock_guard lock(mutex_);
      if (!votes_.count(note(std::move(a)))) {
        return;
      }
      reply = std::move(reply_);
      decided = outcome();
    }
    if (!std::holds_alternative<grant>(decided)) {
      withdraw();
    }
    reply(std::move(decided));
  }

  /// With the mutex held.
  [[nodiscard]] vote note(acquire_answer&& a) {
    if (const auto* yes = std::get_if<grant>(&a)) {
      repeated_ = repeated_ || yes->repeated;
      return vote::yes;
    }
    if (auto* no = std::get_if<rejection>(&a)) {
      reasons_.push_back(no->why);
      busy_ = busy_ || no->why == errc::busy;
      for (hold_record& h : no->holders) {
        if (no_.holders.size() < rejection::max_reported_holders) {
          no_.holders.push_back(std::move(h));
        }
      }
      return vote::no;
    }
    reasons_.push_back(std::get<unknown>(a).why);
    return vote::unsure;
  }

  void withdraw() {
    const auto end = std::make_shared<const release_request>(release_request{request_.name, request_.owner});
    for (const auto& node : *nodes_) {
      node->release(*end, [end](const answer&) {});
    }
  }

  [[nodiscard]] acquire_answer outcome() {
    switch (votes_.state()) {
      case verdict::carried: return grant{.token = {}, .ticket = 0, .repeated = repeated_};
      case verdict::failed:
        no_.why = busy_ ? error(errc::busy) : merged(reasons_.front().code(), reasons_);
        return std::move(no_);
      default: return unknown{merged(errc::outcome_unknown, reasons_)};
    }
  }

  const node_list nodes_;
  const acquire_request request_;  // a copy: stragglers read it when the caller's is gone
  std::mutex mutex_;
  ballot votes_;
  callback<void(acquire_answer)> reply_;
  std::vector<error> reasons_;
  rejection no_;
  bool busy_ = false;
  bool repeated_ = false;
};

void quorum::try_acquire(const acquire_request& request, callback<void(acquire_answer)> reply) {
  if (nodes_->size() == 1) {
    return nodes_->front()->try_acquire(request, std::move(reply));
  }
  std::make_shared<acquiring>(nodes_, request, std::move(reply))->start();
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
  if (nodes_->size() == 1) {
    return nodes_->front()->renew(items, std::move(reply));
  }
  const auto all = std::make_shared<renewing>(items, nodes_->size(), std::move(reply));
  for (const auto& node : *nodes_) {
    node->renew(all->items(), [all](const std::vector<answer>& answers) { all->take(answers); });
  }
}

/// A release, an eviction or an order by force on its way to several nodes.
class quorum::removing {
 public:
  removing(std::size_t nodes, lock_name name, const owner_id& owner, const hold_version& of,
           callback<void(answer)> reply)
      : version(of), request{std::move(name), owner}, votes_(nodes), reply_(std::move(reply)) {}

  void take(const answer& a) {
    callback<void(answer)> reply;
    answer decided;
    {
      const std::lock_guard lock(mutex_);
      if (!votes_.count(a)) {
        return;
      }
      reply = std::move(reply_);
      decided = votes_.outcome();
    }
    reply(std::move(decided));
  }

  const hold_version version;
  const release_request request;

 private:
  std::mutex mutex_;
  tally votes_;
  callback<void(answer)> reply_;
};

void quorum::release(const release_request& request, callback<void(answer)> reply) {
  if (nodes_->size() == 1) {
    return nodes_->front()->release(request, std::move(reply));
  }
  const auto all = std::make_shared<removing>(nodes_->size(), request.name, request.owner, hold_version{},
                                              std::move(reply));
  for (const auto& node : *nodes_) {
    node->release(all->request, [all](const answer& a) { all->take(a); });
  }
}

void quorum::evict(const lock_name& name, const hold_version& version, callback<void(answer)> reply) {
  const auto all = std::make_shared<removing>(nodes_->size(), name, version.owner, version, std::move(reply));
  for (const auto& node : *nodes_) {
    node->evict(all->request.name, all->version, [all](const answer& a) { all->take(a); });
  }
}

void quorum::force(const lock_name& name, const owner_id& holder, callback<void(answer)> reply) {
  const auto all = std::make_shared<removing>(nodes_->size(), name, holder, hold_version{}, std::move(reply));
  for (const auto& node : *nodes_) {
    node->force(all->request.name, all->request.owner, [all](const answer& a) { all->take(a); });
  }
}

void quorum::end_quarantine(callback<void(answer)> reply) {
  const auto all =
      std::make_shared<removing>(nodes_->size(), lock_name(""), owner_id{}, hold_version{}, std::move(reply));
  for (const auto& node : *nodes_) {
    node->end_quarantine([all](const answer& a) { all->take(a); });
  }
}

void quorum::close() noexcept {
  for (const auto& node : *nodes_) {
    node->close();
  }
}

}  // namespace cremone::detail
