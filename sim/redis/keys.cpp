// SPDX-License-Identifier: Apache-2.0
//
// Commands about keys, whatever stands there.
#include "sim/redis/access.hpp"
#include "sim/redis/commands.hpp"
#include "sim/redis/numbers.hpp"

#include "base/reading.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace cremone::sim {

namespace {

std::string_view type_of(const stored& s) {
  switch (s.value.index()) {
    case 0: return "string";
    case 1: return "hash";
    default: return "zset";
  }
}

void expire_all(request& r) {
  for (const std::string& key : r.server.keys.expire(r.now())) {
    note_change(r, key);
  }
}

/// Keys are scanned in the order of these, so that a cursor holds while keys come and go. FNV-1a; never 0, where a scan begins.
std::uint64_t place_of(std::string_view key) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const char c : key) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  }
  return (hash >> 16U) + 1;
}

struct scan_options {
  std::int64_t count = 10;
  std::optional<std::string_view> pattern{};
  std::optional<std::string> type{};
};

/// Nothing, and said so, when it makes no sense.
std::optional<scan_options> scan_options_of(request& r) {
  scan_options o;
  for (std::size_t i = 2; i < r.words.size(); i += 2) {
    const bool has_value = i + 1 < r.words.size();
    if (has_value && is_word(r.word(i), "count")) {
      if (!read_integer(r, i + 1, o.count)) {
        return std::nullopt;
      }
      if (o.count < 1) {
        append_error(r.out, syntax_error);
        return std::nullopt;
      }
    } else if (has_value && is_word(r.word(i), "match")) {
      o.pattern = r.word(i + 1);
    } else if (has_value && is_word(r.word(i), "type")) {
      o.type = lowered(r.word(i + 1));
    } else {
      append_error(r.out, syntax_error);
      return std::nullopt;
    }
  }
  return o;
}

}  // namespace

void run_del(request& r) {
  std::int64_t deleted = 0;
  for (const std::string_view key : r.words.subspan(1)) {
    if (find(r, key) != nullptr) {
      deleted += remove(r, key) ? 1 : 0;
    }
  }
  append_number(r.out, deleted);
}

void run_exists(request& r) {
  std::int64_t there = 0;
  for (const std::string_view key : r.words.subspan(1)) {
    there += find(r, key) != nullptr ? 1 : 0;
  }
  append_number(r.out, there);
}

void run_type(request& r) {
  const stored* const s = find(r, r.word(1));
  append_status(r.out, s == nullptr ? "none" : type_of(*s));
}

void run_dbsize(request& r) {
  expire_all(r);
  append_number(r.out, static_cast<std::int64_t>(r.server.keys.all().size()));
}

void run_flush(request& r) {
  if (r.words.size() > 2 ||
      (r.words.size() == 2 && !is_word(r.word(1), "sync") && !is_word(r.word(1), "async"))) {
    return append_error(r.out, syntax_error);
  }
  for (const auto& [key, s] : r.server.keys.all()) {
    note_change(r, key);
  }
  r.server.keys.clear();
  append_status(r.out, "OK");
}

void run_scan(request& r) {
  const auto cursor = whole_number<std::uint64_t>(r.word(1));
  if (!cursor) {
    return append_error(r.out, "ERR invalid cursor");
  }
  const auto o = scan_options_of(r);
  if (!o) {
    return;
  }
  expire_all(r);
  std::vector<std::pair<std::uint64_t, const keyspace::map::value_type*>> rest;
  for (const auto& entry : r.server.keys.all()) {
    if (const auto place = place_of(entry.first); place > *cursor) {
      rest.emplace_back(place, &entry);
    }
  }
  std::sort(rest.begin(), rest.end(), [](const auto& a, const auto& b) {
    return std::pair(a.first, std::string_view(a.second->first)) <
           std::pair(b.first, std::string_view(b.second->first));
  });
  auto end = rest.begin() + std::min(o->count, static_cast<std::int64_t>(rest.size()));
  while (end != rest.end() && end != rest.begin() && end->first == (end - 1)->first) {
    ++end;  // who share a place go together
  }
  const std::uint64_t next = end == rest.end() ? 0 : (end - 1)->first;
  std::erase_if(rest, [&, at = std::size_t{0},
                       size = static_cast<std::size_t>(end - rest.begin())](const auto& one) mutable {
    const auto& [key, s] = *one.second;
    return at++ >= size || (o->pattern && !glob_matches(*o->pattern, key)) ||
           (o->type && type_of(s) != *o->type);
  });
  append_array(r.out, 2);
  append_bulk(r.out, std::to_string(next));
  append_array(r.out, rest.size());
  for (const auto& one : rest) {
    append_bulk(r.out, one.second->first);
  }
}

}  // namespace cremone::sim
