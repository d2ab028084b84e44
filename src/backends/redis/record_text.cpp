// SPDX-License-Identifier: Apache-2.0
#include "backends/redis/record_text.hpp"

#include "backends/redis/owner_text.hpp"
#include "base/reading.hpp"
#include "base/text.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace cremone::redis {

namespace {

/// Hosts and users are the operating system's words, of which nothing is known: a line break must not become two lines.
void add_line(std::string& out, std::string_view word) {
  const std::size_t at = out.size();
  out += word;
  std::replace_if(
      out.begin() + static_cast<std::ptrdiff_t>(at), out.end(), [](char c) { return c == '\n'; }, ' ');
  out += '\n';
}

std::optional<std::uint64_t> number_in(std::string_view text) { return whole_number<std::uint64_t>(text); }

std::optional<mode> mode_of(std::string_view letter) noexcept {
  for (const mode m : {mode::exclusive, mode::shared, mode::slot}) {
    if (letter.size() == 1 && letter[0] == letter_of(m)) {
      return m;
    }
  }
  return std::nullopt;
}

constexpr std::uint64_t longest_ttl = 86'400'000;  // a day; the longest that a URL can ask for

}  // namespace

std::string encode_who(const owner_data& who) {
  std::string out;
  add_line(out, who.host);
  add_line(out, who.user);
  out += std::to_string(who.pid) + '\n' + std::to_string(who.since.time_since_epoch().count()) + '\n';
  out += who.label;
  return out;
}

owner_data parse_who(std::string_view text) {
  owner_data who;
  who.host = cut(text, '\n');
  who.user = cut(text, '\n');
  who.pid = whole_number<std::int64_t>(cut(text, '\n')).value_or(0);
  who.since = wall_time(std::chrono::microseconds(whole_number<std::int64_t>(cut(text, '\n')).value_or(0)));
  who.label = text;
  // Whoever can write to the server may have made this up.
  who.host = printable(who.host);
  who.user = printable(who.user);
  if (find_control(who.label) != std::string::npos) {
    who.label = printable(who.label);
  }
  return who;
}

char letter_of(mode m) noexcept {
  switch (m) {
    case mode::exclusive: return 'x';
    case mode::shared: return 's';
    case mode::slot: return 'k';
  }
  return 'x';
}

std::optional<hold_record> parse_hold(std::string_view text) {
  std::string_view line = cut(text, '\n');
  const auto owner = parse_owner(cut(line, ' '));
  const auto seq = number_in(cut(line, ' '));
  const auto ttl = number_in(cut(line, ' '));
  const auto how = mode_of(cut(line, ' '));
  const auto token = number_in(line);
  if (!owner || !seq || !ttl || *ttl == 0 || *ttl > longest_ttl || !how || !token ||
      *token >= fence_token::limit) {
    return std::nullopt;
  }
  hold_record hold;
  hold.version = {*owner, *seq};
  hold.mode = *how;
  hold.ttl = std::chrono::milliseconds(*ttl);
  hold.token = fence_token(*token);
  hold.owner = parse_who(text);
  return hold;
}

std::optional<std::chrono::milliseconds> time_since(std::string_view renewed, std::string_view now) {
  const auto from = number_in(renewed);
  const auto to = number_in(now);
  if (!from || !to || *from >= fence_token::limit || *to >= fence_token::limit) {
    return std::nullopt;
  }
  return std::chrono::floor<std::chrono::milliseconds>(
      std::chrono::microseconds(*to) - std::chrono::microseconds(*from));  // each is below 2^53
}

std::optional<lock_record> parse_lock(std::string_view name, std::string_view record, std::string_view now) {
  lock_record lock;
  lock.name = lock_name(name);
  if (record.empty()) {
    return lock;
  }
  std::string_view line = cut(record, '\n');
  const std::string_view format = cut(line, ' ');
  (void)cut(line, ' ');  // whether others wait
  const auto last = number_in(cut(line, ' '));
  (void)cut(line, ' ');  // the last ticket
  const std::string_view renewed = cut(line, ' ');
  if (format != "1" || !last || *last >= fence_token::limit) {
    return std::nullopt;
  }
  lock.last = fence_token(*last);
  if (!record.empty()) {
    auto hold = parse_hold(record);
    if (!hold) {
      return std::nullopt;
    }
    hold->renewed_ago = time_since(renewed, now);
    lock.holders.push_back(std::move(*hold));
  }
  return lock;
}

std::optional<waiter_record> parse_waiter(std::string_view owner, std::string_view entry) {
  std::string_view line = cut(entry, '\n');
  const auto id = parse_owner(owner);
  const auto ticket = number_in(cut(line, ' '));
  (void)cut(line, ' ');  // the end of its lease
  (void)cut(line, ' ');  // its channel
  const auto how = mode_of(line);
  if (!id || !ticket || !how) {
    return std::nullopt;
  }
  return waiter_record{.owner = *id, .mode = *how, .ticket = *ticket, .who = parse_who(entry)};
}

}  // namespace cremone::redis
