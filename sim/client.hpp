// SPDX-License-Identifier: Apache-2.0
//
// A machine on which a program runs that takes locks: the library's engine on a simulated process, and workers that acquire, use a
// resource and release. When the program is killed another begins in its place; the machine's clock and notes stay.
#pragma once

#include "sim/clock.hpp"
#include "sim/dice.hpp"
#include "sim/history.hpp"
#include "sim/network.hpp"
#include "sim/plan.hpp"
#include "sim/process.hpp"
#include "sim/trace.hpp"
#include "sim/world.hpp"

#include "core/sighting.hpp"

#include <cremone/backend.hpp>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace cremone::detail {
class engine;
}
namespace cremone {
class event_hub;
}

namespace cremone::sim {

class worker;

/// From an env, a transport and events to a store, as open() does it.
using store_opener =
    std::function<std::shared_ptr<backend>(const std::shared_ptr<process>&, const std::shared_ptr<transport>&,
                                           const std::shared_ptr<const event_hub>&)>;

/// What all clients share.
struct surroundings {
  world& time;
  const plan& what;
  network& net;
  history& facts;
  const trace& told;
  store_opener open;
};

class client_machine {
 public:
  client_machine(surroundings& around, std::string name, machine_clock time, dice noise);
  client_machine(const client_machine&) = delete;
  client_machine& operator=(const client_machine&) = delete;
  ~client_machine();

  void boot();
  /// `replaced`: the next program begins on a machine that has no notes.
  void crash(moment down_for, bool replaced);
  void pause(moment span, bool clock_stands_still);
  void set_wall(std::chrono::microseconds by) { clock_.set_wall(by, around_.time.now()); }

  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] bool running() const noexcept { return process_ != nullptr; }

  /// All its workers have done what they were to do.
  [[nodiscard]] bool idle() const;

  /// All is well from now on: each worker must get a lock once more.
  void heal();
  [[nodiscard]] bool satisfied() const;

 private:
  void end();

  surroundings& around_;
  const std::string name_;
  machine_clock clock_;
  dice noise_;
  std::vector<core::sighting> notes_;
  int programs_ = 0;  // that have run here
  bool healed_ = false;
  std::shared_ptr<process> process_;
  std::shared_ptr<detail::engine> engine_;
  std::vector<std::shared_ptr<worker>> workers_;
  std::vector<int> left_;  // acquisitions, by worker: what one program did not do the next does
};

}  // namespace cremone::sim
