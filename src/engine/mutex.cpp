// SPDX-License-Identifier: Apache-2.0
//
// The standard faces. Leases are kept per thread: should one be lost and another thread get the lock through the
// same object, then the first one's unlock() must not free what is the second one's.
#include <cremone/mutex.hpp>

#include "engine/acquire_op.hpp"
#include "engine/blocking.hpp"
#include "engine/engine.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <system_error>
#include <vector>

namespace cremone::detail {

namespace {

/// Never given twice, unlike a std::thread::id: a thread that ended without unlocking must not leave its lock to
/// whoever gets its id next.
std::uint64_t this_thread_number() noexcept {
  static std::atomic<std::uint64_t> last{0};
  thread_local const std::uint64_t mine = ++last;
  return mine;
}

}  // namespace

class thread_leases {
 public:
  struct entry {
    std::uint64_t thread;
    lease held;
    std::size_t depth = 1;
  };

  thread_leases(std::shared_ptr<engine> e, lock_name n, const acquire_options& o, bool again)
      : by(std::move(e)), name(std::move(n)), label(o.label), options(o), recursive(again) {
    options.label = label;
    options.wait = no_wait;               // each call has its own
    options.take_over_abandoned = false;  // a try_lock() answers at once
  }

  /// The calling thread's entry, if any; the mutex must be held.
  std::vector<entry>::iterator mine() {
    return std::find_if(entries.begin(), entries.end(),
                        [me = this_thread_number()](const entry& e) { return e.thread == me; });
  }

  /// False in a forked child, where even the mutex below may be locked for ever.
  [[nodiscard]] bool at_home() const noexcept { return by && by->at_home(); }

  const std::shared_ptr<engine> by;
  const lock_name name;
  const std::string label;
  acquire_options options;
  const bool recursive;

  std::mutex mutex;
  std::vector<entry> entries;
};

mutex_base::mutex_base(const client& locks, lock_name name, const acquire_options& options, reentry again)
    : leases_(std::make_unique<thread_leases>(access::engine_of(locks), std::move(name), options,
                                              again == reentry::counted)) {
  if (leases_->at_home()) {  // else each call says so
    if (auto fine = leases_->by->check(leases_->name, leases_->options); !fine) {
      throw lock_error(fine.error());
    }
  }
}

mutex_base::~mutex_base() {
  if (leases_->by && !leases_->by->at_home()) {
    leak_in_child(leases_->by);  // this may be the last to know it
  }
}

void mutex_base::lock() {
  if (!lock_within(forever)) {
    throw lock_error(error(errc::timed_out));  // not reached: an unbounded wait does not time out
  }
}

bool mutex_base::lock_within(std::chrono::milliseconds wait) {
  thread_leases& l = *leases_;
  if (!l.at_home()) {
    throw lock_error(l.by ? l.by->not_at_home() : error(errc::unsupported, "the client was never opened"));
  }
  {
    const std::lock_guard guard(l.mutex);
    if (const auto mine = l.mine(); mine != l.entries.end()) {
      if (!l.recursive) {
        if (wait == no_wait) {
          return false;
        }
        throw std::system_error(std::make_error_code(std::errc::resource_deadlock_would_occur),
                                "this thread holds lock '" + l.name.str() + "' already");
      }
      if (!mine->held.held()) {
        throw lock_error(error(errc::lost, "lock '" + l.name.str() + "' was lost and cannot be re-entered"));
      }
      ++mine->depth;
      return true;
    }
  }
  acquire_options options = l.options;
  options.wait = wait;
  const auto box = std::make_shared<mailbox<result<lease>>>();
  l.by->acquire(l.name, options, [box](result<lease> r) { box->put(std::move(r)); });
  result<lease> got = box->wait();
  if (!got) {
    if (got.error() == errc::busy || got.error() == errc::timed_out) {
      return false;
    }
    throw lock_error(got.error());
  }
  const std::lock_guard guard(l.mutex);
  l.entries.push_back({this_thread_number(), std::move(*got)});
  return true;
}

void mutex_base::unlock() noexcept {
  thread_leases& l = *leases_;
  if (!l.at_home()) {
    return;
  }
  lease given_back;  // released without the mutex held
  const std::lock_guard guard(l.mutex);
  const auto mine = l.mine();
  if (mine == l.entries.end() || --mine->depth > 0) {
    return;
  }
  given_back = std::move(mine->held);
  l.entries.erase(mine);
}

bool mutex_base::held() const noexcept {
  if (!leases_->at_home()) {
    return false;
  }
  const std::lock_guard guard(leases_->mutex);
  const auto mine = leases_->mine();
  return mine != leases_->entries.end() && mine->held.held();
}

fence_token mutex_base::token() const noexcept {
  if (!leases_->at_home()) {
    return {};
  }
  const std::lock_guard guard(leases_->mutex);
  const auto mine = leases_->mine();
  return mine == leases_->entries.end() ? fence_token{} : mine->held.token();
}

std::stop_token mutex_base::get_stop_token() const {
  if (!leases_->at_home()) {
    return {};
  }
  const std::lock_guard guard(leases_->mutex);
  const auto mine = leases_->mine();
  return mine == leases_->entries.end() ? std::stop_token{} : mine->held.get_stop_token();
}

}  // namespace cremone::detail
