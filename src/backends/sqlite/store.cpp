// SPDX-License-Identifier: Apache-2.0
#include "backends/sqlite/store.hpp"

#include "backends/sqlite/statements.hpp"

#include <algorithm>
#include <limits>

namespace cremone::sqlite {

namespace {

/// How far tokens may run before the mark has to be raised, and synced to disk, again.
constexpr std::int64_t mark_ahead = 10'000'000;  // 10 s of microseconds

/// A clock that is centuries ahead must not use the numbers up.
std::int64_t sane(wall_time wall) noexcept {
  constexpr std::int64_t most = fence_token::limit - (std::int64_t{1} << 32U);
  const std::int64_t clock = wall.time_since_epoch().count();
  return clock > 0 && clock < most ? clock : 0;
}

std::int64_t since_of(const owner_data& who) noexcept { return who.since.time_since_epoch().count(); }

rejection turned_away(errc code, const char* detail) {
  rejection r;
  r.why = error(code, detail);
  return r;
}

}  // namespace

// ---- acquire

std::optional<grant> store::take(const acquire_request& request, const store_time& time) {
  const std::lock_guard lock(database_.mutex());
  database_.reserve_blocks();
  return take_free(request, time);
}

acquire_answer store::try_acquire(const acquire_request& request, const store_time& time, bool& freed) {
  const std::lock_guard lock(database_.mutex());
  for (int tries = 0; tries < 8;
       ++tries) {  // a second one after the mark was raised; more if the clock races ahead
    std::int64_t wanted = sane(time.wall);
    if (auto answer = contend(request, time, wanted, freed)) {
      return std::move(*answer);
    }
    raise_mark(wanted);
    if (const auto yes = take_free(request, time)) {
      return *yes;
    }
  }
  throw failure{error(errc::storage_error,
                      path_ + ": the lock can neither be taken nor refused; was the database edited?")};
}

std::optional<grant> store::take_free(const acquire_request& request, const store_time& time) {
  const owner_data& who = request.who;
  if (database_.run(sql_->acquire, request.name.str(), request.owner.raw(), sane(time.wall),
                    request.ttl.count(), who.host, who.pid, who.user, who.label, since_of(who), live_->life(),
                    live_->where(), ticks(time.now)) == 0) {
    return std::nullopt;
  }
  return told_grant();
}

grant store::told_grant() const noexcept {
  return {.token = fence_token(static_cast<std::uint64_t>(database_.told(0))),
          .ticket = static_cast<std::uint64_t>(database_.told(1)),
          .repeated = false};
}

/// The general case, in one transaction. Empty: the mark must be raised to `wanted` first.
std::optional<acquire_answer> store::contend(const acquire_request& request, const store_time& time,
                                             std::int64_t& wanted, bool& freed) {
  transaction step(database_);
  auto found = look(request.name, request.owner.raw());
  if (!found) {
    return std::nullopt;
  }
  row& lock = *found;
  if (lock.spent) {
    return turned_away(errc::not_held, "this owner id was released before");
  }
  if (lock.holder &&
      lock.holder->version.owner == request.owner) {  // no new version: that would be a renewal
    return grant{.token = lock.holder->token, .ticket = 0, .repeated = true};
  }
  const bool was_held = lock.holder.has_value();
  free_dead_holder(request.name, lock, time);
  drop_dead_waiters(request.name, request.owner, time);

  std::optional<std::int64_t> ticket;
  {
    rows mine = database_.query(sql_->my_place, request.name.str(), request.owner.raw());
    if (mine.next()) {
      ticket = mine.number(0);
    }
  }
  if (ticket) {
    keep_place(request, true, time);
  }
  const std::int64_t my_turn = ticket.value_or(std::numeric_limits<std::int64_t>::max());
  std::int64_t ahead = 0;
  {
    rows counted = database_.query(sql_->ahead, request.name.str(), my_turn);
    ahead = counted.next() ? counted.number(0) : 0;
  }
  // A free lock is kept for the head; after each claim time for one more. So a waiter that is stopped costs the others
  // its claim time and no more. A time far ahead is of an earlier boot, or of another time namespace.
  const std::int64_t free_for = ticks(time.now) - lock.freed;
  const std::int64_t claims = std::chrono::nanoseconds(settings_.claim_time).count() * ahead;
  if (!lock.holder && (ahead == 0 || free_for < -turn_may_take.count() || free_for >= claims)) {
    auto yes = give(request, my_turn, time);
    if (!yes) {
      wanted = std::max(wanted, lock.token + 2);  // one more than evict or a dead holder's end may have added
      return std::nullopt;
    }
    step.commit();
    return *yes;
  }
  rejection no;
  if (lock.holder) {
    no.holders.push_back(holder_at(lock, time));
  }
  if (request.join) {
    if (!ticket) {
      keep_place(request, false, time);
    }
    no.place = static_cast<std::size_t>(ahead);
  }
  freed = was_held && !lock.holder;  // it died, and it is somebody else's turn
  step.commit();
  return no;
}

std::optional<store::row> store::look(const lock_name& name, bytes owner) {
  rows found = database_.query(sql_->look, name.str(), owner);
  if (!found.next()) {
    return std::nullopt;
  }
  row r;
  r.token = found.number(0);
  r.freed = found.number(12);
  r.spent = found.number(13) != 0;
  if (!found.is_null(2)) {
    r.holder = hold_record{.version = {owner_in(found.blob(2)), static_cast<std::uint64_t>(found.number(3))},
                           .mode = mode::exclusive,
                           .ttl = std::chrono::milliseconds(found.number(4)),
                           .token = fence_token(static_cast<std::uint64_t>(r.token)),
                           .owner = owner_from(found, 5),
                           .liveness = live_->probe(found.number(10), found.blob(11))};
  }
  return r;
}

/// The holder, which must exist, with `renewed_ago`.
hold_record store::holder_at(const row& lock, const store_time& time) {
  hold_record shown = *lock.holder;
  if (lock.freed >= 0) {  // a program that is not ours may have written anything
    std::chrono::nanoseconds ago(ticks(time.now) - lock.freed);
    if (ago >= -turn_may_take) {  // renewed after we read the clock, while we waited for the file
      ago = std::max(ago, std::chrono::nanoseconds(0));
    }
    shown.renewed_ago = std::chrono::floor<std::chrono::milliseconds>(ago);
  }
  return shown;
}

void store::remove_holder(const lock_name& name, row& lock, const store_time& time) {
  const hold_version& v = lock.holder->version;
  database_.run(sql_->evict, name.str(), v.owner.raw(), ticks(time.now), static_cast<std::int64_t>(v.seq));
  lock.holder.reset();
  lock.freed = ticks(time.now);
}

void store::free_dead_holder(const lock_name& name, row& lock, const store_time& time) {
  if (lock.holder && lock.holder->liveness == liveness::dead) {
    remove_holder(name, lock, time);
  }
}

/// Those who have been silent for long, and of the others, from the head on, those whose process is gone.
void store::drop_dead_waiters(const lock_name& name, const owner_id& me, const store_time& time) {
  const auto lease = std::chrono::nanoseconds(settings_.waiter_lease).count();
  database_.run(sql_->drop_silent, name.str(), ticks(time.now),
                ticks(time.now) + lease + turn_may_take.count());
  while (true) {
    owner_id first;
    {
      rows at = database_.query(sql_->head, name.str());
      if (!at.next()) {
        return;
      }
      first = owner_in(at.blob(0));
      if (first == me || !gone(live_->probe(at.number(1), at.blob(2)))) {
        return;
      }
    }
    database_.run(sql_->leave, name.str(), first.raw());
  }
}

std::optional<grant> store::give(const acquire_request& request, std::int64_t ticket,
                                 const store_time& time) {
  const owner_data& who = request.who;
  if (database_.run(sql_->give, request.name.str(), request.owner.raw(), sane(time.wall), request.ttl.count(),
                    who.host, who.pid, who.user, who.label, since_of(who), live_->life(), live_->where(),
                    ticks(time.now)) == 0) {
    return std::nullopt;
  }
  grant yes = told_grant();
  database_.run(sql_->pass_over, request.name.str(), ticket);
  if (ticket != std::numeric_limits<std::int64_t>::max()) {
    yes.ticket = static_cast<std::uint64_t>(ticket);
    database_.run(sql_->leave, request.name.str(), request.owner.raw());
  }
  return yes;
}

/// A new waiter at the end, or the old place with a fresh lease.
void store::keep_place(const acquire_request& request, bool queued, const store_time& time) {
  const std::int64_t lease_end = ticks(time.now) + std::chrono::nanoseconds(settings_.waiter_lease).count();
  if (queued) {
    database_.run(sql_->stay, request.name.str(), request.owner.raw(), lease_end);
    return;
  }
  const owner_data& who = request.who;
  database_.run(sql_->join, request.name.str(), request.owner.raw(), lease_end, who.host, who.pid, who.user,
                who.label, since_of(who), live_->life(), live_->where());
  database_.run(sql_->count_ticket, request.name.str());
}

/// No token above the mark is ever given, and the mark is on disk before it counts: so tokens do not go back when the
/// machine loses power and SQLite, which does not sync each commit here, its last transactions. In two steps, because
/// one who is killed between write and sync leaves something that others find and take for synced: it must be no mark.
void store::raise_mark(std::int64_t wanted) {
  database_.execute("PRAGMA synchronous=FULL");
  bool raised = false;
  try {
    raised = database_.run(sql_->raise_mark, wanted, mark_ahead) != 0;
  } catch (...) {
    database_.execute("PRAGMA synchronous=NORMAL");
    throw;
  }
  database_.execute("PRAGMA synchronous=NORMAL");
  if (raised) {
    database_.run(sql_->set_mark, database_.told(0));
  }
}

// ---- renew, release, evict

bool store::make_room() {
  const std::lock_guard lock(database_.mutex());
  return database_.make_room();
}

std::vector<answer> store::renew(std::span<const renewal> items, const store_time& time) {
  const std::lock_guard lock(database_.mutex());
  std::vector<answer> answers;
  answers.reserve(items.size());
  transaction all(database_);
  for (const renewal& item : items) {
    const bool moved =
        database_.run(sql_->renew, item.name->str(), item.owner.raw(), static_cast<std::int64_t>(item.seq),
                      item.ttl.count(), ticks(time.now)) != 0;
    answers.push_back(moved ? answer(done{})
                            : refused{error(errc::lost, "it is not held by this owner any more")});
  }
  all.commit();
  return answers;
}

answer store::release(const release_request& request, const store_time& time, bool& freed) {
  const std::lock_guard lock(database_.mutex());
  if (database_.run(sql_->release, request.name.str(), request.owner.raw(), ticks(time.now)) != 0) {
    freed = database_.told(0) != 0;
    return done{};
  }
  transaction step(database_);
  const bool was_waiting = database_.run(sql_->leave, request.name.str(), request.owner.raw()) != 0;
  database_.run(sql_->bury, request.name.str(), request.owner.raw(), ticks(time.now));
  const auto found = look(request.name, request.owner.raw());
  freed = was_waiting && found && !found->holder;  // it may have been kept for the one who left
  step.commit();
  if (!was_waiting) {
    return refused{error(errc::not_held, "this owner neither holds the lock nor waits for it")};
  }
  return done{};
}

answer store::evict(const lock_name& name, const hold_version& version, const store_time& time, bool& freed) {
  const std::lock_guard lock(database_.mutex());
  transaction step(database_);
  auto found = look(name, version.owner.raw());
  if (!found || !found->holder || found->holder->version != version) {
    return refused{error(errc::not_held, "no hold has this version")};
  }
  if (found->holder->liveness == liveness::command_only) {
    return refused{
        error(errc::busy, "the process that took this lock is gone, and the command that it ran is not")};
  }
  remove_holder(name, *found, time);
  freed = true;
  step.commit();
  return done{};
}

answer store::force(const lock_name& name, const owner_id& holder, const store_time& time, bool& freed) {
  const std::lock_guard lock(database_.mutex());
  transaction step(database_);
  auto found = look(name, holder.raw());
  if (!found || !found->holder || found->holder->version.owner != holder) {
    return refused{error(errc::not_held, "it holds nothing")};
  }
  remove_holder(name, *found, time);
  freed = true;
  step.commit();
  return done{};
}

// ---- the queue

std::optional<next_in_line> store::next_waiter(const lock_name& name) {
  const std::lock_guard lock(database_.mutex());
  while (true) {
    next_in_line first;
    {
      rows at = database_.query(sql_->head, name.str());
      if (!at.next()) {
        return std::nullopt;
      }
      first = {at.number(1), owner_in(at.blob(0))};
      if (!gone(live_->probe(at.number(1), at.blob(2)))) {
        return first;
      }
    }
    database_.run(sql_->leave, name.str(), first.owner.raw());
  }
}

std::optional<std::int64_t> store::life_of_holder(const lock_name& name) {
  const std::lock_guard lock(database_.mutex());
  rows found = database_.query(sql_->look, name.str(), bytes{});
  if (!found.next() || found.is_null(2) ||
      live_->probe(found.number(10), found.blob(11)) == liveness::untold) {
    return std::nullopt;
  }
  return found.number(10);
}

void store::pass_over(const lock_name& name, const owner_id& owner) {
  const std::lock_guard lock(database_.mutex());
  database_.run(sql_->miss, name.str(), owner.raw());
}

}  // namespace cremone::sqlite
