// SPDX-License-Identifier: Apache-2.0
#include "engine/lookout.hpp"

#include "core/sighting.hpp"

#include <exception>
#include <utility>
#include <vector>

namespace cremone::detail {

static_assert(core::complete_below == rejection::max_reported_holders);

lookout::lookout(const traits& store, std::unique_ptr<seen_file> file)
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

void lookout::leave(const lock_name& name, instant now) {
  if (!file_) {
    return;
  }
  const auto seen = with_table([&](const core::observations& table) { return table.seen_of(name); });
  const std::lock_guard lock(file_mutex_);
  const bool news = core::adds_to(file_->known(), {file_->clock(), store_}, seen);
  if (news && unwritten_.size() < core::max_sightings) {
    unwritten_.insert(name);
  }
  const bool soon_enough = last_try_ == instant::min() || now >= last_try_ + least_pause;
  if (!unwritten_.empty() && soon_enough && !closing_) {
    write(now);
  }
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
  if (file_->add({file_->clock(), store_}, seen, now)) {
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
