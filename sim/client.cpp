// SPDX-License-Identifier: Apache-2.0
#include "sim/client.hpp"

#include "base/events.hpp"
#include "engine/engine.hpp"
#include "engine/seen_notes.hpp"
#include "sim/worker.hpp"

#include <algorithm>
#include <utility>

namespace cremone::sim {

namespace {

/// The machine's notes, as one process sees them. A dead process writes nothing.
class machine_notes final : public detail::seen_notes {
 public:
  machine_notes(std::vector<core::sighting>& all, std::string clock, std::weak_ptr<const process> by)
      : all_(all), clock_(std::move(clock)), by_(std::move(by)) {}

  [[nodiscard]] const std::string& clock() override { return clock_; }
  [[nodiscard]] std::span<const core::sighting> look() override { return all_; }
  [[nodiscard]] std::span<const core::sighting> known() const noexcept override { return all_; }
  [[nodiscard]] bool add(const core::vantage& from, core::seen_holds ours, instant now) override {
    const auto alive = by_.lock();
    if (!alive || !alive->alive()) {
      return false;
    }
    all_ = core::merge(std::move(all_), from, ours, now);
    return true;
  }

 private:
  std::vector<core::sighting>& all_;
  const std::string clock_;
  const std::weak_ptr<const process> by_;
};

}  // namespace

client_machine::client_machine(surroundings& around, std::string name, machine_clock time, dice noise)
    : around_(around), name_(std::move(name)), clock_(std::move(time)), noise_(noise) {
  const int workers = around.what.workers;
  for (int i = 0; i < workers; ++i) {
    left_.push_back((around.what.acquisitions + workers - 1 - i) / workers);
  }
}

client_machine::~client_machine() { end(); }

void client_machine::boot() {
  if (running()) {
    return;
  }
  ++programs_;
  const plan& what = around_.what;
  preemption stops;
  if (what.mix.has(fault::preempt) && !healed_) {
    stops = {what.preempt_one_in, what.longest_pause, [this](moment span) {
               around_.facts.struck(fault::preempt);
               if (around_.told.on()) {
                 around_.told.say(around_.time.now(), name_,
                                  "FAULT preempt: stopped within a step for " + shown(span) + " s");
               }
             }};
  }
  process_ = std::make_shared<process>(around_.time, name_, clock_, noise_.fork(), std::move(stops));
  // Also when nobody looks: being told takes time, and a trace must change nothing.
  callback<void(const store_event&)> tell = [this](const store_event& e) {
    if (around_.told.on()) {
      around_.told.say(around_.time.now(), name_, "is told: " + e.message);
    }
  };
  // No probes: no lock depends on them, and their messages would change the schedule of every seed.
  const auto events = std::make_shared<const event_hub>(process_, std::move(tell), probing::off);
  auto store = around_.open(process_, around_.net.for_process(process_), events);
  engine_ = std::make_shared<detail::engine>(
      process_, std::move(store), std::make_unique<machine_notes>(notes_, "clock of " + name_, process_),
      events, process_identity{name_, 100 + programs_, "sim"});
  for (std::size_t i = 0; i < left_.size(); ++i) {
    workers_.push_back(std::make_shared<worker>(around_.time, what, around_.facts, around_.told, process_,
                                                engine_, noise_.fork(), left_[i],
                                                name_ + "." + std::to_string(i + 1)));
    process_->thread().deliver([w = workers_.back(), more = healed_] { more ? w->once_more() : w->start(); });
  }
}

/// Without a word to anyone. What it has sent is under way.
void client_machine::end() {
  if (!running()) {
    return;
  }
  process_->kill();
  around_.facts.killed(*process_);
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    left_[i] = std::max(workers_[i]->left(), 0);
    workers_[i]->end();
  }
  engine_->close(std::chrono::milliseconds(0));
  workers_.clear();
  engine_.reset();
  process_.reset();
  clock_.thaw(around_.time.now());
}

void client_machine::crash(moment down_for, bool replaced) {
  if (replaced) {  // the machine is gone, and nobody says so
    notes_.clear();
  } else if (running()) {
    around_.net.hang_up(*process_);
  }
  end();
  around_.time.at(around_.time.now() + down_for, [this] { boot(); });
}

void client_machine::pause(moment span, bool clock_stands_still) {
  if (!running()) {
    return;
  }
  const moment now = around_.time.now();
  process_->thread().stop_until(now + span);
  if (clock_stands_still) {
    clock_.freeze(now);
    around_.time.at(now + span, [this] { clock_.thaw(around_.time.now()); });
  }
}

bool client_machine::idle() const {
  if (!running()) {
    return std::all_of(left_.begin(), left_.end(), [](int n) { return n == 0; });
  }
  return std::all_of(workers_.begin(), workers_.end(), [](const auto& w) { return w->left() <= 0; });
}

void client_machine::heal() {
  healed_ = true;
  set_wall(-clock_.wall_ahead());
  clock_.thaw(around_.time.now());
  if (!running()) {
    return boot();
  }
  process_->leave_alone();
  process_->thread().go_on();
  for (const auto& w : workers_) {
    process_->thread().deliver([w] { w->once_more(); });
  }
}

bool client_machine::satisfied() const {
  return running() &&
         std::all_of(workers_.begin(), workers_.end(), [](const auto& w) { return w->satisfied(); });
}

}  // namespace cremone::sim
