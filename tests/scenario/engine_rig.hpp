// SPDX-License-Identifier: Apache-2.0
//
// An engine on virtual time over a scripted store, for tests that look at what the engine sends and when. What is
// right is said by the tests.
#pragma once

#include "engine/acquire_op.hpp"
#include "engine/engine.hpp"
#include "support/manual_env.hpp"
#include "support/scripted_backend.hpp"

#include <cremone/lease.hpp>
#include <cremone/options.hpp>

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace cremone::test {

/// An acquire under way, and what became of it.
struct asked {
  std::shared_ptr<detail::acquire_op> op;
  std::vector<result<lease>> answers;  // one, if all is well

  [[nodiscard]] bool answered() const { return !answers.empty(); }
  [[nodiscard]] errc code() const {
    return answers.empty() || answers.front() ? errc{} : answers.front().error().code();
  }
};

class engine_rig : public ::testing::Test {
 protected:
  using kind = store_call::kind;

  /// Over a network, saying yes to everything, unless told otherwise.
  explicit engine_rig(traits t = network_traits())
      : env_(std::make_shared<manual_env>()),
        store_(std::make_shared<scripted_backend>(env_, std::move(t))),
        engine_(std::make_shared<detail::engine>(env_, store_)) {
    store_->follow(script::yes());
  }

  ~engine_rig() override {
    store_->follow(script::yes());
    for (const auto& op : begun_) {  // else close() waits for answers that only this thread can deliver
      op->cancel(error(errc::cancelled));
    }
    env_->run_all();
    engine_->close();
    store_->drop_waiting();
    env_->run_all();
  }

  [[nodiscard]] std::shared_ptr<asked> ask(const lock_name& name, const acquire_options& options = {}) {
    auto a = std::make_shared<asked>();
    a->op = engine_->acquire(name, options, [a](result<lease> r) { a->answers.push_back(std::move(r)); });
    if (a->op) {
      begun_.push_back(a->op);
    }
    env_->run_all();
    return a;
  }

  /// A lease of a store that grants.
  [[nodiscard]] lease take(const lock_name& name, const acquire_options& options = {}) {
    const auto a = ask(name, options);
    return a->answered() ? std::move(a->answers.front()).value() : lease();
  }

  [[nodiscard]] std::vector<lease> take_many(int count, const acquire_options& options = {}) {
    std::vector<lease> all;
    for (int i = 0; i < count; ++i) {
      all.push_back(take("lock-" + std::to_string(i), options));
    }
    return all;
  }

  /// From now on this kind of call gets no answer by itself.
  void stop_answering(kind what) {
    script_ = script::yes();
    switch (what) {
      case kind::acquire: script_.acquire = nullptr; break;
      case kind::renew: script_.renew = nullptr; break;
      case kind::release: script_.release = nullptr; break;
      default: script_.evict = nullptr; break;
    }
    store_->follow(script_);
  }

  template <class Answer>
  void answer(const store_call& call, Answer a) {
    store_->answer(call.index, std::move(a));
    env_->run_all();
  }

  [[nodiscard]] std::size_t count(kind what) const { return store_->calls(what).size(); }
  [[nodiscard]] store_call last(kind what) const { return store_->calls(what).back(); }

  /// How often the lock was sent for renewal.
  [[nodiscard]] std::size_t renewals_of(const lock_name& name) const {
    std::size_t n = 0;
    for (const store_call& call : store_->calls(kind::renew)) {
      for (const store_call::item& item : call.items) {
        if (item.name == name) {
          ++n;
        }
      }
    }
    return n;
  }

  const std::shared_ptr<manual_env> env_;
  const std::shared_ptr<scripted_backend> store_;
  const std::shared_ptr<detail::engine> engine_;

 private:
  script script_;
  std::vector<std::shared_ptr<detail::acquire_op>> begun_;
};

/// Records the loss of a lease as its holder hears of it.
struct loss_log {
  explicit loss_log(lease& of) : stop(of.get_stop_token()) {
    of.on_lost([heard = heard](const error& why) { heard->push_back(why); });
  }
  [[nodiscard]] std::size_t times() const { return heard->size(); }

  std::shared_ptr<std::vector<error>> heard = std::make_shared<std::vector<error>>();
  std::stop_token stop;
};

}  // namespace cremone::test
