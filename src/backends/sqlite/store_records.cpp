// SPDX-License-Identifier: Apache-2.0
//
// The store for those who ask: who holds, who waits; and what is forgotten.
#include "backends/sqlite/statements.hpp"

namespace cremone::sqlite {

namespace {

/// A lock that was not used for this long is forgotten, and with it its tombstones: nothing of those owners can be
/// under way any more.
constexpr std::chrono::minutes idle_for{1};

constexpr std::int64_t sweep_step = 128;

}  // namespace

lock_record store::inspect(const lock_name& name, const store_time& time) {
  const std::lock_guard lock(database_.mutex());
  return describe(name, time);
}

std::vector<lock_record> store::list(const store_time& time) {
  const std::lock_guard lock(database_.mutex());
  std::vector<lock_name> names;
  {
    rows found = database_.query(sql_->list);
    while (found.next()) {
      names.emplace_back(found.text(0));
    }
  }
  std::vector<lock_record> all;
  for (const lock_name& name : names) {
    if (lock_record seen = describe(name, time); !seen.holders.empty() || !seen.waiters.empty()) {
      all.push_back(std::move(seen));
    }
  }
  return all;
}

lock_record store::describe(const lock_name& name, const store_time& time) {
  lock_record seen{.name = name, .holders = {}, .waiters = {}, .last = {}};
  if (const auto found = look(name, {})) {
    seen.last = fence_token(static_cast<std::uint64_t>(found->token));
    if (found->holder &&
        found->holder->liveness != liveness::dead) {  // the dead hold nothing: the next who asks gets it
      seen.holders.push_back(holder_at(*found, time));
    }
  }
  seen.waiters = queue_of(name, time);
  return seen;
}

std::vector<waiter_record> store::queue_of(const lock_name& name, const store_time& time) {
  std::vector<waiter_record> queue;
  rows found = database_.query(sql_->queue, name.str());
  while (found.next()) {
    const std::int64_t left = found.number(9) - ticks(time.now);
    const bool silent = left <= 0 || left > (settings_.waiter_lease + turn_may_take).count();
    if (!silent && !gone(live_->probe(found.number(7), found.blob(8)))) {
      queue.push_back({owner_in(found.blob(0)), mode::exclusive, static_cast<std::uint64_t>(found.number(1)),
                       owner_from(found, 2)});
    }
  }
  return queue;
}

/// What a step of the sweep has found.
struct store::sweepings {
  struct dead_hold {
    std::string name;
    owner_id owner;
    std::int64_t seq;
  };
  std::string from;
  std::string to;  // empty: the end was reached, next time from the beginning
  std::vector<std::string> idle;
  std::vector<dead_hold> dead;
  std::int64_t highest = 0;  // token among the idle

  [[nodiscard]] bool nothing() const noexcept { return idle.empty() && dead.empty() && to == from; }
};

store::sweepings store::look_for_idle(std::int64_t before, std::int64_t ahead) {
  sweepings s;
  {
    rows at = database_.query(sql_->swept_to);
    s.from = at.next() ? std::string(at.text(0)) : std::string();
  }
  std::int64_t looked_at = 0;
  rows found = database_.query(sql_->sweep, s.from, before, ahead, sweep_step);
  while (found.next()) {
    ++looked_at;
    s.to = found.text(0);
    if (found.number(2) != 0) {
      s.idle.push_back(s.to);
      s.highest = std::max(s.highest, found.number(1));
    } else if (!found.is_null(3) && live_->probe(found.number(5), found.blob(6)) == liveness::dead) {
      s.dead.push_back({s.to, owner_in(found.blob(3)), found.number(4)});
    }
  }
  if (looked_at < sweep_step) {
    s.to.clear();
  }
  return s;
}

void store::sweep(const store_time& time) {
  const std::lock_guard lock(database_.mutex());
  const std::int64_t now = ticks(time.now);
  const std::int64_t before = now - std::chrono::nanoseconds(idle_for).count();
  const std::int64_t ahead = now + turn_may_take.count();
  if (look_for_idle(before, ahead).nothing()) {
    return;  // mostly; and nobody had to wait for us
  }
  transaction step(database_);
  const sweepings s = look_for_idle(before, ahead);  // again, now that nobody else writes
  for (const std::string& name : s.idle) {
    database_.run(sql_->forget, name, before, ahead);
  }
  for (const auto& d : s.dead) {  // nobody asks for it any more; idle from now on, and forgotten later
    database_.run(sql_->evict, d.name, d.owner.raw(), now, d.seq);
  }
  // Tokens of a name that comes back must be higher than those that it had.
  database_.run(sql_->swept, s.to, s.highest);
  step.commit();
}

}  // namespace cremone::sqlite
