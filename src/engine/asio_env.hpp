// SPDX-License-Identifier: Apache-2.0
//
// The env of a real process: the validity clock, the kernel's random source, one I/O thread for timers and
// sockets, and one thread for the user's callbacks, started when there is first something to call.
#pragma once

#include "base/env.hpp"
#include "base/transport.hpp"
#include "engine/loop_thread.hpp"

#include <memory>

namespace cremone::detail {

class asio_env final : public env {
 public:
  asio_env();
  ~asio_env() override;

  [[nodiscard]] instant now() noexcept override { return validity_clock::now(); }
  [[nodiscard]] wall_time wall_now() noexcept override;
  void random(std::span<std::uint8_t> out) noexcept override;
  [[nodiscard]] std::unique_ptr<timer> make_timer(callback<void()> on_fire) override;
  void post(callback<void()> fn) override;
  [[nodiscard]] bool post_user(callback<void()>& fn) override;
  void stop() noexcept override;

  /// Its events come on this env's executor. Not after stop(), but what it returned may be used and kept on: nothing
  /// comes of it then. Only in builds with a store that is reached by a network.
  [[nodiscard]] std::shared_ptr<transport> network();

 private:
  class alarm_clock;

  loop_thread io_;
  loop_thread user_;
  std::shared_ptr<alarm_clock> alarms_;
};

}  // namespace cremone::detail
