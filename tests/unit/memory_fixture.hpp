// SPDX-License-Identifier: Apache-2.0
//
// A memory store with made-up owners and a made-up clock, spoken to in short sentences. Decides nothing about what is
// right.
#pragma once

#include "backends/memory/store.hpp"
#include "unit/moments.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <variant>

namespace cremone::memory::testing {

using namespace cremone::testing;

inline constexpr milliseconds claim_time = 500ms;
inline constexpr milliseconds waiter_lease = 10s;

/// Counts the hints it gets.
class listener final : public hint_sink {
 public:
  void hint() noexcept override { ++hints; }
  int hints = 0;
};

/// One store. Owners are numbers; the lock is "lock" unless another is named.
class desk {
 public:
  std::unique_ptr<store> shelf = std::make_unique<store>();  // a store cannot be moved, a desk can
  store_time time{.now = at(0s), .wall = wall_time(std::chrono::microseconds(1'000'000))};
  lock_name lock{"lock"};

  void pass(nanoseconds t) { time.now += t; }

  [[nodiscard]] acquire_request request(std::uint32_t who) const {
    acquire_request r;
    r.name = lock;
    r.owner = owner(who);
    r.ttl = 30s;
    return r;
  }

  /// A mere try.
  acquire_answer ask(std::uint32_t who) { return shelf->try_acquire(request(who), time); }

  /// A try of one who queues when refused, and who can be told when its turn has come.
  acquire_answer wait(std::uint32_t who) { return wait(who, anyone_); }
  acquire_answer wait(std::uint32_t who, const std::shared_ptr<hint_sink>& wake) {
    acquire_request r = request(who);
    r.join = true;
    r.wake = wake;
    return shelf->try_acquire(r, time);
  }

  answer renew(std::uint32_t who, std::uint64_t seq) {
    return shelf->renew({.name = &lock, .owner = owner(who), .seq = seq, .token = {}, .ttl = 30s}, time);
  }
  answer release(std::uint32_t who) { return shelf->release({.name = lock, .owner = owner(who)}, time); }
  /// In the version that the hold has after so many renewals: it begins with the token.
  answer evict(std::uint32_t who, std::uint64_t renewals) {
    const lock_record r = look();
    const std::uint64_t first = r.holders.empty() ? 0 : r.holders.front().token.value();
    return shelf->evict(lock, {owner(who), first + renewals}, time);
  }

  [[nodiscard]] lock_record look() { return shelf->inspect(lock, time); }

  /// The version that is stored, if somebody holds the lock.
  [[nodiscard]] std::optional<hold_version> version() {
    const lock_record r = look();
    return r.holders.empty() ? std::nullopt : std::optional(r.holders.front().version);
  }

 private:
  std::shared_ptr<hint_sink> anyone_ = std::make_shared<listener>();
};

[[nodiscard]] inline bool granted(const acquire_answer& a) { return std::holds_alternative<grant>(a); }

[[nodiscard]] inline grant grant_in(const acquire_answer& a) {
  EXPECT_TRUE(granted(a)) << "refused";
  return granted(a) ? std::get<grant>(a) : grant{};
}

[[nodiscard]] inline rejection refusal_in(const acquire_answer& a) {
  EXPECT_TRUE(std::holds_alternative<rejection>(a)) << "granted";
  return std::holds_alternative<rejection>(a) ? std::get<rejection>(a) : rejection{};
}

[[nodiscard]] inline fence_token token_in(const acquire_answer& a) { return grant_in(a).token; }
[[nodiscard]] inline std::optional<std::size_t> place_in(const acquire_answer& a) {
  return refusal_in(a).place;
}
[[nodiscard]] inline errc reason_in(const acquire_answer& a) { return refusal_in(a).why.code(); }

[[nodiscard]] inline bool was_done(const answer& a) { return std::holds_alternative<done>(a); }

/// Why it was refused; no error if it was not.
[[nodiscard]] inline errc reason_in(const answer& a) {
  const auto* const no = std::get_if<refused>(&a);
  return no == nullptr ? errc{} : no->why.code();
}

}  // namespace cremone::memory::testing
