// SPDX-License-Identifier: Apache-2.0
//
// Those of this client who wait in the queue, and the thread that listens for them: for the bell that a release in
// another process rings, and for the death of a holder that the head of a queue waits for. Hints are all it gives.
#pragma once

#include "backends/sqlite/live_file.hpp"

#include <cremone/backend.hpp>

#include <memory>
#include <optional>

namespace cremone::sqlite {

/// Threads: all members from any thread. The thread is started with the first waiter.
class listener {
 public:
  /// How often the head of a queue looks whether the holder still lives: far below what a person notices, and some
  /// 40 system calls per second.
  static constexpr std::chrono::milliseconds look_every{25};

  /// Less often when a client waits for very many locks, so that looking stays below some 2 % of a core.
  static constexpr std::size_t looks_per_ms = 20;

  /// `live` outlives the thread: it is shared with it.
  explicit listener(std::shared_ptr<const live_file> live);
  listener(const listener&) = delete;
  listener& operator=(const listener&) = delete;
  ~listener();

  /// From now on this owner gets the hints for this lock.
  void add(const lock_name& name, const owner_id& owner, std::weak_ptr<hint_sink> wake);
  void remove(const owner_id& owner) noexcept;

  /// This owner is the next, and the client of this byte is in its way; empty: nobody whose life can be watched.
  void watch(const owner_id& owner, std::optional<std::int64_t> life);

  /// Null when nobody waits as this owner any more.
  [[nodiscard]] std::shared_ptr<hint_sink> find(const owner_id& owner);

 private:
  struct state;
  const std::shared_ptr<state> state_;
};

}  // namespace cremone::sqlite
