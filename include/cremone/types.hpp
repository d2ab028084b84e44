// SPDX-License-Identifier: Apache-2.0
//
// The nouns of the library: clock, name, owner id, fence token, mode. Names, owners and tokens never share a
// type, so that mixing them up does not compile. This file knows no store, no engine and no policy.
#pragma once

#include <array>
#include <chrono>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <string>
#include <string_view>
#include <utility>

namespace cremone {

/// The clock on which every lease is timed. It counts suspend and is not slewed by NTP, unlike
/// `std::chrono::steady_clock`, which does neither on Linux: a laptop that slept for a minute must not believe
/// that its lease still has half a minute to run.
///
/// Threads: `now()` may be called from any thread. It never goes back within a process.
struct validity_clock {
  using duration = std::chrono::nanoseconds;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<validity_clock>;
  static constexpr bool is_steady = true;

  [[nodiscard]] static time_point now() noexcept;
};

/// A moment on the validity clock. Meaningful within this boot of this machine only.
using instant = validity_clock::time_point;

/// Wall time: for people to read, and for what a store itself needs. No decision of ours rests on it.
using wall_time = std::chrono::sys_time<std::chrono::microseconds>;

/// The name of a lock in its store: 1 to 512 bytes without control characters. Two clients that use one name on
/// one store exclude each other. Any text can be put in; what is not a valid name is refused by the call that
/// gets it, with an error that says what is wrong with it.
class lock_name {
 public:
  static constexpr std::size_t max_size = 512;

  lock_name(std::string text) : text_(std::move(text)) {}
  lock_name(std::string_view text) : text_(text) {}
  lock_name(const char* text) : text_(text == nullptr ? std::string_view{} : text) {}

  [[nodiscard]] const std::string& str() const noexcept { return text_; }

  friend bool operator==(const lock_name&, const lock_name&) = default;
  friend auto operator<=>(const lock_name&, const lock_name&) = default;
  friend std::ostream& operator<<(std::ostream& out, const lock_name& name);

 private:
  std::string text_;
};

/// Who holds or waits: 20 bytes from the operating system's random source, fresh for every acquisition, never
/// one per thread or per client. A late release or a late reply of one acquisition can so never touch the next.
class owner_id {
 public:
  using bytes = std::array<std::uint8_t, 20>;

  constexpr owner_id() = default;
  explicit constexpr owner_id(const bytes& raw) noexcept : raw_(raw) {}

  [[nodiscard]] constexpr const bytes& raw() const noexcept { return raw_; }
  [[nodiscard]] std::string hex() const;

  friend bool operator==(const owner_id&, const owner_id&) = default;
  friend auto operator<=>(const owner_id&, const owner_id&) = default;
  friend std::ostream& operator<<(std::ostream& out, const owner_id& owner);  ///< hex()

 private:
  bytes raw_{};
};

/// The order number of an acquisition: unique per lock, and greater than that of every earlier acquisition of
/// it. Send it with each write; a resource that refuses a token lower than one it has seen is safe even from a
/// holder that slept through its own lease. Always below 2^53, so that it survives JSON and Lua numbers.
///
/// The order is as good as what the store remembers. It holds while the store keeps the numbers
/// that it granted: the SQLite file, one Redis server, a majority of several. After a loss of that
/// memory it rests on wall clocks that were not set back too far. It does not hold between two
/// Redis masters that grant at the same time, after a failover that `min-replicas-to-write` does
/// not guard. `redlock://` with `layout=classic` has no order: every token is 0. docs/guarantees.md
/// has the table.
class fence_token {
 public:
  static constexpr std::uint64_t limit = std::uint64_t{1} << 53U;

  constexpr fence_token() = default;
  explicit constexpr fence_token(std::uint64_t value) noexcept : value_(value) {}

  [[nodiscard]] constexpr std::uint64_t value() const noexcept { return value_; }

  friend bool operator==(const fence_token&, const fence_token&) = default;
  friend auto operator<=>(const fence_token&, const fence_token&) = default;
  friend std::ostream& operator<<(std::ostream& out, fence_token token);  ///< the number

 private:
  std::uint64_t value_ = 0;
};

/// The number of a shared holding. It is no `fence_token`: who only reads may not write, and a guarded write that is given one
/// does not compile.
class read_token {
 public:
  constexpr read_token() = default;
  explicit constexpr read_token(std::uint64_t value) noexcept : value_(value) {}

  [[nodiscard]] constexpr std::uint64_t value() const noexcept { return value_; }

  friend bool operator==(const read_token&, const read_token&) = default;
  friend auto operator<=>(const read_token&, const read_token&) = default;
  friend std::ostream& operator<<(std::ostream& out, read_token token);  ///< the number

 private:
  std::uint64_t value_ = 0;
};

/// How a lock is held. Every request and every record carries it; which modes a store knows is among its traits.
enum class mode : std::uint8_t {
  exclusive,  ///< alone
  shared,     ///< with other shared holders, never with an exclusive one
  slot,       ///< one of the K places of a semaphore
};

[[nodiscard]] std::string_view to_string(mode m) noexcept;

}  // namespace cremone

template <>
struct std::hash<cremone::lock_name> {
  std::size_t operator()(const cremone::lock_name& name) const noexcept {
    return std::hash<std::string>{}(name.str());
  }
};
