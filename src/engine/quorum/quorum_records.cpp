// SPDX-License-Identifier: Apache-2.0
//
// What is known of locks that live on several nodes: a holder is one whom a majority of the nodes shows.
#include "core/quorum.hpp"
#include "engine/describe.hpp"
#include "engine/quorum/acquiring.hpp"
#include "engine/quorum/quorum.hpp"

#include <algorithm>
#include <functional>
#include <iterator>
#include <limits>
#include <map>
#include <mutex>
#include <utility>

namespace cremone::detail {

namespace {

/// A holder's token is the number that a majority gave; a server that came too late for that may have given another.
fence_token most_common(const std::vector<fence_token>& numbers) {
  const auto times = [&](fence_token t) { return std::count(numbers.begin(), numbers.end(), t); };
  return *std::max_element(numbers.begin(), numbers.end(),
                           [&](fence_token a, fence_token b) { return times(a) < times(b); });
}

/// The highest number that a majority of `nodes` has reached: no token is above it. What those have who do not show it here is not known.
fence_token reached_by_majority(std::vector<fence_token> numbers, std::size_t nodes) {
  std::sort(numbers.begin(), numbers.end(), std::greater<>());
  const std::size_t needed = core::majority_of(nodes);
  const std::size_t silent = nodes - numbers.size();
  return numbers.empty() ? fence_token() : numbers[needed > silent ? needed - silent - 1 : 0];
}

/// Of the records of one lock, that which a majority of `nodes` agrees on. `untold`: of how many it is not known for whom their vote is.
lock_record agreed(const lock_name& name, const std::vector<lock_record>& seen, std::size_t nodes,
                   std::size_t untold) {
  lock_record out;
  out.name = name;
  struct candidate {
    hold_record shown;
    std::vector<fence_token> numbers;  // one with each vote
  };
  std::vector<candidate> candidates;
  std::vector<fence_token> last;
  for (const lock_record& one : seen) {
    last.push_back(one.last);
    for (const hold_record& h : one.holders) {
      auto known = std::find_if(candidates.begin(), candidates.end(),
                                [&](const candidate& c) { return c.shown.version.owner == h.version.owner; });
      if (known == candidates.end()) {
        known = candidates.insert(known, {h, {}});
      }
      known->numbers.push_back(h.token);
      if (!looks_abandoned(h)) {  // one vote that was renewed shows that the holder lives
        known->shown.renewed_ago = h.renewed_ago;
      }
    }
  }
  out.last = reached_by_majority(std::move(last), nodes);
  for (candidate& c : candidates) {
    c.shown.token = most_common(c.numbers);
    if (c.numbers.size() >= core::majority_of(nodes)) {
      out.holders.push_back(std::move(c.shown));
    } else if (c.numbers.size() + untold >= core::majority_of(nodes)) {
      out.may_hold.push_back(std::move(c.shown));
    }
  }
  if (!out.holders.empty()) {  // two majorities share a server
    out.may_hold.clear();
  }
  return out;
}

}  // namespace

/// One question about records on its way to several nodes. Waits for every node: whoever asks wants to see as much as there is.
template <class Record>
class quorum::looking {
 public:
  /// What each node said, in their order.
  using answers = std::vector<result<Record>>;

  looking(std::size_t nodes, callback<void(result<answers>)> then)
      : said_(nodes, error(errc::unreachable)), left_(nodes), then_(std::move(then)) {}

  void take(std::size_t node, result<Record> r) {
    {
      const std::lock_guard lock(mutex_);
      said_[node] = std::move(r);
      if (--left_ > 0) {
        return;
      }
    }
    std::vector<error> why;
    for (const auto& one : said_) {
      if (!one) {
        why.push_back(one.error());
      }
    }
    if (said_.size() - why.size() < core::majority_of(said_.size())) {
      return then_(merged(why.front().code(), why));
    }
    then_(std::move(said_));
  }

