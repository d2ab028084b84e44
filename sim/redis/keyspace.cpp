// SPDX-License-Identifier: Apache-2.0
#include "sim/redis/keyspace.hpp"

#include "sim/redis/numbers.hpp"

#include <algorithm>

namespace cremone::sim {

namespace {

/// So that no name or value can look like another.
void append_text(std::string& out, std::string_view text) {
  out += std::to_string(text.size());
  out += ':';
  out += text;
}

void append_value(std::string& out, const stored& s) {
  if (const auto* text = std::get_if<std::string>(&s.value)) {
    out += " string ";
    append_text(out, *text);
  } else if (const auto* fields = std::get_if<hash_value>(&s.value)) {
    out += " hash";
    for (const auto& [name, value] : *fields) {
      out += ' ';
      append_text(out, name);
      out += '=';
      append_text(out, value);
    }
  } else {
    out += " zset";
    for (const auto& [score, member] : std::get<sorted_set>(s.value).items()) {
      out += ' ';
      append_score(out, score);
      out += ' ';
      append_text(out, member);
    }
  }
}

}  // namespace

bool sorted_set::put(std::string_view member, double score) {
  const bool was_there = erase(member);
  item added(score, member);
  items_.insert(std::upper_bound(items_.begin(), items_.end(), added), std::move(added));
  return !was_there;
}

bool sorted_set::erase(std::string_view member) {
  const auto at = rank(member);
  if (at) {
    items_.erase(items_.begin() + static_cast<std::ptrdiff_t>(*at));
  }
  return at.has_value();
}

std::optional<std::size_t> sorted_set::rank(std::string_view member) const {
  const auto at =
      std::find_if(items_.begin(), items_.end(), [&](const item& i) { return i.second == member; });
  return at == items_.end() ? std::nullopt : std::optional(static_cast<std::size_t>(at - items_.begin()));
}

const std::string* keyspace::text(const std::string& key) const {
  const auto at = all_.find(key);
  return at == all_.end() ? nullptr : std::get_if<std::string>(&at->second.value);
}

const std::string* keyspace::field(const std::string& key, const std::string& f) const {
  const auto at = all_.find(key);
  const auto* fields = at == all_.end() ? nullptr : std::get_if<hash_value>(&at->second.value);
  if (fields == nullptr) {
    return nullptr;
  }
  const auto found = fields->find(f);
  return found == fields->end() ? nullptr : &found->second;
}

std::string keyspace::dump() const {
  std::string out;
  for (const auto& [key, s] : all_) {
    append_text(out, key);
    append_value(out, s);
    if (s.expiry) {
      out += " until " + std::to_string(*s.expiry);
    }
    out += '\n';
  }
  return out;
}

stored* keyspace::find(std::string_view key) {
  const auto at = all_.find(key);
  return at == all_.end() ? nullptr : &at->second;
}

stored& keyspace::replace(std::string_view key, decltype(stored::value) value) {
  auto at = all_.lower_bound(key);
  if (at == all_.end() || at->first != key) {
    at = all_.emplace_hint(at, key, stored{});
  }
  at->second = {std::move(value), std::nullopt};
  return at->second;
}

bool keyspace::erase(std::string_view key) {
  const auto at = all_.find(key);
  if (at == all_.end()) {
    return false;
  }
  all_.erase(at);
  return true;
}

std::vector<std::string> keyspace::expire(wall_ms now) {
  std::vector<std::string> names;
  for (auto at = all_.begin(); at != all_.end();) {
    if (at->second.gone(now)) {
      names.push_back(at->first);
      at = all_.erase(at);
    } else {
      ++at;
    }
  }
  return names;
}

}  // namespace cremone::sim
