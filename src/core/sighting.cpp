// SPDX-License-Identifier: Apache-2.0
//
// A line: clock, store, name, owner, seq or seq/life, first (ns), with one blank between. What is not a plain printable character
// is percent-encoded, so that no name can break a line.
#include "core/sighting.hpp"

#include "base/reading.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

namespace cremone::core {

namespace {

constexpr std::string_view hex_digits = "0123456789abcdef";
constexpr std::size_t fields_per_line = 6;

void put(std::string& out, std::string_view field) {
  for (const char c : field) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte > 0x20 && byte < 0x7f && c != '%') {
      out += c;
    } else {
      out += '%';
      out += hex_digits[byte / 16U];
      out += hex_digits[byte % 16U];
    }
  }
}

std::optional<std::string> text_of(std::string_view field) {
  std::string out;
  for (std::size_t i = 0; i < field.size(); ++i) {
    if (field[i] != '%') {
      out += field[i];
      continue;
    }
    const auto byte = whole_number<std::uint8_t>(field.substr(i + 1, 2), 16);
    if (!byte || i + 2 >= field.size()) {
      return std::nullopt;
    }
    out += static_cast<char>(*byte);
    i += 2;
  }
  return out.empty() ? std::nullopt : std::optional(std::move(out));
}

std::optional<owner_id> owner_of(std::string_view field) {
  owner_id::bytes raw{};
  if (field.size() != raw.size() * 2) {
    return std::nullopt;
  }
  for (std::size_t i = 0; i < raw.size(); ++i) {
    const auto byte = whole_number<std::uint8_t>(field.substr(2 * i, 2), 16);
    if (!byte) {
      return std::nullopt;
    }
    raw[i] = *byte;
  }
  return owner_id(raw);
}

std::optional<sighting> sighting_of(std::string_view line) {
  std::array<std::string_view, fields_per_line> field;
  for (std::size_t i = 0; i < fields_per_line; ++i) {
    const auto end = std::min(line.find(' '), line.size());
    field[i] = line.substr(0, end);
    const bool last = i + 1 == fields_per_line;
    if (last != (end == line.size())) {
      return std::nullopt;  // too few or too many
    }
    line.remove_prefix(last ? end : end + 1);
  }
  auto clock = text_of(field[0]);
  auto store = text_of(field[1]);
  auto name = text_of(field[2]);
  const auto owner = owner_of(field[3]);
  const bool tells_life = field[4].find('/') != std::string_view::npos;
  const auto seq = whole_number<std::uint64_t>(cut(field[4], '/'));
  const auto life = tells_life ? whole_number<std::uint64_t>(field[4]) : std::optional<std::uint64_t>(0);
  const auto first = whole_number<std::int64_t>(field[5]);
  if (!clock || !store || !name || !owner || !seq || !life || !first ||
      *first < 0) {  // no clock of ours goes below zero
    return std::nullopt;
  }
  return sighting{{std::move(*clock), std::move(*store)},
                  lock_name(std::move(*name)),
                  {*owner, *seq, *life},
                  instant(std::chrono::nanoseconds(*first))};
}

/// Another process may have read the clock a moment after us. What is further ahead than this was written by nobody.
constexpr std::chrono::seconds ahead_at_most{10};

seen_holds of_lock(seen_holds all, const lock_name& name) {
  const auto before = [](const auto& seen, const lock_name& n) { return seen.name < n; };
  const auto begin = std::lower_bound(all.begin(), all.end(), name, before);
  const auto end = std::find_if(begin, all.end(), [&](const auto& seen) { return seen.name != name; });
  return {begin, end};
}

/// Of the same life: each of several servers has one of its own, and shows a version of its own.
const observations::seen_hold* find(seen_holds of_one_lock, const hold_version& version) {
  const auto found = std::find_if(of_one_lock.begin(), of_one_lock.end(), [&](const auto& seen) {
    return seen.version.owner == version.owner && seen.version.life == version.life;
  });
  return found == of_one_lock.end() ? nullptr : &*found;
}

/// Its name is one that no lock can have.
bool about_store(const sighting& s) { return s.name.str().starts_with('\x01'); }

