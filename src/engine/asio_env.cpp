// SPDX-License-Identifier: Apache-2.0
#include "engine/asio_env.hpp"

#include "base/check.hpp"

#include <boost/asio/posix/stream_descriptor.hpp>

#include <fcntl.h>
#include <sys/random.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <cerrno>
#include <map>
#include <mutex>
#include <optional>
#include <system_error>

namespace cremone::detail {

/// All timers of one env on one timerfd. CLOCK_BOOTTIME, because a timer that sleeps through a suspend would
/// tell a holder of its loss a whole suspend too late. That clock is slewed and ours is not, so that when it
/// fires, our own clock decides what is due.
class asio_env::alarm_clock {
 public:
  alarm_clock() : fd_(::timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK)) {
    if (fd_ < 0) {
      throw std::system_error(errno, std::generic_category(), "timerfd_create");
    }
  }
  alarm_clock(const alarm_clock&) = delete;
  alarm_clock& operator=(const alarm_clock&) = delete;
  ~alarm_clock() { ::close(fd_); }

  [[nodiscard]] int fd() const noexcept { return fd_; }

  struct alarm {
    explicit alarm(callback<void()> fn) : on_fire(std::move(fn)) {}
    callback<void()> on_fire;  // called on the I/O thread only
    std::optional<std::multimap<instant, std::shared_ptr<alarm>>::iterator> armed;
  };

  void arm(const std::shared_ptr<alarm>& a, instant when) {
    const std::lock_guard lock(mutex_);
    disarm_locked(*a);
    if (stopped_ || when == instant::max()) {
      return;
    }
    a->armed = queue_.emplace(when, a);
    set_kernel_timer();
  }

  void disarm(alarm& a) {
    const std::lock_guard lock(mutex_);
    disarm_locked(a);  // the kernel's timer may fire for nothing once; cheaper than a system call here
  }

  void stop() {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    for (auto& [when, a] : queue_) {
      a->armed.reset();
    }
    queue_.clear();
  }

  /// The kernel's timer fired: call what is due, the longest overdue first, so that a crowd of waiters delays a
  /// renewal by no more than those who were due before it. After a slice the loop gets its turn: answers and
  /// posts are not to wait for a crowd either. On the I/O thread.
  void fire() {
    std::uint64_t expirations = 0;
    [[maybe_unused]] const auto got = ::read(fd_, &expirations, sizeof expirations);
    {
      const std::lock_guard lock(mutex_);
      kernel_at_ = instant::min();  // whoever arms meanwhile leaves the kernel's timer to us
    }
    for (int i = 0; i < slice; ++i) {
      const auto due = take_due();
      if (!due) {
        break;
      }
      due->on_fire();
    }
    const std::lock_guard lock(mutex_);
    kernel_at_ = instant::max();
    set_kernel_timer();
  }

 private:
  static constexpr int slice = 64;

  [[nodiscard]] std::shared_ptr<alarm> take_due() {
    const std::lock_guard lock(mutex_);
    if (queue_.empty() || queue_.begin()->first > validity_clock::now()) {
      return nullptr;
    }
    auto due = queue_.begin()->second;
    disarm_locked(*due);
    return due;
  }

  void disarm_locked(alarm& a) {
    if (a.armed) {
      queue_.erase(*a.armed);
      a.armed.reset();
    }
  }

  /// Tells the kernel when the first alarm is due, unless it will wake us by then anyway.
  void set_kernel_timer() {
    if (queue_.empty() || kernel_at_ <= queue_.begin()->first) {
      return;
    }
    kernel_at_ = queue_.begin()->first;
    const auto left = std::max<validity_clock::duration>(kernel_at_ - validity_clock::now(),
                                                         validity_clock::duration(1));  // 0 would disarm it
    itimerspec spec{};
    spec.it_value.tv_sec = left.count() / 1'000'000'000;
    spec.it_value.tv_nsec = left.count() % 1'000'000'000;
    CREMONE_CHECK(::timerfd_settime(fd_, 0, &spec, nullptr) == 0);
  }

  int fd_;
  std::mutex mutex_;
  bool stopped_ = false;
  std::multimap<instant, std::shared_ptr<alarm>> queue_;
  instant kernel_at_ = instant::max();  // when the kernel's timer fires
};

namespace {

template <class Clock>
class alarm_timer final : public timer {
 public:
  alarm_timer(std::shared_ptr<Clock> clock, callback<void()> on_fire)
      : clock_(std::move(clock)), alarm_(std::make_shared<typename Clock::alarm>(std::move(on_fire))) {}
  ~alarm_timer() override { clock_->disarm(*alarm_); }

  void arm(instant when) override { clock_->arm(alarm_, when); }
  void disarm() override { clock_->disarm(*alarm_); }

 private:
  std::shared_ptr<Clock> clock_;
  std::shared_ptr<typename Clock::alarm> alarm_;
};

/// Waits for the timerfd on the I/O loop. It has a descriptor of its own, for it goes with the loop, while timers
/// may keep the alarm clock longer.
template <class Clock>
class pump : public std::enable_shared_from_this<pump<Clock>> {
 public:
  pump(boost::asio::io_context& context, std::shared_ptr<Clock> clock)
      : clock_(std::move(clock)), descriptor_(context) {
    const int fd = ::fcntl(clock_->fd(), F_DUPFD_CLOEXEC, 0);
    if (fd < 0) {
      throw std::system_error(errno, std::generic_category(), "dup of a timerfd");
    }
    descriptor_.assign(fd);
  }

  void wait() {
    descriptor_.async_wait(descriptor_.wait_read,
                           [self = this->shared_from_this()](const boost::system::error_code& failed) {
                             if (!failed) {
                               self->clock_->fire();
                               self->wait();
                             }
                           });
  }

 private:
  std::shared_ptr<Clock> clock_;
  boost::asio::posix::stream_descriptor descriptor_;
};

/// How long stop() waits for each thread. Ours never blocks; a user's callback may.
constexpr std::chrono::milliseconds thread_end_bound{400};

}  // namespace

asio_env::asio_env() : io_("cremone-io"), user_("cremone-user"), alarms_(std::make_shared<alarm_clock>()) {
  auto wheel = std::make_shared<pump<alarm_clock>>(io_.context(), alarms_);
  post([wheel] { wheel->wait(); });
}

asio_env::~asio_env() { stop(); }

wall_time asio_env::wall_now() noexcept {
  return std::chrono::floor<std::chrono::microseconds>(std::chrono::system_clock::now());
}

void asio_env::random(std::span<std::uint8_t> out) noexcept {
  // From the kernel each time, never from a pool: a pool would be copied by fork and by cloning a machine, and
  // two owners would draw the same id.
  CREMONE_CHECK(::getrandom(out.data(), out.size(), 0) == static_cast<ssize_t>(out.size()));
}

std::unique_ptr<timer> asio_env::make_timer(callback<void()> on_fire) {
  return std::make_unique<alarm_timer<alarm_clock>>(alarms_, std::move(on_fire));
}

void asio_env::post(callback<void()> fn) { io_.post(fn); }

bool asio_env::post_user(callback<void()>& fn) {
  try {
    return user_.post(fn);
  } catch (const std::system_error&) {
    return false;  // no thread to be had; a notice of loss must not be lost with it, nor end the I/O thread
  }
}

void asio_env::stop() noexcept {
  alarms_->stop();
  io_.stop(loop_thread::pending::dropped, thread_end_bound);
  user_.stop(loop_thread::pending::run, thread_end_bound);
}

}  // namespace cremone::detail
