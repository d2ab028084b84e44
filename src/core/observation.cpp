// SPDX-License-Identifier: Apache-2.0
#include "core/observation.hpp"

#include "core/validity.hpp"

namespace cremone::core {

instant observations::note(const lock_name& name, const hold_record& hold, instant now) {
  const key k{name, hold.version.owner};
  auto found = seen_.find(k);
  const auto silence = silence_of(hold.ttl, drift_ppm_);
  if (found == seen_.end()) {
    if (!make_room(now)) {
      return now + silence;  // as if seen for the first time; it will be, when there is room
    }
    asked_.push_back(k);
    found = seen_.emplace(k, sight{hold.version.seq, now, now, std::prev(asked_.end())}).first;
  } else if (found->second.seq != hold.version.seq) {
    found->second.seq = hold.version.seq;  // it lives: start over
    found->second.first = now;
  }
  found->second.latest = now;
  asked_.splice(asked_.end(), asked_, found->second.turn);
  return found->second.first + silence;
}

bool observations::make_room(instant now) {
  if (seen_.size() < max_size) {
    return true;
  }
  const auto longest = seen_.find(asked_.front());
  if (now < longest->second.latest + unwatched_after) {
    return false;
  }
  seen_.erase(longest);
  asked_.pop_front();
  return true;
}

void observations::forget(const lock_name& name) {
  if (seen_.empty()) {
    return;  // the usual case, without building a key
  }
  auto at = seen_.lower_bound(key{name, owner_id{}});
  while (at != seen_.end() && at->first.first == name) {
    asked_.erase(at->second.turn);
    at = seen_.erase(at);
  }
}

}  // namespace cremone::core
