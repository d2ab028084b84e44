// SPDX-License-Identifier: Apache-2.0
#include "backends/memory/backend.hpp"

#include "base/process.hpp"

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>

namespace cremone::memory {

traits memory_backend::describe() const {
  traits t;
  t.store = shown_;
  t.answers_inline = true;
  t.fifo = true;
  t.hints = true;
  t.observed_takeover = true;
  t.claim_time = store_->limits().claim_time;
  return t;
}

void memory_backend::try_acquire(const acquire_request& request, callback<void(acquire_answer)> reply) {
  if (closed_) {
    rejection no;
    no.why = closed_error();
    return reply(std::move(no));
  }
  reply(store_->try_acquire(request, time()));
}

void memory_backend::renew(std::span<const renewal> items, callback<void(std::vector<answer>)> reply) {
  std::vector<answer> answers;
  answers.reserve(items.size());
  for (const renewal& item : items) {
    answers.push_back(closed_ ? answer(refused{closed_error()}) : store_->renew(item, time()));
  }
  reply(std::move(answers));
}

void memory_backend::release(const release_request& request, callback<void(answer)> reply) {
  reply(closed_ ? answer(refused{closed_error()}) : store_->release(request, time()));
}

void memory_backend::evict(const lock_name& name, const hold_version& version, callback<void(answer)> reply) {
  reply(closed_ ? answer(refused{closed_error()}) : store_->evict(name, version, time()));
}

void memory_backend::force(const lock_name& name, const owner_id& holder, callback<void(answer)> reply) {
  reply(closed_ ? answer(refused{closed_error()}) : store_->force(name, holder, time()));
}

void memory_backend::inspect(const lock_name& name, callback<void(result<lock_record>)> reply) {
  if (closed_) {
    return reply(closed_error());
  }
  reply(store_->inspect(name, time()));
}

void memory_backend::list(callback<void(result<std::vector<lock_record>>)> reply) {
  if (closed_) {
    return reply(closed_error());
  }
  reply(store_->list(time()));
}

void memory_backend::examine(callback<void(result<std::vector<finding>>)> reply) {
  if (closed_) {
    return reply(closed_error());
  }
  reply(std::vector<finding>{
      {shown_, "memory", verdict::good, "of this process",
       "nothing can go wrong with it; it excludes nobody outside, and lives and dies with "
       "this process"}});
}

namespace {

/// The stores of one process, by name.
struct registry {
  struct lodging {
    std::unique_ptr<store> kept;
    std::size_t users = 0;
  };
  using lodgings = std::map<std::string, lodging>;

  const std::uint64_t process = process_stamp();
  const registry* inherited = nullptr;  // the parent's, kept reachable for leak checkers
  std::mutex mutex;
  lodgings stores;
  fence_token highest;  // of the stores that are gone
};

void leave(registry& r, registry::lodgings::iterator at) {
  if (r.process != process_stamp()) {
    return;  // a forked child's copy: the parent's mutex may be locked for ever here
  }
  std::unique_ptr<store> last;  // destroyed without the mutex
  const std::lock_guard lock(r.mutex);
  if (--at->second.users == 0) {
    last = std::move(at->second.kept);
    r.highest = std::max(r.highest, last->highest());
    r.stores.erase(at);
  }
}

/// The one global of the library: two clients of memory:// in a process must exclude each other, wherever in the
/// program they were opened. A forked child starts anew, and leaves its parent's alone: that mutex, and those of
/// the stores, may have been locked at the fork by a thread that the child does not have.
registry& this_process_registry() {
  static std::atomic<registry*> current{nullptr};
  registry* known = current.load();
  while (known == nullptr || known->process != process_stamp()) {
    auto fresh = std::make_unique<registry>();
    fresh->inherited = known;
    if (current.compare_exchange_strong(known, fresh.get())) {
      return *fresh.release();
    }
  }
  return *known;
}

}  // namespace

std::shared_ptr<store> shared_store(const std::string& name) {
  registry& r = this_process_registry();
  registry::lodgings::iterator at;
  {
    const std::lock_guard lock(r.mutex);
    at = r.stores.try_emplace(name).first;
    if (!at->second.kept) {
      at->second.kept = std::make_unique<store>(store_limits{}, r.highest);
    }
    ++at->second.users;
  }
  return {at->second.kept.get(), [&r, at](store*) { leave(r, at); }};
}

}  // namespace cremone::memory
