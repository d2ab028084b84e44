// SPDX-License-Identifier: Apache-2.0
//
// What is known of locks that live on several nodes: a holder is one whom a majority of the nodes shows.
#include "engine/quorum/quorum.hpp"

#include "core/quorum.hpp"

#include <algorithm>
#include <map>
#include <mutex>
#include <utility>

namespace cremone::detail {

namespace {

/// Of the records of one lock, that which a majority of `nodes` agrees on.
lock_record agreed(const lock_name& name, const std::vector<lock_record>& seen, std::size_t nodes) {
  lock_record out;
  out.name = name;
  std::vector<std::pair<hold_record, std::size_t>> holders;
  for (const lock_record& one : seen) {
    out.last = std::max(out.last, one.last);
    for (const hold_record& h : one.holders) {
      const auto known = std::find_if(holders.begin(), holders.end(), [&](const auto& counted) {
        return counted.first.version.owner == h.version.owner;
      });
      if (known == holders.end()) {
        holders.emplace_back(h, 1);
      } else {
        ++known->second;
      }
    }
  }
  for (auto& [h, votes] : holders) {
    if (votes >= core::majority_of(nodes)) {
      out.holders.push_back(std::move(h));
    }
  }
  return out;
}

}  // namespace

/// One question about records on its way to several nodes.
template <class Record>
class quorum::looking {
 public:
  looking(std::size_t nodes, callback<void(std::vector<Record>)> all, callback<void(error)> too_few)
      : nodes_(nodes), all_(std::move(all)), too_few_(std::move(too_few)) {}

  /// Waits for every node: whoever asks wants to see as much as there is.
  void take(result<Record> r) {
    {
      const std::lock_guard lock(mutex_);
      ++in_;
      if (r) {
        seen_.push_back(std::move(*r));
      } else {
        why_ = r.error();
      }
      if (in_ < nodes_) {
        return;
      }
    }
    if (seen_.size() < core::majority_of(nodes_)) {
      return too_few_(why_);
    }
    all_(std::move(seen_));
  }

 private:
  const std::size_t nodes_;
  std::mutex mutex_;
  std::size_t in_ = 0;
  std::vector<Record> seen_;
  error why_;
  callback<void(std::vector<Record>)> all_;
  callback<void(error)> too_few_;
};

void quorum::inspect(const lock_name& name, callback<void(result<lock_record>)> reply) {
  if (nodes_->size() == 1) {
    return nodes_->front()->inspect(name, std::move(reply));
  }
  const auto to = std::make_shared<callback<void(result<lock_record>)>>(std::move(reply));
  const auto all = std::make_shared<looking<lock_record>>(
      nodes_->size(),
      [name, to, nodes = nodes_->size()](const std::vector<lock_record>& seen) {
        (*to)(agreed(name, seen, nodes));
      },
      [to](error why) { (*to)(std::move(why)); });
  for (const auto& node : *nodes_) {
    node->inspect(name, [all](result<lock_record> r) { all->take(std::move(r)); });
  }
}

void quorum::list(callback<void(result<std::vector<lock_record>>)> reply) {
  using locks = std::vector<lock_record>;
  if (nodes_->size() == 1) {
    return nodes_->front()->list(std::move(reply));
  }
  const auto to = std::make_shared<callback<void(result<locks>)>>(std::move(reply));
  const auto merge = [to, nodes = nodes_->size()](const std::vector<locks>& seen) {
    std::map<lock_name, locks> by_name;
    for (const locks& one : seen) {
      for (const lock_record& lock : one) {
        by_name[lock.name].push_back(lock);
      }
    }
    locks out;
    for (const auto& [name, records] : by_name) {
      if (auto lock = agreed(name, records, nodes); !lock.holders.empty()) {
        out.push_back(std::move(lock));
      }
    }
    (*to)(std::move(out));
  };
  const auto all =
      std::make_shared<looking<locks>>(nodes_->size(), merge, [to](error why) { (*to)(std::move(why)); });
  for (const auto& node : *nodes_) {
    node->list([all](result<locks> r) { all->take(std::move(r)); });
  }
}

/// Asks every node for a list, and makes one of them.
template <class T, class Ask>
void quorum::gather(callback<void(result<std::vector<T>>)> reply, Ask ask) {
  const auto to = std::make_shared<callback<void(result<std::vector<T>>)>>(std::move(reply));
  const auto join = [to](const std::vector<std::vector<T>>& lists) {
    std::vector<T> all;
    for (const auto& list : lists) {
      all.insert(all.end(), list.begin(), list.end());
    }
    (*to)(std::move(all));
  };
  const auto all = std::make_shared<looking<std::vector<T>>>(nodes_->size(), join,
                                                             [to](error why) { (*to)(std::move(why)); });
  for (const auto& node : *nodes_) {
    ask(*node, [all](result<std::vector<T>> r) { all->take(std::move(r)); });
  }
}

void quorum::examine(callback<void(result<std::vector<finding>>)> reply) {
  gather(std::move(reply), [](backend& node, auto answer) { node.examine(std::move(answer)); });
}

void quorum::quarantine(callback<void(result<std::vector<quarantine_state>>)> reply) {
  gather(std::move(reply), [](backend& node, auto answer) { node.quarantine(std::move(answer)); });
}

void quorum::sweep(std::uint64_t cursor, callback<void(result<sweep_step>)> reply) {
  if (nodes_->size() == 1) {
    return nodes_->front()->sweep(cursor, std::move(reply));
  }
  reply(sweep_step{});  // cursors are of one node each; their holds expire by themselves
}

}  // namespace cremone::detail
