// SPDX-License-Identifier: Apache-2.0
#include "core/observation.hpp"

#include "core/validity.hpp"

#include <algorithm>
#include <iterator>

namespace cremone::core {

instant observations::note(const lock_name& name, const hold_record& hold, instant now) {
  const key k{name, hold.version.owner};
  auto found = seen_.find(k);
  const auto silence = silence_of(hold.ttl, drift_ppm_);
  if (found == seen_.end()) {
    if (!make_room(now)) {
      return now + silence;  // as if seen for the first time; it will be, when there is room
    }
    silent_.push_back(k);
    found = seen_.emplace(k, sight{hold.version.seq, now, now, false, std::prev(silent_.end())}).first;
  }
  sight& s = found->second;
  std::list<key>& from = s.lives ? living_ : silent_;
  if (s.seq != hold.version.seq) {
    s.seq = hold.version.seq;  // start over
    s.first = now;
    s.lives = true;
  }
  s.latest = now;
  std::list<key>& to = s.lives ? living_ : silent_;
  to.splice(to.end(), from, s.turn);
  return s.first + silence;
}

bool observations::make_room(instant now) {
  if (seen_.size() < max_size) {
    return true;
  }
  const auto candidate = seen_.find(living_.empty() ? silent_.front() : living_.front());
  if (living_.empty() && now < candidate->second.latest + unwatched_after) {
    return false;
  }
  erase(candidate);
  return true;
}

observations::table::iterator observations::erase(table::iterator at) {
  (at->second.lives ? living_ : silent_).erase(at->second.turn);
  return seen_.erase(at);
}

void observations::forget_all_but(const lock_name& name, std::span<const hold_record> holders) {
  if (seen_.empty()) {
    return;  // the usual case, without building a key
  }
  auto at = seen_.lower_bound(key{name, owner_id{}});
  while (at != seen_.end() && at->first.first == name) {
    const bool there = std::any_of(holders.begin(), holders.end(),
                                   [&](const hold_record& h) { return h.version.owner == at->first.second; });
    at = there ? std::next(at) : erase(at);
  }
}

}  // namespace cremone::core
