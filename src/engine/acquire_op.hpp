// SPDX-License-Identifier: Apache-2.0
//
// Drives core::acquire. Answers, hints, ticks and cancellation may come from any thread at any time; they are put
// into an inbox, and one thread at a time takes them out, asks the machine and does what it says. So the machine
// is never entered twice, and what is sent to the store for one owner leaves in the order decided.
#pragma once

#include "core/acquire.hpp"
#include "engine/engine.hpp"

#include <cremone/backend.hpp>

#include <memory>
#include <mutex>
#include <optional>
#include <set>

namespace cremone::detail {

class acquire_op final : public hint_sink, public std::enable_shared_from_this<acquire_op> {
 public:
  /// `options.ttl` must be set.
  acquire_op(std::shared_ptr<engine> by, const lock_name& name, const acquire_options& options,
             owner_data who, callback<void(result<lease>)> done);

  void start();
  void hint() noexcept override;
  void next() noexcept override;
  void cancel(error why);
  [[nodiscard]] std::uint64_t number() const noexcept { return number_; }

 private:
  /// At most one of each can be waiting: the machine has one request under way, and hints and ticks add up.
  struct inbox {
    bool start = false;
    bool hint = false;
    bool next = false;
    bool tick = false;
    std::optional<acquire_answer> answer;
    std::optional<bool> evicted;  // in doubt?
    std::optional<error> cancel;

    [[nodiscard]] bool empty() const noexcept {
      return !start && !hint && !next && !tick && !answer && !evicted && !cancel;
    }
  };

  template <class F>
  void deliver(F&& put);
  void drain();
  void handle(inbox&& news);
  [[nodiscard]] core::acquire_action on_answer(acquire_answer&& a);
  [[nodiscard]] core::acquire_action on_refusal(instant now);
  class purge;
  void report_eviction(const hold_version& of);
  void report_observation(instant until);
  void perform(const core::acquire_action& action);
  void send_attempt(const core::acquire_action& action);
  void send_evict(const core::acquire_action& action);
  [[nodiscard]] bool enlist();
  void sleep_until(instant when);
  void withdraw();
  void succeed(const core::acquire_action& action);
  void fail(const error& why);
  void finish(result<lease> r);
  [[nodiscard]] error explained(const error& why);
  [[nodiscard]] std::optional<std::chrono::nanoseconds> silence();
  [[nodiscard]] instant now() { return engine_->outside().now(); }

  const std::shared_ptr<engine> engine_;
  const std::uint64_t number_ = engine_->next_number();

  std::mutex mutex_;
  bool draining_ = false;
  inbox inbox_;
  std::set<owner_id> taken_over_;  // whose takeover was told

  // Touched only by the thread that drains, once started.
  acquire_request request_;
  const std::chrono::milliseconds max_hold_;
  const int renewals_per_ttl_;
  const bool takes_over_;  // acquire_options::take_over_abandoned
  core::acquire machine_;
  callback<void(result<lease>)> done_;
  grant granted_;
  rejection last_no_{
      .why = error(errc::unreachable)};  // for the message; until there is one, nobody was reached
  bool recalled_ = false;                // what earlier processes saw of the holders is in the table
  bool recalled_quarantine_ = false;     // and of the server's quarantine
  bool registered_ = false;
  std::unique_ptr<timer> timer_;
};

}  // namespace cremone::detail
