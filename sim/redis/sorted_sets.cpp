// SPDX-License-Identifier: Apache-2.0
//
// Commands about sorted sets.
#include "sim/redis/access.hpp"
#include "sim/redis/commands.hpp"
#include "sim/redis/numbers.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace cremone::sim {

namespace {

struct bound {
  double score = 0;
  bool open = false;
};

std::optional<bound> bound_in(std::string_view text) {
  bound b;
  b.open = text.starts_with('(');
  const std::string_view number = text.substr(b.open ? 1 : 0);
  const auto score = number.empty() ? 0 : score_in(number);  // where there is nothing, Redis reads 0
  if (!score) {
    return std::nullopt;
  }
  b.score = *score;
  return b;
}

struct score_range {
  bound low;
  bound high;

  [[nodiscard]] bool holds(double score) const {
    return (low.open ? score > low.score : score >= low.score) &&
           (high.open ? score < high.score : score <= high.score);
  }
};

/// The words at 2 and 3. Nothing, and said so, when they are none.
std::optional<score_range> read_range(request& r) {
  const auto low = bound_in(r.word(2));
  const auto high = bound_in(r.word(3));
  if (!low || !high) {
    append_error(r.out, "ERR min or max is not a float");
    return std::nullopt;
  }
  return score_range{*low, *high};
}

void append_items(request& r, std::span<const sorted_set::item> items, bool with_scores) {
  append_array(r.out, items.size() * (with_scores ? 2 : 1));
  std::string text;
  for (const auto& [score, member] : items) {
    append_bulk(r.out, member);
    if (with_scores) {
      text.clear();
      append_score(text, score);
      append_bulk(r.out, text);
    }
  }
}

struct add_options {
  bool if_new = false;
  bool if_there = false;
  bool count_changes = false;
  std::size_t pairs_from = 2;
};

/// Nothing, and said so, when they make no sense.
std::optional<add_options> add_options_of(request& r) {
  add_options o;
  for (; o.pairs_from < r.words.size(); ++o.pairs_from) {
    const std::string_view word = r.word(o.pairs_from);
    if (is_word(word, "nx")) {
      o.if_new = true;
    } else if (is_word(word, "xx")) {
      o.if_there = true;
    } else if (is_word(word, "ch")) {
      o.count_changes = true;
    } else {
      break;
    }
  }
  const std::size_t rest = r.words.size() - o.pairs_from;
  if (rest == 0 || rest % 2 != 0) {
    append_error(r.out, syntax_error);
    return std::nullopt;
  }
  if (o.if_new && o.if_there) {
    append_error(r.out, "ERR XX and NX options at the same time are not compatible");
    return std::nullopt;
  }
  return o;
}

bool read_scores(request& r, std::size_t from, std::vector<double>& out) {
  for (std::size_t i = from; i < r.words.size(); i += 2) {
    const auto score = score_in(r.word(i));
    if (!score) {
      append_error(r.out, not_a_float);
      return false;
    }
    out.push_back(*score + 0.0);  // small sets of Redis know no -0
  }
  return true;
}

std::int64_t put_all(request& r, const add_options& o, const std::vector<double>& scores, sorted_set& set) {
  std::int64_t counted = 0;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    const std::string_view member = r.word(o.pairs_from + 2 * i + 1);
    const auto at = set.rank(member);
    if (at ? o.if_new || set.items()[*at].first == scores[i] : o.if_there) {
      continue;
    }
    set.put(member, scores[i]);
    counted += !at || o.count_changes ? 1 : 0;
    note_change(r, r.word(1));
  }
  return counted;
}

}  // namespace

void run_zadd(request& r) {
  const auto o = add_options_of(r);
  std::vector<double> scores;
  sorted_set* set = nullptr;
  if (!o || !read_scores(r, o->pairs_from, scores) || !find_as(r, r.word(1), set)) {
    return;
  }
  if (set == nullptr && o->if_there) {
    return append_number(r.out, 0);
  }
  if (set == nullptr) {
    set = &std::get<sorted_set>(r.server.keys.replace(r.word(1), sorted_set()).value);
  }
  append_number(r.out, put_all(r, *o, scores, *set));
}