 private:
  std::mutex mutex_;
  answers said_;
  std::size_t left_;
  callback<void(result<answers>)> then_;
};

namespace {

/// Of several servers that report one, the first is enough.
std::string first_foreign_lock(const std::vector<lock_record>& seen) {
  const auto reports = std::find_if(seen.begin(), seen.end(),
                                    [](const lock_record& one) { return !one.foreign_lock.empty(); });
  return reports == seen.end() ? std::string() : reports->foreign_lock;
}

}  // namespace

void quorum::inspect(const lock_name& name, callback<void(result<lock_record>)> reply) {
  if (alone()) {
    return nodes_->front()->inspect(name, std::move(reply));
  }
  const auto all = std::make_shared<looking<lock_record>>(
      nodes_->size(), [self = shared_from_this(), name,
                       reply = std::move(reply)](result<std::vector<result<lock_record>>> said) mutable {
        if (!said) {
          return reply(said.error());
        }
        std::vector<lock_record> seen;
        std::vector<node_vote> votes;
        std::size_t untold = 0;
        for (std::size_t node = 0; node < said->size(); ++node) {
          const result<lock_record>& one = (*said)[node];
          votes.push_back(one && !one->votes.empty() ? one->votes.front() : node_vote{});
          votes.back().node = self->name_of(node);
          votes.back().trouble = one ? std::string() : one.error().detail();
          votes.back().avoided = self->avoided(node);
          const bool forgot = votes.back().quarantined && !votes.back().holder;
          untold += !one || forgot ? 1U : 0U;
          if (one) {
            seen.push_back(*one);
          }
        }
        lock_record lock = agreed(name, seen, said->size(), untold);
        lock.votes = std::move(votes);
        lock.foreign_lock = first_foreign_lock(seen);
        reply(std::move(lock));
      });
  for (std::size_t node = 0; node < nodes_->size(); ++node) {
    (*nodes_)[node]->inspect(name, [all, node](result<lock_record> r) { all->take(node, std::move(r)); });
  }
}

namespace {

/// Of all that the nodes list, the locks that a majority shows somebody to hold, or may do so, with each node's vote. `nobodys`: the votes of nodes that
/// have none for anybody.
std::vector<lock_record> held_by_majorities(const std::vector<result<std::vector<lock_record>>>& said,
                                            const std::vector<node_vote>& nobodys) {
  using locks = std::vector<lock_record>;
  std::map<lock_name, std::pair<locks, std::vector<node_vote>>> by_name;
  for (std::size_t node = 0; node < said.size(); ++node) {
    for (const lock_record& lock : said[node] ? *said[node] : locks{}) {
      auto& [records, votes] = by_name.try_emplace(lock.name, locks{}, nobodys).first->second;
      records.push_back(lock);
      if (!lock.holders.empty()) {
        votes[node].holder = lock.holders.front().version;
        votes[node].token = lock.holders.front().token;
      }
    }
  }
  const auto untold = static_cast<std::size_t>(
      std::count_if(said.begin(), said.end(), [](const result<locks>& one) { return !one; }));
  locks out;
  for (auto& [name, of_nodes] : by_name) {
    auto lock = agreed(name, of_nodes.first, said.size(), untold);
    if (!lock.holders.empty() || !lock.may_hold.empty()) {
      lock.votes = std::move(of_nodes.second);
      out.push_back(std::move(lock));
    }
  }
  return out;
}

}  // namespace

/// Those that are held, each by one whom a majority shows, and those of which that cannot be told.
void quorum::list(callback<void(result<std::vector<lock_record>>)> reply) {
  using locks = std::vector<lock_record>;
  if (alone()) {
    return nodes_->front()->list(std::move(reply));
  }
  const auto all = std::make_shared<looking<locks>>(
      nodes_->size(),
      [self = shared_from_this(), reply = std::move(reply)](result<std::vector<result<locks>>> said) mutable {
        if (!said) {
          return reply(said.error());
        }
        std::vector<node_vote> nobodys(said->size());
        for (std::size_t node = 0; node < said->size(); ++node) {
          const result<locks>& one = (*said)[node];
          nobodys[node].node = self->name_of(node);
          nobodys[node].trouble = one ? std::string() : one.error().detail();
          nobodys[node].avoided = self->avoided(node);
        }
        reply(held_by_majorities(*said, nobodys));
      });
  for (std::size_t node = 0; node < nodes_->size(); ++node) {
    (*nodes_)[node]->list([all, node](result<locks> r) { all->take(node, std::move(r)); });
  }
}

namespace {

/// Lists that every node is asked for, joined in the order of the nodes. One that cannot be asked is in it too, with the reason.
template <class T>
class gathering {
 public:
  gathering(std::size_t nodes, callback<void(result<std::vector<T>>)> reply)
      : lists_(nodes), left_(nodes), reply_(std::move(reply)) {}

  template <class Missing>
  void take(std::size_t node, result<std::vector<T>> r, Missing missing) {
    {
      const std::lock_guard lock(mutex_);
      if (r) {
        lists_[node] = std::move(*r);
        ++heard_;
      } else {
        lists_[node].push_back(missing(r.error()));
        why_.push_back(r.error());
      }
      if (--left_ > 0) {
        return;
      }
    }
    if (heard_ == 0) {
      return reply_(merged(why_.front().code(), why_));
    }
    std::vector<T> all;
    for (auto& list : lists_) {
      std::move(list.begin(), list.end(), std::back_inserter(all));
    }
    reply_(std::move(all));
  }

