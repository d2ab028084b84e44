// SPDX-License-Identifier: Apache-2.0
#include "engine/lookout.hpp"

#include "core/sighting.hpp"

#include <algorithm>
#include <cstring>
#include <exception>
#include <utility>
#include <vector>

namespace cremone::detail {

static_assert(core::complete_below == rejection::max_reported_holders);

lookout::lookout(const traits& store, std::unique_ptr<seen_notes> file)
    : table_(store.drift_ppm),
      file_(store.observed_takeover && !store.identity.empty() ? std::move(file) : nullptr),
      store_(store.identity) {}

void lookout::recall(const lock_name& name, std::span<const hold_record> holders, instant now) {
  if (!file_) {
    return;
  }
  std::vector<std::pair<hold_version, instant>> found;
  {
    const std::lock_guard lock(file_mutex_);
    const auto notes = file_->look();
    const core::vantage here{file_->clock(), store_};
    for (const hold_record& holder : holders) {
      if (const auto first = core::first_sight(notes, here, name, holder.version, now)) {
        found.emplace_back(holder.version, *first);
      }
    }
  }
  if (!found.empty()) {
    with_table([&](core::observations& table) {
      for (const auto& [version, first] : found) {
        table.restore(name, version, first, now);
      }
    });
  }
}

void lookout::leave(const lock_name& name, instant now, bool at_once) {
  if (!file_) {
    return;
  }
  const auto seen = with_table([&](const core::observations& table) { return table.seen_of(name); });
  const std::lock_guard lock(file_mutex_);
  const bool news = core::adds_to(file_->known(), {file_->clock(), store_}, seen);
  if (news && unwritten_.size() < core::max_sightings) {
    unwritten_.insert(name);
  }
  const bool soon_enough = at_once || last_try_ == instant::min() || now >= last_try_ + least_pause;
  if (!unwritten_.empty() && soon_enough && !closing_) {
    write(now);
  }
}

namespace {

// Notes that are about no hold have names that no lock can have, and what they say in the place of the owner.
const lock_name open_note("\x01open");
const lock_name sweep_note("\x01sweep");

}  // namespace

/// The only note of this name, from now on.
void lookout::keep_note(const lock_name& name, const owner_id& content, instant now, bool at_once) {
  hold_record note;
  note.version = {content, 0};
  with_table([&](core::observations& table) {
    table.forget(name);
    (void)table.note(name, note, now);
  });
  leave(name, now, at_once);
}

void lookout::saw_open(instant now) {
  const bool known = ever_open();
  {
    const std::lock_guard lock(file_mutex_);
    open_ = true;
  }
  if (!known) {
    keep_note(open_note, owner_id{}, now, true);  // this process may be killed the next moment
  }
}

bool lookout::ever_open() {
  const std::lock_guard lock(file_mutex_);
  if (open_ || !file_) {
    return open_;
  }
  const auto notes = file_->look();
  return std::any_of(notes.begin(), notes.end(), [&](const core::sighting& note) {  // on whatever clock
    return note.from.store == store_ && note.name == open_note;
  });
}

bool lookout::cannot_keep_notes() {
  const std::lock_guard lock(file_mutex_);
  return file_ && failed_;
}

std::uint64_t lookout::sweep_cursor() {
  const std::lock_guard lock(file_mutex_);
  std::uint64_t cursor = 0;
  if (file_) {
    instant latest = instant::min();
    for (const core::sighting& note : file_->look()) {
      if (note.from == core::vantage{file_->clock(), store_} && note.name == sweep_note &&
          note.first > latest) {
        latest = note.first;
        std::memcpy(&cursor, note.version.owner.raw().data(), sizeof cursor);
      }
    }
  }
  return cursor;
}

void lookout::set_sweep_cursor(std::uint64_t cursor, instant now) {
  owner_id::bytes content{};
  std::memcpy(content.data(), &cursor, sizeof cursor);
  keep_note(sweep_note, owner_id(content), now, false);
}

/// With the file's mutex held.
void lookout::write(instant now) {
  last_try_ = now;
  std::vector<core::observations::seen_hold> seen;
  with_table([&](const core::observations& table) {
    for (const lock_name& name : unwritten_) {
      const auto holds = table.seen_of(name);
      seen.insert(seen.end(), holds.begin(), holds.end());
    }
  });
  failed_ = !file_->add({file_->clock(), store_}, seen, now);
  if (!failed_) {
    unwritten_.clear();
  }
}

void lookout::closing() noexcept {
  const std::lock_guard lock(file_mutex_);
  closing_ = true;
}

void lookout::leave_the_rest(instant now) noexcept {
  try {
    const std::lock_guard lock(file_mutex_);
    if (file_ && !unwritten_.empty()) {
      write(now);
    }
  } catch (const std::exception&) {
    // Out of memory at the very end: the next process begins to watch anew.
  }
}

}  // namespace cremone::detail
