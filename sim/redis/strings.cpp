// SPDX-License-Identifier: Apache-2.0
//
// Commands about strings.
#include "sim/redis/access.hpp"
#include "sim/redis/commands.hpp"
#include "sim/redis/numbers.hpp"

#include <algorithm>
#include <optional>

namespace cremone::sim {

namespace {

struct set_options {
  bool if_new = false;
  bool if_there = false;
  bool keep_expiry = false;
  bool get = false;
  std::optional<std::size_t> time{};  ///< the place of its word
  bool in_seconds = false;
  bool absolute = false;
};

/// EX, PX, EXAT and PXAT; only one of them.
bool take_time(const request& r, std::size_t& i, set_options& o) {
  const std::string_view word = r.word(i);
  const bool relative = is_word(word, "ex") || is_word(word, "px");
  if ((!relative && !is_word(word, "exat") && !is_word(word, "pxat")) || o.time || o.keep_expiry ||
      i + 1 >= r.words.size()) {
    return false;
  }
  o.in_seconds = is_word(word.substr(0, 1), "e");
  o.absolute = !relative;
  o.time = ++i;
  return true;
}

std::optional<set_options> set_options_of(const request& r) {
  set_options o;
  for (std::size_t i = 3; i < r.words.size(); ++i) {
    const std::string_view word = r.word(i);
    if (is_word(word, "nx") && !o.if_there) {
      o.if_new = true;
    } else if (is_word(word, "xx") && !o.if_new) {
      o.if_there = true;
    } else if (is_word(word, "get")) {
      o.get = true;
    } else if (is_word(word, "keepttl") && !o.time) {
      o.keep_expiry = true;
    } else if (!take_time(r, i, o)) {
      return std::nullopt;
    }
  }
  return o;
}

/// False, and said so, when it is no time.
bool read_expiry(request& r, const set_options& o, std::optional<wall_ms>& out) {
  if (!o.time) {
    return true;
  }
  std::int64_t n = 0;
  if (!read_integer(r, *o.time, n)) {
    return false;
  }
  bool fine = n > 0 && (!o.in_seconds || n <= INT64_MAX / 1000);
  if (fine) {
    n *= o.in_seconds ? 1000 : 1;
    fine = o.absolute || n <= INT64_MAX - r.now();
  }
  if (!fine) {
    append_error(r.out, "ERR invalid expire time in 'set' command");
    return false;
  }
  out = o.absolute ? n : n + r.now();
  return true;
}

void append_text(request& r, const std::string* text) {
  if (text == nullptr) {
    r.out += null_reply;
  } else {
    append_bulk(r.out, *text);
  }
}

/// What MGET says of things that are no strings.
const std::string* text_or_null(request& r, std::string_view key) {
  const stored* const s = find(r, key);
  return s == nullptr ? nullptr : std::get_if<std::string>(&s->value);
}

void add(request& r, std::int64_t amount) {
  std::string* text = nullptr;
  if (!find_as(r, r.word(1), text)) {
    return;
  }
  const auto before = text == nullptr ? std::optional<std::int64_t>(0) : integer_in(*text);
  if (!before) {
    return append_error(r.out, not_an_integer);
  }
  std::int64_t after = 0;
  if (__builtin_add_overflow(*before, amount, &after)) {
    return append_error(r.out, "ERR increment or decrement would overflow");
  }
  note_change(r, r.word(1));
  if (text != nullptr) {
    *text = std::to_string(after);
  } else {
    r.server.keys.replace(r.word(1), std::to_string(after));
  }
  append_number(r.out, after);
}

}  // namespace

void run_get(request& r) {
  std::string* text = nullptr;
  if (find_as(r, r.word(1), text)) {
    append_text(r, text);
  }
}

void run_set(request& r) {
  const auto o = set_options_of(r);
  if (!o) {
    return append_error(r.out, syntax_error);
  }
  std::optional<wall_ms> expiry;
  if (!read_expiry(r, *o, expiry)) {
    return;
  }
  if (o->get) {
    std::string* text = nullptr;
    if (!find_as(r, r.word(1), text)) {
      return;
    }
    append_text(r, text);
  }
  const stored* const old = find(r, r.word(1));
  if ((o->if_new && old != nullptr) || (o->if_there && old == nullptr)) {
    if (!o->get) {
      r.out += null_reply;
    }
    return;
  }
  if (o->keep_expiry && old != nullptr) {
    expiry = old->expiry;
  }
  r.server.keys.replace(r.word(1), std::string(r.word(2))).expiry = expiry;
  note_change(r, r.word(1));
  if (!o->get) {
    append_status(r.out, "OK");
  }
}

void run_mget(request& r) {
  append_array(r.out, r.words.size() - 1);
  for (const std::string_view key : r.words.subspan(1)) {
    append_text(r, text_or_null(r, key));
  }
}

void run_mset(request& r) {
  if (r.words.size() % 2 == 0) {
    return say_wrong_count(r, "mset");
  }
  for (std::size_t i = 1; i < r.words.size(); i += 2) {
    r.server.keys.replace(r.word(i), std::string(r.word(i + 1)));
    note_change(r, r.word(i));
  }
  append_status(r.out, "OK");
}

void run_incr(request& r) { add(r, 1); }

void run_incrby(request& r) {
  std::int64_t amount = 0;
  if (read_integer(r, 2, amount)) {
    add(r, amount);
  }
}

void run_strlen(request& r) {
  std::string* text = nullptr;
  if (find_as(r, r.word(1), text)) {
    append_number(r.out, text == nullptr ? 0 : static_cast<std::int64_t>(text->size()));
  }
}

void run_getrange(request& r) {
  std::int64_t from = 0;
  std::int64_t to = 0;
  std::string* text = nullptr;
  if (!read_integer(r, 2, from) || !read_integer(r, 3, to) || !find_as(r, r.word(1), text)) {
    return;
  }
  const std::string_view all = text == nullptr ? std::string_view() : *text;
  const auto size = static_cast<std::int64_t>(all.size());
  if (from < 0 && to < 0 && from > to) {
    return append_bulk(r.out, "");
  }
  from = std::max<std::int64_t>(from < 0 ? from + size : from, 0);
  to = std::min(std::max<std::int64_t>(to < 0 ? to + size : to, 0), size - 1);
  append_bulk(
      r.out, from > to ? std::string_view()
                       : all.substr(static_cast<std::size_t>(from), static_cast<std::size_t>(to - from + 1)));
}

}  // namespace cremone::sim
