// SPDX-License-Identifier: Apache-2.0
#include "sim/worker.hpp"

#include "engine/acquire_op.hpp"
#include "engine/engine.hpp"
#include "engine/hold.hpp"

#include <algorithm>
#include <utility>

namespace cremone::sim {

namespace {

std::string misjudged(const std::string& who, const lock_name& name, std::uint64_t token, bool passed) {
  return who + " came to '" + name.str() + "' with token " + std::to_string(token) +
         (passed ? ", and was let pass after a higher one" : ", the highest so far, and was refused");
}

}  // namespace

worker::worker(world& time, const plan& what, history& facts, const trace& told, std::shared_ptr<process> on,
               std::weak_ptr<detail::engine> by, dice noise, int acquisitions, std::string who)
    : world_(time),
      plan_(what),
      facts_(facts),
      trace_(told),
      process_(std::move(on)),
      engine_(std::move(by)),
      noise_(noise),
      who_(std::move(who)),
      left_(acquisitions) {}

void worker::say(const std::string& what) const { trace_.say(process_->time(), who_, what); }

void worker::start() {
  if (!busy_ && !over_ && (left_ > 0 || (last_ && !satisfied_))) {
    busy_ = true;
    think();
  }
}

void worker::once_more() {
  left_ = 0;
  last_ = true;
  start();
}

/// The engine may still answer, and the lease still be told that it is lost: all that finds out that this is over.
void worker::end() {
  over_ = true;
  timer_.reset();
  patience_.reset();
  lease_ = lease();
}

void worker::after(moment span, void (worker::*then)()) {
  then_ = then;
  if (!timer_) {
    timer_ = process_->make_timer([weak = weak_from_this()] {
      if (const auto self = weak.lock(); self && !self->over_) {
        ((*self).*(self->then_))();
      }
    });
  }
  timer_->arm(process_->now() + span);
}

void worker::later(void (worker::*then)()) {
  callback<void()> go = [weak = weak_from_this(), then] {
    if (const auto self = weak.lock(); self && !self->over_) {
      ((*self).*then)();
    }
  };
  (void)process_->post_user(go);
}

void worker::think() {
  if (left_ <= 0 && !(last_ && !satisfied_)) {
    busy_ = false;
    return;
  }
  after(noise_.mostly_short(moment{}, plan_.longest_think), &worker::ask);
}

acquire_options worker::draw_options() {
  acquire_options o;
  o.ttl = plan_.ttl;
  const std::uint64_t kind = noise_.below(4);
  if (kind == 0 && !last_) {
    o.wait = no_wait;
  } else if (kind == 1 && !last_) {
    o.wait = noise_.between(std::chrono::milliseconds(1), 2 * plan_.ttl);
  }
  return o;
}

void worker::ask() {
  const auto by = engine_.lock();
  if (!by) {
    return;
  }
  name_ = lock_name(lock_of(plan_, noise_.below(static_cast<std::uint64_t>(plan_.names))));
  const acquire_options options = draw_options();
  asked_ = process_->time();
  if (trace_.on()) {
    say("asks for '" + name_.str() + "'" +
        (options.wait == no_wait   ? ", once"
         : options.wait == forever ? ""
                                   : ", and waits " + std::to_string(options.wait.count()) + " ms"));
  }
  const auto op = by->acquire(name_, options, [weak = weak_from_this()](result<lease> r) {
    const auto self = weak.lock();
    if (!self || self->over_) {
      return;
    }
    callback<void()> go = [weak, r = std::make_shared<result<lease>>(std::move(r))]() mutable {
      if (const auto again = weak.lock(); again && !again->over_) {
        again->answered(std::move(*r));
      }
    };
    (void)self->process_->post_user(go);
  });
  asking_ = op;
  if (op && !last_ && noise_.one_in(12)) {
    patience_ = process_->make_timer([weak = weak_from_this()] {
      const auto self = weak.lock();
      if (const auto asking = self ? self->asking_.lock() : nullptr) {
        self->say("changes its mind");
        asking->cancel(error(errc::cancelled, "it changed its mind"));
      }
    });
    patience_->arm(process_->now() + noise_.mostly_short(moment{}, moment(plan_.ttl)));
  }
}

void worker::answered(result<lease> r) {
  patience_.reset();
  if (r) {
    return got(std::move(*r));
  }
  if (trace_.on()) {
    say("gets nothing: " + r.error().detail());
  }
  think();
}

void worker::got(lease l) {
  lease_ = std::move(l);
  token_ = lease_.token().value();
  number_ = facts_.acquired(*process_, detail::hold::peek(lease_), asked_);
  --left_;
  satisfied_ = last_;
  if (trace_.on()) {
    say("holds '" + name_.str() + "' with token " + std::to_string(token_));
  }
  lease_.on_lost([weak = weak_from_this(), number = number_](const error& why) {
    if (const auto self = weak.lock(); self && !self->over_) {
      ++self->facts_.result().losses;
      self->facts_.ended(number);
      if (self->trace_.on()) {
        self->say("hears that it lost it: " + why.detail());
      }
    }
  });
  const moment most = last_ ? moment(std::chrono::milliseconds(1)) : plan_.longest_hold;
  use_until_ = process_->time() +
               (noise_.one_in(2) ? noise_.between(moment{}, most) : noise_.mostly_short(moment{}, most));
  read();
}

/// To the resource and back: a network of its own.
moment worker::travel() { return plan_.latency + noise_.between(moment{}, plan_.jitter); }

void worker::read() {
  world_.at(process_->time() + travel(), [weak = weak_from_this(), name = name_, token = token_] {
    const auto self = weak.lock();
    if (!self) {
      return;
    }
    const resource::seen seen = self->facts_.of(name).read(token);
    if (seen.misjudged) {
      self->facts_.violated(violation_kind::fence, misjudged(self->who_, name, token, seen.allowed), token);
    }
    self->process_->thread().deliver_at(self->world_.now() + self->travel(), [weak, seen] {
      if (const auto here = weak.lock(); here && !here->over_) {
        here->seen_ = seen;
        here->change();
      }
    });
  });
}

void worker::change() {
  const moment left = std::max(use_until_ - process_->time(), moment{});
  after(noise_.between(moment{}, left), &worker::write);
}

void worker::write() {
  if (!lease_.held()) {
    facts_.ended(number_);
    lease_ = lease();
    return think();
  }
  if (plan_.mix.has(fault::pause) && !last_ && noise_.one_in(12)) {  // where it hurts most
    const moment span = noise_.between(moment{}, plan_.longest_pause);
    facts_.struck(fault::pause);
    say("FAULT pause: stopped before it writes, for " + shown(span) + " s");
    process_->thread().stop_until(process_->time() + span);
  }
  later(&worker::send);
}

/// It was held a moment ago. A message may take as long as a request to a store; the next thing is done when it was answered.
void worker::send() {
  moment way = travel();
  if (plan_.mix.has(fault::delay) && noise_.one_in(10)) {
    way += noise_.mostly_short(moment{}, plan_.longest_delay);
  }
  const moment back = travel();
  world_.at(process_->time() + way, [weak = weak_from_this(), &facts = facts_, &told = trace_, &w = world_,
                                     who = who_, name = name_, token = token_, seen = seen_, back] {
    const resource::outcome o = facts.of(name).write(token, seen);
    facts.wrote(o);
    if (told.on()) {
      told.say(w.now(), "resource",
               (o.accepted ? "takes" : "REFUSES") + std::string(" a write of ") + who + " to '" + name.str() +
                   "' with token " + std::to_string(token) +
                   (o.lost_another_unfenced ? "; without a fence it undoes another's" : ""));
    }
    if (o.misjudged) {
      facts.violated(violation_kind::fence, misjudged(who, name, token, o.accepted), token);
    }
    if (o.lost_another) {
      facts.violated(violation_kind::fence,
                     "the write of " + who + " to '" + name.str() + "' with token " + std::to_string(token) +
                         " undid one that had been accepted",
                     token);
    }
    if (const auto self = weak.lock()) {
      self->process_->thread().deliver_at(w.now() + back, [weak] {
        if (const auto here = weak.lock(); here && !here->over_) {
          here->wrote();
        }
      });
    }
  });
}

void worker::wrote() {
  if (process_->time() < use_until_) {
    return read();
  }
  release();
}

void worker::release() {
  facts_.ended(number_);
  if (trace_.on()) {
    say("releases '" + name_.str() + "'");
  }
  const auto by = engine_.lock();
  if (!by) {
    return;
  }
  by->end_handle(detail::hold::take(lease_), [weak = weak_from_this()](const result<void>&) {
    if (const auto self = weak.lock(); self && !self->over_) {
      self->later(&worker::think);
    }
  });
}

}  // namespace cremone::sim
