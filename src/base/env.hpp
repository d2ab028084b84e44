// SPDX-License-Identifier: Apache-2.0
//
// The one seam to the outside: clock, timers, randomness, posting. Whoever implements it decides what time is,
// the operating system (engine/asio_env) or a simulator; no decision rests on anything else. Only the blocking faces
// (a caller who waits for an answer, close()) wait on the system's own condition variables.
#pragma once

#include <cremone/callback.hpp>
#include <cremone/types.hpp>

#include <cstdint>
#include <memory>
#include <span>

namespace cremone {

/// A one-shot alarm. May be armed again, from any thread; arming replaces what was armed. Once destroyed or
/// disarmed it fires no more, except that a call already under way on the executor may still finish: what it
/// reaches must therefore be held weakly.
class timer {
 public:
  timer() = default;
  timer(const timer&) = delete;
  timer& operator=(const timer&) = delete;
  virtual ~timer() = default;

  virtual void arm(instant when) = 0;
  virtual void disarm() = 0;
};

/// Threads: every member may be called from any thread.
class env {
 public:
  env() = default;
  env(const env&) = delete;
  env& operator=(const env&) = delete;
  virtual ~env() = default;

  [[nodiscard]] virtual instant now() noexcept = 0;
  [[nodiscard]] virtual wall_time wall_now() noexcept = 0;

  /// Fills `out` with bytes that nobody can guess and no other process draws.
  virtual void random(std::span<std::uint8_t> out) noexcept = 0;

  /// `on_fire` runs on the executor.
  [[nodiscard]] virtual std::unique_ptr<timer> make_timer(callback<void()> on_fire) = 0;

  /// Runs `fn` soon on the executor: ours alone, where nothing blocks and no user code runs.
  virtual void post(callback<void()> fn) = 0;

  /// Runs `fn`, which calls user code, in order, where it may take its time without delaying a renewal. False,
  /// and `fn` untouched, once stopped or when the system has no thread for it.
  [[nodiscard]] virtual bool post_user(callback<void()>& fn) = 0;

  /// Stops both, waiting a bounded time for what runs. Nothing posted later runs.
  virtual void stop() noexcept = 0;
};

}  // namespace cremone
