// SPDX-License-Identifier: Apache-2.0
//
// Drives core::release: sends the release, sleeps, sends again. There is one request or one sleep at a time, so
// that it needs no lock.
#pragma once

#include "core/release.hpp"
#include "engine/engine.hpp"

#include <atomic>
#include <memory>

namespace cremone::detail {

class release_op : public std::enable_shared_from_this<release_op> {
 public:
  release_op(std::shared_ptr<engine> by, const lock_name& name, const owner_id& owner,
             std::chrono::milliseconds patience, callback<void(result<void>)> done)
      : engine_(std::move(by)),
        request_{name, owner},
        machine_(engine_->outside().now(), patience, owner.raw()[0]),
        done_(std::move(done)) {}

  void start() { send(); }

  /// The client is closed and no answer will come.
  void give_up();

  [[nodiscard]] bool over() const noexcept { return over_; }
  [[nodiscard]] std::uint64_t number() const noexcept { return number_; }

 private:
  void send();
  void answered(const answer& a);
  void follow(core::release::next n);
  void finish(result<void> outcome);

  const std::shared_ptr<engine> engine_;
  const std::uint64_t number_ = engine_->next_number();
  const release_request request_;
  core::release machine_;
  callback<void(result<void>)> done_;
  std::unique_ptr<timer> timer_;
  std::atomic<bool> over_ = false;
};

}  // namespace cremone::detail
