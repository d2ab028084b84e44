// SPDX-License-Identifier: Apache-2.0
#include "backends/sqlite/backend.hpp"

#include "backends/sqlite/examination.hpp"
#include "base/url.hpp"

#include <utility>

namespace cremone::sqlite {

namespace {

/// After so many releases some idle locks are forgotten; a step looks at more names than can have been added.
constexpr std::uint32_t sweep_after = 64;

answer as_answer(const failure& f) { return f.in_doubt ? answer(unknown{f.why}) : answer(refused{f.why}); }

}  // namespace

result<std::shared_ptr<backend>> open_backend(const std::shared_ptr<env>& outside,
                                              const store_settings& settings) {
  try {
    return std::shared_ptr<backend>(std::make_shared<sqlite_backend>(outside, store::open(settings)));
  } catch (const failure& f) {
    return f.why;
  }
}

sqlite_backend::opened::opened(std::shared_ptr<store> s)
    : locks(std::move(s)), waiters(std::shared_ptr<const live_file>(locks, &locks->live())) {}

sqlite_backend::sqlite_backend(std::shared_ptr<env> e, std::shared_ptr<store> s)
    : env_(std::move(e)),
      settings_(s->settings()),
      shown_("sqlite://" + url_path(s->path())),
      identity_(s->identity()),
      open_(std::make_shared<opened>(std::move(s))) {}

sqlite_backend::~sqlite_backend() { close(); }

traits sqlite_backend::describe() const {
  traits t;
  t.store = shown_;
  t.identity = identity_;
  t.answers_inline = true;
  t.fifo = true;
  t.hints = true;
  t.observed_takeover = true;
  t.claim_time = settings_.claim_time;
  return t;
}

/// What is open, opening the file again if somebody had deleted it. Null once closed. Throws what opening throws.
std::shared_ptr<sqlite_backend::opened> sqlite_backend::current() {
  const std::lock_guard lock(mutex_);
  if (!open_ && !closed_) {
    // SQLite would take the old shared memory for that of the new file as long as the old one is open here.
    if (!deleted_.expired()) {
      throw failure{error(errc::unreachable, shown_ + " was deleted or replaced, and is being opened anew")};
    }
    open_ = std::make_shared<opened>(store::open(settings_));
  }
  return open_;
}

/// Somebody deleted the file, or what SQLite keeps beside it, and others may have made a new one: locks are taken there
/// from now on. Leases from the old one are not in the new one, and so are lost with their next renewal.
bool sqlite_backend::has_moved(std::shared_ptr<opened>& in) {
  if (!in->locks->moved()) {
    return false;
  }
  {
    const std::lock_guard lock(mutex_);
    if (open_ == in) {
      deleted_ = open_;
      open_.reset();
    }
  }
  in.reset();
  return true;
}

/// The file that has the name now.
std::shared_ptr<sqlite_backend::opened> sqlite_backend::current_file() {
  auto in = current();
  return in && has_moved(in) ? current() : in;
}

void sqlite_backend::try_acquire(const acquire_request& request, callback<void(acquire_answer)> reply) {
  reply(acquire(request));
}

acquire_answer sqlite_backend::acquire(const acquire_request& request) {
  rejection no;
  no.why = closed_error();
  try {
    const auto in = current_file();
    if (!in) {
      return no;
    }
    if (request.mode != mode::exclusive) {
      no.why = error(errc::unsupported, "sqlite:// knows exclusive locks only");
      return no;
    }
    if (const auto yes = with_room(*in->locks, [&] { return in->locks->take(request, time()); })) {
      return *yes;
    }
    return contend(*in, request);
  } catch (const failure& f) {
    if (f.in_doubt) {
      return unknown{f.why};
    }
    no.why = f.why;
    return no;
  }
}

/// The lock is not simply free.
acquire_answer sqlite_backend::contend(opened& in, const acquire_request& request) {
  if (request.join) {  // before the store may tell others of us
    in.waiters.add(request.name, request.owner, request.wake);
  }
  bool freed = false;
  acquire_answer answer = with_room(*in.locks, [&] { return in.locks->try_acquire(request, time(), freed); });
  const auto* refusal = std::get_if<rejection>(&answer);
  if (refusal == nullptr || !refusal->place) {
    in.waiters.remove(request.owner);
  } else if (*refusal->place == 0 && !refusal->holders.empty()) {
    in.waiters.watch(request.owner, in.locks->life_of_holder(request.name));
  }
  if (freed) {
    wake_next(in, request.name);
  }
  return answer;
}

void sqlite_backend::renew(std::span<const renewal> items, callback<void(std::vector<answer>)> reply) {
  try {
    auto in = current();
    if (!in) {
      return reply(std::vector<answer>(items.size(), refused{closed_error()}));
    }
    if (has_moved(in)) {
      return reply(std::vector<answer>(
          items.size(),
          refused{error(errc::lost, shown_ + " was deleted or replaced, and the lock with it")}));
    }
    reply(with_room(*in->locks, [&] { return in->locks->renew(items, time()); }));
  } catch (const failure& f) {
    reply(std::vector<answer>(items.size(), as_answer(f)));
  }
}

void sqlite_backend::release(const release_request& request, callback<void(answer)> reply) {
  try {
    const auto in = current();  // what was taken in a file that is gone now is lost in any case
    if (!in) {
      return reply(refused{closed_error()});
    }
    in->waiters.remove(request.owner);
    bool freed = false;
    answer a = with_room(*in->locks, [&] { return in->locks->release(request, time(), freed); });
    if (freed) {
      wake_next(*in, request.name);
    }
    if (releases_.fetch_add(1, std::memory_order_relaxed) % sweep_after == sweep_after - 1) {
      tidy(*in);
    }
    reply(std::move(a));
  } catch (const failure& f) {
    reply(as_answer(f));
  }
}

void sqlite_backend::evict(const lock_name& name, const hold_version& version, callback<void(answer)> reply) {
  reply(remove(name, [&](store& in, bool& freed) { return in.evict(name, version, time(), freed); }));
}

void sqlite_backend::force(const lock_name& name, const owner_id& holder, callback<void(answer)> reply) {
  reply(remove(name, [&](store& in, bool& freed) { return in.force(name, holder, time(), freed); }));
}

template <class Removal>
answer sqlite_backend::remove(const lock_name& name, Removal removal) {
  try {
    const auto in = current_file();
    if (!in) {
      return refused{closed_error()};
    }
    bool freed = false;
    answer a = with_room(*in->locks, [&] { return removal(*in->locks, freed); });
    if (freed) {
      wake_next(*in, name);
    }
    return a;
  } catch (const failure& f) {
    return as_answer(f);
  }
}

/// One of ours is told by this thread, which so makes its attempt; another process by its bell.
void sqlite_backend::wake_next(opened& in, const lock_name& name) noexcept {
  try {
    while (const auto next = in.locks->next_waiter(name)) {
      if (next->life != in.locks->live().life()) {
        return in.locks->live().ring(next->life, name.str());
      }
      if (const auto sink = in.waiters.find(next->owner)) {
        return sink->hint();
      }
      in.locks->pass_over(name, next->owner);
    }
  } catch (const failure&) {  // a hint that does not come; they ask again by themselves
  }
}

void sqlite_backend::inspect(const lock_name& name, callback<void(result<lock_record>)> reply) {
  try {
    const auto in = current_file();
    if (!in) {
      return reply(closed_error());
    }
    reply(in->locks->inspect(name, time()));
  } catch (const failure& f) {
    reply(f.why);
  }
}

void sqlite_backend::list(callback<void(result<std::vector<lock_record>>)> reply) {
  try {
    const auto in = current_file();
    if (!in) {
      return reply(closed_error());
    }
    reply(in->locks->list(time()));
  } catch (const failure& f) {
    reply(f.why);
  }
}

void sqlite_backend::examine(callback<void(result<std::vector<finding>>)> reply) {
  try {
    const auto in = current_file();
    if (!in) {
      return reply(closed_error());
    }
    reply(diagnose(look_at(*in->locks, env_->wall_now())));
  } catch (const failure& f) {
    reply(f.why);
  }
}

result<int> sqlite_backend::lifeline() {
  try {
    const auto in = current();
    return in ? in->locks->live().lifeline() : closed_error();
  } catch (const failure& f) {
    return f.why;
  }
}

void sqlite_backend::tidy(opened& in) noexcept {
  try {
    with_room(*in.locks, [&] { in.locks->sweep(time()); });
  } catch (const failure&) {  // another time
  }
}

void sqlite_backend::close() noexcept {
  std::shared_ptr<opened> last;
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    last = std::move(open_);
  }
  if (last && releases_ > 0) {
    tidy(*last);
  }
}

}  // namespace cremone::sqlite
