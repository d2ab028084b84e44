// SPDX-License-Identifier: Apache-2.0
//
// Commands about the end of a key.
#include "sim/redis/access.hpp"
#include "sim/redis/commands.hpp"

#include <string>

namespace cremone::sim {

namespace {

struct conditions {
  bool if_none = false;     // NX
  bool if_some = false;     // XX
  bool if_later = false;    // GT; no end is later than any
  bool if_earlier = false;  // LT
};

/// False, and said so, when they make no sense.
bool read_conditions(request& r, conditions& c) {
  for (std::size_t i = 3; i < r.words.size(); ++i) {
    const std::string_view word = r.word(i);
    bool* const which = is_word(word, "nx")   ? &c.if_none
                        : is_word(word, "xx") ? &c.if_some
                        : is_word(word, "gt") ? &c.if_later
                        : is_word(word, "lt") ? &c.if_earlier
                                              : nullptr;
    if (which == nullptr) {
      append_error(r.out, "ERR Unsupported option " + std::string(word));
      return false;
    }
    *which = true;
  }
  if (c.if_none && (c.if_some || c.if_later || c.if_earlier)) {
    append_error(r.out, "ERR NX and XX, GT or LT options at the same time are not compatible");
    return false;
  }
  if (c.if_later && c.if_earlier) {
    append_error(r.out, "ERR GT and LT options at the same time are not compatible");
    return false;
  }
  return true;
}

bool met(const conditions& c, const stored& s, wall_ms when) {
  return !(c.if_none && s.expiry) && !(c.if_some && !s.expiry) &&
         !(c.if_later && (!s.expiry || when <= *s.expiry)) &&
         !(c.if_earlier && s.expiry && when >= *s.expiry);
}

void set_end(request& r, std::string_view name, std::int64_t unit) {
  conditions c;
  std::int64_t n = 0;
  if (!read_conditions(r, c) || !read_integer(r, 2, n)) {
    return;
  }
  wall_ms when = 0;
  if (__builtin_mul_overflow(n, unit, &when) || __builtin_add_overflow(when, r.now(), &when)) {
    return append_error(r.out, "ERR invalid expire time in '" + std::string(name) + "' command");
  }
  stored* const s = find(r, r.word(1));
  if (s == nullptr || !met(c, *s, when)) {
    return append_number(r.out, 0);
  }
  if (when <= r.now()) {
    remove(r, r.word(1));
  } else {
    s->expiry = when;
    note_change(r, r.word(1));
  }
  append_number(r.out, 1);
}

/// What is left; -2 where there is nothing, -1 where it does not end.
std::int64_t left(request& r) {
  const stored* const s = find(r, r.word(1));
  if (s == nullptr) {
    return -2;
  }
  return s->expiry ? *s->expiry - r.now() : -1;
}

}  // namespace

void run_expire(request& r) { set_end(r, "expire", 1000); }

void run_pexpire(request& r) { set_end(r, "pexpire", 1); }

void run_pttl(request& r) { append_number(r.out, left(r)); }

void run_ttl(request& r) {
  const std::int64_t ms = left(r);
  append_number(r.out, ms < 0 ? ms : (ms + 500) / 1000);
}

void run_persist(request& r) {
  stored* const s = find(r, r.word(1));
  const bool ended = s != nullptr && s->expiry;
  if (ended) {
    s->expiry.reset();
    note_change(r, r.word(1));
  }
  append_number(r.out, ended ? 1 : 0);
}

}  // namespace cremone::sim
