// SPDX-License-Identifier: Apache-2.0
#include "backends/redis/value.hpp"

#include "backends/redis/digest.hpp"
#include "backends/redis/owner_text.hpp"
#include "base/reading.hpp"
#include "base/text.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

namespace cremone::redis {

namespace {

constexpr std::string_view tag = "cremone1:";
constexpr std::size_t hex_size = 2 * sizeof(owner_id::bytes);
static_assert(mark_size == tag.size() + hex_size + 1);
constexpr std::size_t longest_host = 64;      // what Linux allows
constexpr std::size_t shown_of_foreign = 64;  // enough to recognise a UUID or a host name

/// Everything but the mark. Empty when it is not ours after all.
std::optional<owner_data> parse_data(std::string_view text) {
  const auto host_end = text.find(':');
  if (host_end == std::string_view::npos) {
    return std::nullopt;
  }
  const auto pid_end = text.find(':', host_end + 1);
  if (pid_end == std::string_view::npos) {
    return std::nullopt;
  }
  owner_data who;
  who.host = printable(text.substr(0, host_end));  // whoever can write to the server may have made this up
  const auto pid = whole_number<std::int64_t>(text.substr(host_end + 1, pid_end - host_end - 1));
  if (!pid) {
    return std::nullopt;
  }
  who.pid = *pid;
  who.label = printable(text.substr(pid_end + 1));
  return who;
}

std::optional<hold_record> parse(std::string_view value) {
  if (value.size() < mark_size || !value.starts_with(tag) || value[mark_size - 1] != ':') {
    return std::nullopt;
  }
  const auto owner = parse_owner(value.substr(tag.size(), hex_size));
  auto who = parse_data(value.substr(mark_size));
  if (!owner || !who) {
    return std::nullopt;
  }
  hold_record hold;
  hold.version.owner = *owner;
  hold.owner = std::move(*who);
  return hold;
}

}  // namespace

void append_mark(std::string& out, const owner_id& owner) {
  static constexpr std::string_view digits = "0123456789abcdef";
  std::array<char, hex_size> hex{};  // not by appending to a string, which looks for room at every digit
  std::size_t at = 0;
  for (const std::uint8_t byte : owner.raw()) {
    hex[at++] = digits[byte >> 4U];
    hex[at++] = digits[byte & 0xFU];
  }
  out += tag;
  out.append(hex.data(), hex.size());
  out += ':';
}

std::string owner_mark(const owner_id& owner) {
  std::string mark;
  mark.reserve(mark_size);
  append_mark(mark, owner);
  return mark;
}

std::string encode_value(const owner_id& owner, const owner_data& who) {
  std::string value;
  constexpr std::size_t pid_and_colons = 22;
  value.reserve(mark_size + who.host.size() + who.label.size() + pid_and_colons);
  append_mark(value, owner);
  const std::size_t host_at = value.size();
  value += std::string_view(who.host).substr(0, longest_host);
  std::replace(value.begin() + static_cast<std::ptrdiff_t>(host_at), value.end(), ':', '_');
  value += ':';
  value += std::to_string(who.pid);
  value += ':';
  value += who.label;
  return value;
}

hold_record decode_value(std::string_view value) {
  if (auto ours = parse(value)) {
    return std::move(*ours);
  }
  hold_record hold;
  hold.version.owner = owner_id(sha1(value));
  hold.foreign = value.empty() ? "nothing" : printable(value.substr(0, shown_of_foreign));
  if (value.size() > shown_of_foreign) {
    hold.foreign += "…";
  }
  return hold;
}

}  // namespace cremone::redis
