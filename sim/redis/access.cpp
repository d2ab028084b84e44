// SPDX-License-Identifier: Apache-2.0
#include "sim/redis/access.hpp"

#include "sim/redis/numbers.hpp"

#include <algorithm>
#include <utility>

namespace cremone::sim {

namespace {

char lower(char c) noexcept { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

/// The set at the beginning of the pattern, behind its '['. Takes it off, with its ']'.
bool set_matches(std::string_view& pattern, char c) noexcept {
  const bool negated = pattern.starts_with('^');
  if (negated) {
    pattern.remove_prefix(1);
  }
  bool hit = false;
  while (!pattern.empty() && pattern.front() != ']') {
    if (pattern.front() == '\\' && pattern.size() > 1) {
      pattern.remove_prefix(1);
      hit = hit || pattern.front() == c;
    } else if (pattern.size() > 2 && pattern[1] == '-') {
      const auto [low, high] = std::minmax(pattern[0], pattern[2]);
      hit = hit || (c >= low && c <= high);
      pattern.remove_prefix(2);
    } else {
      hit = hit || pattern.front() == c;
    }
    pattern.remove_prefix(1);
  }
  if (!pattern.empty()) {
    pattern.remove_prefix(1);
  }
  return hit != negated;
}

}  // namespace

void note_change(request& r, std::string_view key) {
  auto& changed = r.server.changed;
  if (r.server.notes_changes && std::find(changed.begin(), changed.end(), key) == changed.end()) {
    changed.emplace_back(key);
  }
}

stored* find(request& r, std::string_view key) {
  stored* const s = r.server.keys.find(key);
  if (s != nullptr && s->gone(r.now())) {
    remove(r, key);
    return nullptr;
  }
  return s;
}

bool remove(request& r, std::string_view key) {
  note_change(r, key);
  return r.server.keys.erase(key);
}

bool read_integer(request& r, std::size_t place, std::int64_t& out) {
  const auto n = integer_in(r.word(place));
  if (!n) {
    append_error(r.out, not_an_integer);
    return false;
  }
  out = *n;
  return true;
}

void say_wrong_count(request& r, std::string_view command) {
  append_error(r.out, "ERR wrong number of arguments for '" + std::string(command) + "' command");
}

bool is_word(std::string_view text, std::string_view lower_case) noexcept {
  return std::equal(text.begin(), text.end(), lower_case.begin(), lower_case.end(),
                    [](char a, char b) { return lower(a) == b; });
}

std::string lowered(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), lower);
  return out;
}

bool glob_matches(std::string_view pattern, std::string_view text) noexcept {
  while (!pattern.empty()) {
    const char p = pattern.front();
    if (p == '*') {
      pattern.remove_prefix(1);
      for (std::size_t skipped = 0; skipped <= text.size(); ++skipped) {
        if (glob_matches(pattern, text.substr(skipped))) {
          return true;
        }
      }
      return false;
    }
    if (text.empty()) {
      return false;
    }
    pattern.remove_prefix(1);
    if (p == '[') {
      if (!set_matches(pattern, text.front())) {
        return false;
      }
    } else if (p == '\\' && !pattern.empty()) {
      if (pattern.front() != text.front()) {
        return false;
      }
      pattern.remove_prefix(1);
    } else if (p != '?' && p != text.front()) {
      return false;
    }
    text.remove_prefix(1);
  }
  return text.empty();
}

}  // namespace cremone::sim
