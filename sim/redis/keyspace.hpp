// SPDX-License-Identifier: Apache-2.0
//
// What a simulated Redis keeps: strings, hashes and sorted sets by name, each with an optional end. A value: a snapshot is a
// copy. It decides what is gone at a given time; it knows neither commands nor replies, and no clock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace cremone::sim {

using hash_value = std::map<std::string, std::string, std::less<>>;

/// By score, then by the bytes of the member. In one row, because queues are short and ranks are asked for.
class sorted_set {
 public:
  using item = std::pair<double, std::string>;

  /// Says whether it is new.
  bool put(std::string_view member, double score);
  /// Says whether it was there.
  bool erase(std::string_view member);
  [[nodiscard]] std::optional<std::size_t> rank(std::string_view member) const;
  [[nodiscard]] const std::vector<item>& items() const noexcept { return items_; }

 private:
  std::vector<item> items_;
};

/// In milliseconds of the server's wall clock since the epoch.
using wall_ms = std::int64_t;

struct stored {
  std::variant<std::string, hash_value, sorted_set> value;
  std::optional<wall_ms> expiry{};

  /// As Redis: while the clock shows the very millisecond of its end, it is still there.
  [[nodiscard]] bool gone(wall_ms now) const noexcept { return expiry && now > *expiry; }
};

class keyspace {
 public:
  using map = std::map<std::string, stored, std::less<>>;

  // For those who look from outside. None of these looks at expiry.

  /// The string at a key; null if there is none, or something else.
  [[nodiscard]] const std::string* text(const std::string& key) const;
  /// The same of a field of a hash.
  [[nodiscard]] const std::string* field(const std::string& key, const std::string& f) const;
  /// All of it, in order, with ends: the same text means the same content.
  [[nodiscard]] std::string dump() const;
  [[nodiscard]] const map& all() const noexcept { return all_; }

  // For commands.

  /// Null if there is none. Looks at no expiry.
  [[nodiscard]] stored* find(std::string_view key);
  /// Whatever stood there goes, its end too.
  stored& replace(std::string_view key, decltype(stored::value) value);
  bool erase(std::string_view key);
  /// Removes what is gone at this time. The names of it.
  std::vector<std::string> expire(wall_ms now);
  void clear() { all_.clear(); }

 private:
  map all_;
};

}  // namespace cremone::sim
