// SPDX-License-Identifier: Apache-2.0
#include "sim/process.hpp"

#include <algorithm>
#include <utility>

namespace cremone::sim {

namespace {
constexpr moment look_at_clock = std::chrono::nanoseconds(50);
constexpr moment latest_alarm =
    std::chrono::microseconds(300);  // a thread is woken up some time after its timer fires
constexpr moment latest_user = std::chrono::microseconds(100);  // ... and after something was posted for it
}  // namespace

/// What a timer calls. One wake-up is under way at most: when it comes too early it goes on to when it is due.
struct process::alarm : std::enable_shared_from_this<alarm> {
  alarm(std::weak_ptr<process> p, callback<void()> fn) : of(std::move(p)), on_fire(std::move(fn)) {}

  void wake_at(process& p, moment when) {
    if (when >= wake || when == moment::max()) {
      return;
    }
    wake = when;
    p.strand_->deliver_at(when, [weak = weak_from_this(), when] {
      const auto self = weak.lock();
      if (self && self->wake == when) {
        self->wake = moment::max();
        self->woken();
      }
    });
  }

  void woken() {
    const auto p = of.lock();
    if (!p || p->stopped_ || due == instant::max()) {
      return;
    }
    const moment now = p->time();
    if (p->clock_.at(now) < due) {
      return wake_at(*p, std::max(p->clock_.when_shows(due), now + look_at_clock));
    }
    due = instant::max();
    on_fire();
  }

  const std::weak_ptr<process> of;
  callback<void()> on_fire;
  instant due = instant::max();
  moment wake = moment::max();
};

class process::alarm_timer final : public timer {
 public:
  explicit alarm_timer(std::shared_ptr<alarm> a) : alarm_(std::move(a)) {}
  alarm_timer(const alarm_timer&) = delete;
  alarm_timer& operator=(const alarm_timer&) = delete;
  ~alarm_timer() override { alarm_->due = instant::max(); }

  void arm(instant when) override {
    alarm_->due = when;
    const auto p = alarm_->of.lock();
    if (!p || when == instant::max()) {
      return;
    }
    const moment at = p->clock_.when_shows(when);
    if (at != moment::max()) {
      alarm_->wake_at(*p, std::max(at, p->time()) + p->noise_.between(moment{}, latest_alarm));
    }
  }
  void disarm() override { alarm_->due = instant::max(); }

 private:
  const std::shared_ptr<alarm> alarm_;
};

process::process(world& of, std::string name, machine_clock& time, dice noise, preemption stops)
    : world_(of),
      name_(std::move(name)),
      clock_(time),
      noise_(noise.fork()),
      stops_(std::move(stops)),
      strand_(std::make_shared<strand>(of, noise.fork())) {}

process::~process() { strand_->kill(); }

instant process::now() noexcept {
  if (strand_->inside()) {
    strand_->dawdle(look_at_clock);
    if (stops_.one_in != 0 && noise_.one_in(stops_.one_in) && alive()) {
      const moment span = noise_.mostly_short(moment(std::chrono::microseconds(1)), stops_.longest);
      strand_->dawdle(span);
      stops_.told(span);
    }
  }
  return clock_.at(strand_->time());
}

wall_time process::wall_now() noexcept { return clock_.wall_at(strand_->time()); }

void process::random(std::span<std::uint8_t> out) noexcept {
  for (std::uint8_t& byte : out) {
    byte = static_cast<std::uint8_t>(noise_.next());
  }
}

std::unique_ptr<timer> process::make_timer(callback<void()> on_fire) {
  return std::make_unique<alarm_timer>(std::make_shared<alarm>(weak_from_this(), std::move(on_fire)));
}

void process::post(callback<void()> fn) {
  if (!stopped_ && alive()) {
    strand_->deliver_at(strand_->time(), std::move(fn));
  }
}

/// A thread of its own in the real world: later, and in order.
bool process::post_user(callback<void()>& fn) {
  if (stopped_ || !alive()) {
    return false;
  }
  last_user_ = std::max(last_user_, strand_->time() + noise_.between(moment{}, latest_user));
  strand_->deliver_at(last_user_, std::move(fn));
  return true;
}

}  // namespace cremone::sim