void run_zrem(request& r) {
  sorted_set* set = nullptr;
  if (!find_as(r, r.word(1), set)) {
    return;
  }
  std::int64_t removed = 0;
  for (std::size_t i = 2; set != nullptr && i < r.words.size(); ++i) {
    removed += set->erase(r.word(i)) ? 1 : 0;
  }
  if (removed > 0) {
    note_change(r, r.word(1));
    if (set->items().empty()) {
      remove(r, r.word(1));
    }
  }
  append_number(r.out, removed);
}

void run_zrange(request& r) {
  bool with_scores = false;
  bool backward = false;
  for (std::size_t i = 4; i < r.words.size(); ++i) {
    if (is_word(r.word(i), "withscores")) {
      with_scores = true;
    } else if (is_word(r.word(i), "rev")) {
      backward = true;
    } else {
      return append_error(r.out, syntax_error);
    }
  }
  std::int64_t from = 0;
  std::int64_t to = 0;
  sorted_set* set = nullptr;
  if (!read_integer(r, 2, from) || !read_integer(r, 3, to) || !find_as(r, r.word(1), set)) {
    return;
  }
  const auto size = set == nullptr ? 0 : static_cast<std::int64_t>(set->items().size());
  from = std::max<std::int64_t>(from < 0 ? from + size : from, 0);
  to = std::min(to < 0 ? to + size : to, size - 1);
  if (from > to) {
    return append_array(r.out, 0);
  }
  const auto count = static_cast<std::size_t>(to - from + 1);
  if (!backward) {
    return append_items(r, std::span(set->items()).subspan(static_cast<std::size_t>(from), count),
                        with_scores);
  }
  const std::vector<sorted_set::item> reversed(set->items().rbegin(), set->items().rend());
  append_items(r, std::span(reversed).subspan(static_cast<std::size_t>(from), count), with_scores);
}

void run_zrangebyscore(request& r) {
  bool with_scores = false;
  std::int64_t offset = 0;
  std::int64_t most = -1;
  for (std::size_t i = 4; i < r.words.size(); ++i) {
    if (is_word(r.word(i), "withscores")) {
      with_scores = true;
    } else if (is_word(r.word(i), "limit") && i + 2 < r.words.size()) {
      if (!read_integer(r, i + 1, offset) || !read_integer(r, i + 2, most)) {
        return;
      }
      i += 2;
    } else {
      return append_error(r.out, syntax_error);
    }
  }
  const auto range = read_range(r);
  sorted_set* set = nullptr;
  if (!range || !find_as(r, r.word(1), set)) {
    return;
  }
  std::vector<sorted_set::item> found;
  if (set != nullptr && offset >= 0) {
    std::copy_if(set->items().begin(), set->items().end(), std::back_inserter(found),
                 [&](const sorted_set::item& i) { return range->holds(i.first); });
    found.erase(found.begin(), found.begin() + std::min(offset, static_cast<std::int64_t>(found.size())));
    if (most >= 0 && found.size() > static_cast<std::size_t>(most)) {
      found.resize(static_cast<std::size_t>(most));
    }
  }
  append_items(r, found, with_scores);
}

void run_zcount(request& r) {
  const auto range = read_range(r);
  sorted_set* set = nullptr;
  if (!range || !find_as(r, r.word(1), set)) {
    return;
  }
  append_number(r.out, set == nullptr
                           ? 0
                           : std::count_if(set->items().begin(), set->items().end(),
                                           [&](const sorted_set::item& i) { return range->holds(i.first); }));
}

void run_zrank(request& r) {
  sorted_set* set = nullptr;
  if (!find_as(r, r.word(1), set)) {
    return;
  }
  const auto at = set == nullptr ? std::nullopt : set->rank(r.word(2));
  if (at) {
    append_number(r.out, static_cast<std::int64_t>(*at));
  } else {
    r.out += null_reply;
  }
}

void run_zscore(request& r) {
  sorted_set* set = nullptr;
  if (!find_as(r, r.word(1), set)) {
    return;
  }
  const auto at = set == nullptr ? std::nullopt : set->rank(r.word(2));
  if (!at) {
    r.out += null_reply;
    return;
  }
  std::string text;
  append_score(text, set->items()[*at].first);
  append_bulk(r.out, text);
}

void run_zcard(request& r) {
  sorted_set* set = nullptr;
  if (find_as(r, r.word(1), set)) {
    append_number(r.out, set == nullptr ? 0 : static_cast<std::int64_t>(set->items().size()));
  }
}

}  // namespace cremone::sim