/// Is this note over, now that we have seen what we have seen of its lock?
bool is_over(const sighting& note, seen_holds ours) {
  const seen_holds lock = of_lock(ours, note.name);
  if (const auto* const mine = find(lock, note.version)) {
    return mine->version.seq >= note.version.seq;  // numbers only grow; of the same one, ours goes in
  }
  // We saw who was there after that, and it was not among them. A full list may have left it out.
  return !lock.empty() && lock.size() < complete_below &&
         std::any_of(lock.begin(), lock.end(), [&](const auto& mine) {
           return mine.version.life == note.version.life && note.first <= mine.latest;
         });
}

/// What of ours is to go in: not what somebody has seen in a newer version; and since when the first of all saw it.
std::vector<sighting> news(std::span<const sighting> kept, const vantage& from, seen_holds ours) {
  std::vector<sighting> fresh;
  for (const auto& mine : ours) {
    fresh.push_back({from, mine.name, mine.version, mine.first});
  }
  std::vector<bool> outdated(ours.size(), false);
  for (const sighting& note : kept) {
    if (note.from != from) {
      continue;
    }
    if (const auto* const mine = find(of_lock(ours, note.name), note.version)) {
      const auto i = static_cast<std::size_t>(mine - ours.data());
      outdated[i] = outdated[i] || note.version.seq > mine->version.seq;
      if (note.version == mine->version) {
        fresh[i].first = std::min(fresh[i].first, note.first);
      }
    }
  }
  std::vector<sighting> out;
  for (std::size_t i = 0; i < fresh.size(); ++i) {
    if (!outdated[i]) {
      out.push_back(std::move(fresh[i]));
    }
  }
  return out;
}

}  // namespace

std::string encode(std::span<const sighting> all) {
  std::string out;
  for (const sighting& s : all) {
    put(out, s.from.clock);
    out += ' ';
    put(out, s.from.store);
    out += ' ';
    put(out, s.name.str());
    out += ' ' + s.version.owner.hex() + ' ' + std::to_string(s.version.seq) +
           (s.version.life == 0 ? "" : "/" + std::to_string(s.version.life)) + ' ' +
           std::to_string(s.first.time_since_epoch().count()) + '\n';
  }
  return out;
}

std::vector<sighting> decode(std::string_view text) {
  std::vector<sighting> all;
  while (!text.empty() && all.size() < max_sightings) {
    const auto end = text.find('\n');
    if (end == std::string_view::npos) {
      break;  // cut short, perhaps in the middle of a number
    }
    if (auto s = sighting_of(text.substr(0, end))) {
      all.push_back(std::move(*s));
    }
    text.remove_prefix(end + 1);
  }
  return all;
}

std::optional<instant> first_sight(std::span<const sighting> all, const vantage& from, const lock_name& name,
                                   const hold_version& version, instant now) {
  std::optional<instant> earliest;
  for (const sighting& s : all) {
    if (s.version == version && s.name == name && s.from == from && s.first < now) {
      earliest = std::min(earliest.value_or(s.first), s.first);
    }
  }
  return earliest;
}

bool adds_to(std::span<const sighting> all, const vantage& from, seen_holds ours) {
  return std::any_of(ours.begin(), ours.end(), [&](const observations::seen_hold& mine) {
    return std::none_of(all.begin(), all.end(), [&](const sighting& s) {
      return s.version == mine.version && s.name == mine.name && s.from == from && s.first <= mine.first;
    });
  });
}

std::vector<sighting> merge(std::vector<sighting> kept, const vantage& from, seen_holds ours, instant now) {
  std::vector<sighting> fresh = news(kept, from, ours);
  std::erase_if(kept, [&](const sighting& s) {
    const bool nonsense = s.from.clock == from.clock && s.first > now + ahead_at_most;
    const bool forgotten = !about_store(s) && s.from.clock == from.clock && s.first + sighting_kept_for < now;
    return nonsense || forgotten || (s.from == from && is_over(s, ours));
  });
  kept.insert(kept.end(), std::make_move_iterator(fresh.begin()), std::make_move_iterator(fresh.end()));
  if (kept.size() > max_sightings) {
    // What is noted about a store, and not about one of its holds, stays: there is little of it, and it cannot be seen again.
    std::stable_partition(kept.begin(), kept.end(), [](const sighting& s) { return !about_store(s); });
    kept.erase(kept.begin(), std::prev(kept.end(), max_sightings));
  }
  return kept;
}

}  // namespace cremone::core
