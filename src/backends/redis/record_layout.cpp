// SPDX-License-Identifier: Apache-2.0
//
// What `doctor` finds out about the layout: whether names that are in use here are also the locks of another program.
#include "backends/redis/record.hpp"

#include "backends/redis/diagnosis.hpp"

#include <chrono>
#include <iterator>
#include <mutex>
#include <set>
#include <utility>

namespace cremone::redis {

namespace {

/// Keys per step of a SCAN.
constexpr std::string_view step_size = "500";

}  // namespace

/// One look of `doctor` at the names in use.
struct record_backend::layout_check {
  static constexpr std::size_t most_names = 100;  // shown are a few; these are enough to notice a habit
  static constexpr int most_steps = 20;           // of a SCAN: ten thousand keys
  static constexpr std::chrono::milliseconds look_limit{500};  // twice; `doctor` is waited for

  instant give_up{};
  callback<void(finding)> reply;
  int steps = 0;
  std::set<std::string> names;
  std::mutex mutex;  // of the rest: close() answers on another thread
  std::size_t left = 0;
  names_in_both seen;
};

/// Of the names that are held, waited for or were released lately.
void record_backend::check_layout(instant give_up, callback<void(finding)> reply) {
  const auto c = std::make_shared<layout_check>();
  c->give_up = give_up;
  c->reply = std::move(reply);
  gather_names(c, "0");
}

void record_backend::gather_names(const std::shared_ptr<layout_check>& c, const std::string& cursor) {
  const bool enough = c->names.size() >= layout_check::most_names || c->steps++ == layout_check::most_steps;
  if (enough || env_->now() >= c->give_up) {
    return look_for_others(c);
  }
  scan_names(cursor, step_size,
             [self = shared_from_this(), c](result<std::pair<std::string, std::vector<lock_name>>> step) {
               for (const lock_name& name : step ? step->second : std::vector<lock_name>()) {
                 c->names.insert(name.str());
               }
               return step && step->first != "0" ? self->gather_names(c, step->first)
                                                 : self->look_for_others(c);
             });
}

void record_backend::look_for_others(const std::shared_ptr<layout_check>& c) {
  const auto finish = [self = shared_from_this(), c] {
    c->reply(judge_layout(purpose_of(self->node_->settings()), c->seen));
  };
  while (c->names.size() > layout_check::most_names) {
    c->names.erase(std::prev(c->names.end()));
  }
  c->left = c->names.size();
  if (c->names.empty()) {
    return finish();
  }
  for (const std::string& name : c->names) {
    foreign_->look(lock_name(name), layout_check::look_limit, [c, name, finish](foreign_look one) {
      std::unique_lock lock(c->mutex);
      c->seen.looked_at += one.answered && !one.denied ? 1U : 0U;
      c->seen.denied = c->seen.denied || one.denied;
      if (!one.found.empty()) {
        c->seen.both.push_back(name);
        c->seen.first = c->seen.first.empty() ? std::move(one.found) : std::move(c->seen.first);
      }
      const bool last = --c->left == 0;
      lock.unlock();
      if (last) {
        finish();
      }
    });
  }
}

}  // namespace cremone::redis
