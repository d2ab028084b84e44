// SPDX-License-Identifier: Apache-2.0
//
// A thread that runs an Asio event loop, can be posted to, and ends within a bound. What runs on it is others'
// business.
#pragma once

#include <cremone/callback.hpp>

#include <boost/asio/io_context.hpp>

#include <chrono>
#include <memory>
#include <mutex>
#include <string>

namespace cremone::detail {

/// Threads: all members from any thread. The thread starts with the first post, with all signals blocked, so
/// that the program's own handling of signals is not disturbed.
class loop_thread {
 public:
  explicit loop_thread(std::string name);
  loop_thread(const loop_thread&) = delete;
  loop_thread& operator=(const loop_thread&) = delete;
  ~loop_thread();

  /// False, and `fn` untouched, once stopped. Throws std::system_error when no thread can be started.
  bool post(callback<void()>& fn);

  /// For I/O objects that live on the loop. Valid until stopped.
  [[nodiscard]] boost::asio::io_context& context() noexcept;

  enum class pending : bool { dropped, run };

  /// Ends the loop, after running what is posted already or without. Waits for the thread for at most `bound`;
  /// one that is stuck in somebody's callback is left to end by itself. Called on the loop's own thread it does
  /// not wait.
  void stop(pending what, std::chrono::milliseconds bound) noexcept;

 private:
  struct state;

  std::mutex mutex_;
  std::string name_;
  bool started_ = false;
  std::shared_ptr<state> state_;
};

}  // namespace cremone::detail
