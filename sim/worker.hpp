// SPDX-License-Identifier: Apache-2.0
//
// One thread of a program that uses locks, as a careful user would write it: acquire, read what the lock protects, change it, ask
// whether the lease is still held, write it back, release. A pause may come between any two of these.
#pragma once

#include "sim/dice.hpp"
#include "sim/history.hpp"
#include "sim/plan.hpp"
#include "sim/process.hpp"
#include "sim/resource.hpp"
#include "sim/trace.hpp"
#include "sim/world.hpp"

#include <cremone/lease.hpp>
#include <cremone/options.hpp>

#include <cstddef>
#include <memory>
#include <string>

namespace cremone::detail {
class acquire_op;
class engine;
}  // namespace cremone::detail

namespace cremone::sim {

class worker : public std::enable_shared_from_this<worker> {
 public:
  worker(world& time, const plan& what, history& facts, const trace& told, std::shared_ptr<process> on,
         std::weak_ptr<detail::engine> by, dice noise, int acquisitions, std::string who);

  void start();

  [[nodiscard]] int left() const noexcept { return left_; }

  /// Takes no more than one more, and says when it has.
  void once_more();
  [[nodiscard]] bool satisfied() const noexcept { return satisfied_; }

  /// Its process was killed: nothing that comes counts.
  void end();

 private:
  void ask();
  void answered(result<lease> r);
  void got(lease l);
  void read();
  void change();
  void write();
  void send();
  void wrote();
  void release();
  void think();
  void after(moment span, void (worker::*then)());
  void later(void (worker::*then)());
  void say(const std::string& what) const;
  [[nodiscard]] acquire_options draw_options();
  [[nodiscard]] moment travel();

  world& world_;
  const plan& plan_;
  history& facts_;
  const trace& trace_;
  const std::shared_ptr<process> process_;
  const std::weak_ptr<detail::engine> engine_;
  dice noise_;
  const std::string who_;
  int left_;
  bool over_ = false;
  bool busy_ = false;
  bool last_ = false;  // one more, and no more
  bool satisfied_ = false;

  std::unique_ptr<timer> timer_;
  void (worker::*then_)() = nullptr;
  std::unique_ptr<timer> patience_;  // after which it changes its mind
  std::weak_ptr<detail::acquire_op> asking_;
  lock_name name_{""};
  moment asked_{};
  lease lease_;
  std::size_t number_ = 0;  // in the history
  std::uint64_t token_ = 0;
  moment use_until_{};
  resource::seen seen_{};
};

}  // namespace cremone::sim
