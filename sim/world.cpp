// SPDX-License-Identifier: Apache-2.0
#include "sim/world.hpp"

#include <algorithm>
#include <utility>

namespace cremone::sim {

void world::at(moment when, callback<void()> what) {
  queue_.push_back({std::max(when, now_), ++order_, std::move(what)});
  std::push_heap(queue_.begin(), queue_.end(), later);
}

bool world::step() {
  if (queue_.empty()) {
    return false;
  }
  std::pop_heap(queue_.begin(), queue_.end(), later);
  event next = std::move(queue_.back());
  queue_.pop_back();
  now_ = next.when;
  ++steps_;
  next.what();
  return true;
}

}  // namespace cremone::sim
