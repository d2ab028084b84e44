// SPDX-License-Identifier: Apache-2.0
//
// How the nouns of <cremone/types.hpp> are written for people.
#include <cremone/event.hpp>
#include <cremone/finding.hpp>
#include <cremone/types.hpp>

#include <ostream>

namespace cremone {

std::string owner_id::hex() const {
  static constexpr std::string_view digits = "0123456789abcdef";
  std::string out;
  out.reserve(raw_.size() * 2);
  for (const std::uint8_t byte : raw_) {
    out += digits[byte >> 4U];
    out += digits[byte & 0xFU];
  }
  return out;
}

std::ostream& operator<<(std::ostream& out, const lock_name& name) { return out << name.text_; }

std::ostream& operator<<(std::ostream& out, const owner_id& owner) { return out << owner.hex(); }

std::ostream& operator<<(std::ostream& out, fence_token token) { return out << token.value_; }

std::ostream& operator<<(std::ostream& out, read_token token) { return out << token.value_; }

std::string_view to_string(mode m) noexcept {
  switch (m) {
    case mode::exclusive: return "exclusive";
    case mode::shared: return "shared";
    case mode::slot: return "slot";
  }
  return "unknown";
}

std::string_view to_string(event_kind k) noexcept {
  switch (k) {
    case event_kind::not_connected: return "no connection";
    case event_kind::connected: return "connected";
    case event_kind::connection_lost: return "connection lost";
    case event_kind::connection_restored: return "connection restored";
    case event_kind::quarantined: return "quarantined";
    case event_kind::admitted: return "admitted";
    case event_kind::clock_step: return "clock step";
    case event_kind::evicted: return "evicted";
    case event_kind::observing: return "observing";
    case event_kind::warning: return "warning";
    case event_kind::foreign_lock: return "foreign lock";
  }
  return "unknown";
}

std::string_view to_string(verdict v) noexcept {
  switch (v) {
    case verdict::good: return "good";
    case verdict::untold: return "untold";
    case verdict::warning: return "warning";
    case verdict::bad: return "bad";
  }
  return "unknown";
}

}  // namespace cremone
