// SPDX-License-Identifier: Apache-2.0
#include "engine/release_op.hpp"

namespace cremone::detail {

void release_op::send() {
  engine_->store().release(request_, [self = shared_from_this()](const answer& a) { self->answered(a); });
}

void release_op::answered(const answer& a) {
  if (std::holds_alternative<done>(a)) {
    follow(machine_.done());
    return;
  }
  const instant now = engine_->outside().now();
  if (const auto* no = std::get_if<refused>(&a)) {
    follow(machine_.refused(now, no->why));
  } else {
    follow(machine_.unknown(now, std::get<unknown>(a).why));
  }
}

void release_op::follow(core::release::next n) {
  if (n != core::release::next::sleep || !engine_->keep_sleeping(shared_from_this())) {
    return finish();
  }
  if (!timer_) {
    timer_ = engine_->outside().make_timer([weak = weak_from_this()] {
      if (const auto self = weak.lock()) {
        self->wake();
      }
    });
  }
  asleep_ = true;
  timer_->arm(machine_.wake_at());
}

void release_op::wake() {
  if (asleep_.exchange(false)) {
    engine_->woke_up(shared_from_this());
    send();
  }
}

void release_op::give_up() {
  if (asleep_.exchange(false)) {
    finish();
  }
}

void release_op::finish() {
  done_(machine_.outcome());
  engine_->release_finished();
}

}  // namespace cremone::detail
