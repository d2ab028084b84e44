// SPDX-License-Identifier: Apache-2.0
#include "engine/loop_thread.hpp"

#include "base/signals.hpp"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>

#include <pthread.h>

#include <condition_variable>
#include <optional>
#include <thread>

namespace cremone::detail {

/// Shared with the thread, which may outlive its owner when somebody's callback is stuck on it.
struct loop_thread::state {
  boost::asio::io_context context{1};  // one thread: Asio may skip some of its locking
  std::optional<boost::asio::executor_work_guard<boost::asio::io_context::executor_type>> work{
      boost::asio::make_work_guard(context)};
  std::thread thread;

  std::mutex mutex;
  std::condition_variable ended_changed;
  bool ended = false;

  void run() {
    context.run();
    const std::lock_guard lock(mutex);
    ended = true;
    ended_changed.notify_all();
  }
};

loop_thread::loop_thread(std::string name) : name_(std::move(name)), state_(std::make_shared<state>()) {}

loop_thread::~loop_thread() { stop(pending::dropped, std::chrono::seconds(1)); }

boost::asio::io_context& loop_thread::context() noexcept { return state_->context; }

bool loop_thread::post(callback<void()>& fn) {
  const std::lock_guard lock(mutex_);
  if (!state_) {
    return false;
  }
  if (!started_) {
    const signals_blocked guard;
    state_->thread = std::thread([keep = state_] { keep->run(); });
    ::pthread_setname_np(state_->thread.native_handle(), name_.c_str());
    started_ = true;
  }
  boost::asio::post(state_->context, std::move(fn));
  return true;
}

void loop_thread::stop(pending what, std::chrono::milliseconds bound) noexcept {
  std::shared_ptr<state> last;
  {
    const std::lock_guard lock(mutex_);
    last = std::move(state_);
  }
  if (!last) {
    return;
  }
  last->work.reset();
  if (what == pending::dropped) {
    last->context.stop();
  }
  if (!last->thread.joinable()) {
    return;
  }
  if (last->thread.get_id() == std::this_thread::get_id()) {
    last->thread.detach();
    return;
  }
  bool ended = false;
  {
    std::unique_lock lock(last->mutex);
    ended = last->ended_changed.wait_for(lock, bound, [&] { return last->ended; });
  }
  if (ended) {
    last->thread.join();
  } else {
    last->thread.detach();
  }
}

}  // namespace cremone::detail
