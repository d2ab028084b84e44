// SPDX-License-Identifier: Apache-2.0
#include "core/observation.hpp"

#include "core/validity.hpp"

#include <algorithm>
#include <iterator>

namespace cremone::core {

const lock_name& quarantine_name() {
  static const lock_name name("\x01quarantine");  // no caller's name has control characters
  return name;
}

instant observations::note(const lock_name& name, const hold_record& hold, instant now) {
  const key k{name, hold.version.owner, hold.version.life};
  auto found = seen_.find(k);
  const auto silence = silence_of(hold.ttl, drift_ppm_);
  if (found == seen_.end()) {
    if (!make_room(now)) {
      return now + silence;  // as if seen for the first time; it will be, when there is room
    }
    silent_.push_back(k);
    found = seen_.emplace(k, sight{hold.version, now, now, false, std::prev(silent_.end())}).first;
  }
  sight& s = found->second;
  std::list<key>& from = s.lives ? living_ : silent_;
  if (s.version != hold.version) {
    s.version = hold.version;  // start over
    s.first = now;
    s.lives = true;
  }
  s.latest = now;
  std::list<key>& to = s.lives ? living_ : silent_;
  to.splice(to.end(), from, s.turn);
  return s.first + silence;
}

void observations::restore(const lock_name& name, const hold_version& version, instant first, instant now) {
  if (first >= now) {
    return;  // a clock that is not ours
  }
  const key k{name, version.owner, version.life};
  const auto found = seen_.find(k);
  if (found != seen_.end()) {
    sight& s = found->second;
    if (s.version == version) {
      s.first = std::min(s.first, first);
    } else if (s.version.seq < version.seq) {
      // Numbers only grow: it was renewed since we looked.
      living_.splice(living_.end(), s.lives ? living_ : silent_, s.turn);
      s = {version, first, now, true, s.turn};
    }
    return;
  }
  if (make_room(now)) {
    silent_.push_back(k);
    seen_.emplace(k, sight{version, first, now, false, std::prev(silent_.end())});
  }
}

std::optional<instant> observations::since(const lock_name& name, const hold_version& version) const {
  const auto found = seen_.find(key{name, version.owner, version.life});
  return found != seen_.end() && found->second.version == version ? std::optional(found->second.first)
                                                                  : std::nullopt;
}

std::vector<observations::seen_hold> observations::seen_of(const lock_name& name) const {
  std::vector<seen_hold> all;
  for (auto at = seen_.lower_bound(key{name, owner_id{}, 0});
       at != seen_.end() && std::get<0>(at->first) == name; ++at) {
    const sight& s = at->second;
    all.push_back({name, s.version, s.first, s.latest});
  }
  return all;
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
  auto at = seen_.lower_bound(key{name, owner_id{}, 0});
  while (at != seen_.end() && std::get<0>(at->first) == name) {
    const bool there = std::any_of(holders.begin(), holders.end(), [&](const hold_record& h) {
      return h.version.owner == at->second.version.owner && h.version.life == at->second.version.life;
    });
    at = there ? std::next(at) : erase(at);
  }
}

}  // namespace cremone::core
