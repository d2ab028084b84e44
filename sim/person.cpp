// SPDX-License-Identifier: Apache-2.0
#include "sim/person.hpp"

#include "base/events.hpp"

#include <chrono>
#include <utility>
#include <variant>

namespace cremone::sim {

namespace {

constexpr std::chrono::seconds before_it_asks_again{1};

void ask(const std::shared_ptr<process>& by, const std::shared_ptr<backend>& store, world& time,
         const std::shared_ptr<bool>& done) {
  by->thread().deliver([by, store, &time, done] {
    store->end_quarantine([by, store, &time, done](const answer& a) {
      *done = *done || std::holds_alternative<cremone::done>(a);
      if (!*done) {
        time.at(time.now() + before_it_asks_again, [by, store, &time, done] { ask(by, store, time, done); });
      }
    });
  });
}

}  // namespace

person::person(surroundings& around, machine_clock time, dice noise)
    : around_(around),
      clock_(std::move(time)),
      process_(std::make_shared<process>(around.time, "person", clock_, noise, preemption{})),
      store_(around.open(process_, around.net.for_process(process_),
                         std::make_shared<const event_hub>(process_, [](const store_event&) {}))) {}

person::~person() {
  around_.net.hang_up(*process_);
  process_->kill();
  store_->close();
}

void person::end_quarantines() {
  around_.told.say(around_.time.now(), process_->name(), "lets all servers begin");
  ask(process_, store_, around_.time, done_);
}

}  // namespace cremone::sim
