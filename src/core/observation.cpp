// SPDX-License-Identifier: Apache-2.0
#include "core/observation.hpp"

#include "core/validity.hpp"

namespace cremone::core {

instant observations::note(const lock_name& name, const hold_record& hold, instant now) {
  const key k{name, hold.version.owner};
  auto found = seen_.find(k);
  if (found == seen_.end()) {
    if (seen_.size() >= max_size) {
      seen_.erase(by_age_.front());
      by_age_.pop_front();
    }
    by_age_.push_back(k);
    found = seen_.emplace(k, sight{hold.version.seq, now, std::prev(by_age_.end())}).first;
  } else if (found->second.seq != hold.version.seq) {
    found->second.seq = hold.version.seq;  // it lives: start over
    found->second.first = now;
    by_age_.splice(by_age_.end(), by_age_, found->second.age);
  }
  return found->second.first + silence_of(hold.ttl, drift_ppm_);
}

void observations::forget(const lock_name& name) {
  if (seen_.empty()) {
    return;  // the usual case, without building a key
  }
  auto at = seen_.lower_bound(key{name, owner_id{}});
  while (at != seen_.end() && at->first.first == name) {
    by_age_.erase(at->second.age);
    at = seen_.erase(at);
  }
}

}  // namespace cremone::core