 private:
  std::mutex mutex_;
  std::vector<std::vector<T>> lists_;
  std::size_t left_;
  std::size_t heard_ = 0;
  std::vector<error> why_;
  callback<void(result<std::vector<T>>)> reply_;
};

}  // namespace

namespace {

constexpr std::string_view no_connection = "connection";

/// A minority that is away costs nothing yet; without a majority there are no locks.
void judge_absence(std::vector<finding>& found, std::size_t nodes) {
  const auto away = [](const finding& f) { return f.subject == no_connection; };
  const auto missing = static_cast<std::size_t>(std::count_if(found.begin(), found.end(), away));
  const bool enough = nodes - missing >= core::majority_of(nodes);
  for (finding& f : found) {
    if (away(f)) {
      f.verdict = enough ? verdict::warning : verdict::bad;
      f.reason += enough ? ". The others decide without it, as long as they are a majority"
                         : ". Too few are left to decide: " + std::to_string(core::majority_of(nodes)) +
                               " of " + std::to_string(nodes) + " must agree";
    }
  }
}

/// With `strict`, where too few remember for the others to be let in again.
void judge_memory(std::vector<quarantine_state>& servers) {
  const auto open = std::count_if(servers.begin(), servers.end(),
                                  [](const quarantine_state& s) { return s.reachable && !s.quarantined; });
  if (static_cast<std::size_t>(open) >= core::majority_of(servers.size())) {
    return;
  }
  for (quarantine_state& s : servers) {
    if (s.quarantined) {
      s.until_ordered = true;
      s.why += "; " + std::string(too_few_remember);
    }
  }
}

}  // namespace

void quorum::examine(callback<void(result<std::vector<finding>>)> reply) {
  if (alone()) {
    return nodes_->front()->examine(std::move(reply));
  }
  const auto all = std::make_shared<gathering<finding>>(
      nodes_->size(),
      [nodes = nodes_->size(), reply = std::move(reply)](result<std::vector<finding>> found) mutable {
        if (found) {
          judge_absence(*found, nodes);
        }
        reply(std::move(found));
      });
  for (std::size_t node = 0; node < nodes_->size(); ++node) {
    (*nodes_)[node]->examine([all, node, self = shared_from_this()](result<std::vector<finding>> r) {
      all->take(node, std::move(r), [&](const error& why) {
        return finding{.node = self->name_of(node),
                       .subject = std::string(no_connection),
                       .verdict = verdict::warning,
                       .value = "none",
                       .reason = why.detail()};
      });
    });
  }
}

void quorum::quarantine(callback<void(result<std::vector<quarantine_state>>)> reply) {
  if (alone() && !options_.strict) {
    return nodes_->front()->quarantine(std::move(reply));
  }
  const auto all = std::make_shared<gathering<quarantine_state>>(
      nodes_->size(), [strict = options_.strict,
                       reply = std::move(reply)](result<std::vector<quarantine_state>> servers) mutable {
        if (servers && strict) {
          judge_memory(*servers);
        }
        reply(std::move(servers));
      });
  for (std::size_t node = 0; node < nodes_->size(); ++node) {
    (*nodes_)[node]->quarantine(
        [all, node, self = shared_from_this()](result<std::vector<quarantine_state>> r) {
          if (r && !r->empty() && r->front().quarantined) {
            self->saw_quarantine(node, r->front().version);
          }
          all->take(node, std::move(r), [&](const error& why) {
            quarantine_state state;
            state.node = self->name_of(node);
            state.reachable = false;
            state.why = why.detail();
            return state;
          });
        });
  }
}

/// Each node has cursors of its own: ours is one of those, and in its lowest bits whose it is.
void quorum::sweep(std::uint64_t cursor, callback<void(result<sweep_step>)> reply) {
  if (alone()) {
    return nodes_->front()->sweep(cursor, std::move(reply));
  }
  const std::uint64_t node = cursor % nodes_->size();
  sweep_node(node, cursor / nodes_->size(), std::move(reply));
}

void quorum::sweep_node(std::size_t node, std::uint64_t cursor, callback<void(result<sweep_step>)> reply) {
  (*nodes_)[node]->sweep(
      cursor, [self = shared_from_this(), node, reply = std::move(reply)](result<sweep_step> r) mutable {
        const std::uint64_t nodes = self->nodes_->size();
        if (!r) {  // it is not there; the next one, next time
          r = sweep_step{};
        }
        const std::uint64_t most = std::numeric_limits<std::uint64_t>::max() / nodes - 1;
        if (r->cursor != 0 && r->cursor < most) {
          r->cursor = r->cursor * nodes + node;
        } else {
          r->cursor = (node + 1) % nodes;
        }
        reply(std::move(r));
      });
}

}  // namespace cremone::detail
