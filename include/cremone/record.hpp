// SPDX-License-Identifier: Apache-2.0
//
// What a store keeps about a lock, in words that every store shares: holds with versions, waiters with tickets,
// and who they are. Plain values; what may be done with them is decided elsewhere.
#pragma once

#include <cremone/types.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cremone {

/// Who took or wants a lock, for people who ask.
struct owner_data {
  std::string host{};
  std::int64_t pid = 0;
  std::string user{};
  std::string label{};
  wall_time since{};  ///< when the acquire call began, on the owner's wall clock
};

/// Names one state of one hold. A renewal changes it, and a version never returns: who saw one version
/// unchanged for the whole ttl on its own clock knows that the holder did not renew in that time.
struct hold_version {
  owner_id owner{};
  std::uint64_t seq = 0;
  /// In which life of the store: one that has restarted may have forgotten the latest numbers, and give them again. 0 where
  /// the store forgets nothing. Numbers of two lives say nothing about each other.
  std::uint64_t life = 0;

  friend bool operator==(const hold_version&, const hold_version&) = default;
};

/// What the store can tell of a holder beyond its record. Most can tell nothing; where all clients share a kernel
/// (SQLite), the kernel knows.
enum class liveness : std::uint8_t {
  untold,        ///< nobody can tell; silence for the whole ttl decides
  alive,         ///< its process is there, running or stopped
  command_only,  ///< its process is gone, and the command that it ran for lives on: still held
  dead,          ///< nothing of it is left; the next who asks for the lock frees it
};

[[nodiscard]] std::string_view to_string(liveness l) noexcept;

/// One holder of a lock.
struct hold_record {
  hold_version version{};
  cremone::mode mode = mode::exclusive;
  std::chrono::milliseconds ttl{};
  fence_token token{};
  owner_data owner{};
  cremone::liveness liveness = liveness::untold;
  /// Where the store lets a silent hold expire by itself: how much of its time was left. Empty: it does not, or this
  /// hold has no end.
  std::optional<std::chrono::milliseconds> expires_in{};
  /// Not empty: another program than cremone holds the lock, and this is what it left there, made printable and cut.
  /// Nothing else is known of it.
  std::string foreign{};
  /// Time since the hold was granted or last renewed, by the store's own clock. Negative: that
  /// clock was set back since then. Empty: the store does not record it.
  std::optional<std::chrono::milliseconds> renewed_ago{};
};

/// True if, by the store's clock, the holder has not renewed for its whole ttl, or if that clock
/// was set back and cannot tell. A clock step can cause this, so the result is only a hint: it
/// tells an operator to look, and a try whether to observe the hold
/// (acquire_options::take_over_abandoned). No takeover rests on it.
[[nodiscard]] bool looks_abandoned(const hold_record& hold) noexcept;

/// One who waits in the store's queue. Lower tickets came earlier.
struct waiter_record {
  owner_id owner{};
  cremone::mode mode = mode::exclusive;
  std::uint64_t ticket = 0;
  owner_data who{};
};

/// What one of several servers that vote on a lock says about it.
struct node_vote {
  std::string node;      ///< the server, as in errors; no secrets in it
  std::string trouble;   ///< why it could not be asked; empty: it was
  bool avoided = false;  ///< it has been silent, and is asked only now and then
  bool quarantined = false;
  std::optional<hold_version> holder{};  ///< for whom its vote is, in which version; empty: for nobody
  fence_token token{};                   ///< that it gave with its vote
  /// How far its clock is ahead of this machine's, about.
  std::optional<std::chrono::milliseconds> clock_ahead{};
};

/// How often the servers that vote agreed on a token at once. All zero where there is only one.
struct vote_statistics {
  std::uint64_t acquisitions = 0;
  std::uint64_t in_one_round = 0;  ///< the others took two or more
};

/// A lock as seen at one moment.
struct lock_record {
  lock_name name{""};
  std::vector<hold_record> holders{};
  std::vector<waiter_record> waiters{};  ///< in queue order
  std::vector<node_vote> votes{};        ///< one per server, where several vote
  /// Where several vote and there is no holder: those who hold it if servers that could not be asked, or have forgotten, voted
  /// for them. Empty: it is free.
  std::vector<hold_record> may_hold{};
  fence_token last{};  ///< the highest token ever given out for this name, as far as the store knows
  /// Not empty: a key on the same server looks like a lock of this name in another layout, or of
  /// another program, and neither lock excludes the other. A message that names the server and the
  /// key. Filled by inspect() alone.
  std::string foreign_lock{};
};

}  // namespace cremone
