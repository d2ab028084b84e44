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
  if (n == core::release::next::finished) {
    return finish(machine_.outcome());
  }
  if (!timer_) {
    timer_ = engine_->outside().make_timer([weak = weak_from_this()] {
      if (const auto self = weak.lock(); self && !self->over()) {
        self->send();
      }
    });
  }
  timer_->arm(machine_.wake_at());
}

void release_op::give_up() {
  finish(error(errc::outcome_unknown, "the client was closed before the store had answered"));
}

void release_op::finish(result<void> outcome) {
  if (!over_.exchange(true)) {
    done_(std::move(outcome));
    engine_->finished(shared_from_this());
  }
}

}  // namespace cremone::detail
