// SPDX-License-Identifier: Apache-2.0
//
// A Redis server in the world: a machine with a clock on the wall, a server that can end, come back and forget, and somebody
// who watches each command for what must never happen. What the commands mean is the server's own business (redis/).
#pragma once

#include "sim/clock.hpp"
#include "sim/history.hpp"
#include "sim/network.hpp"
#include "sim/plan.hpp"
#include "sim/redis/server.hpp"
#include "sim/redis_guard.hpp"
#include "sim/redis_words.hpp"
#include "sim/ring_judge.hpp"
#include "sim/store_node.hpp"
#include "sim/trace.hpp"

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace cremone::sim {

class redis_node final : public store_node {
 public:
  redis_node(world& of, std::string name, int number, network& net, const plan& p, lua& scripts,
             machine_clock time, dice noise, history& facts, ring_judge& ring, const trace& told);
  ~redis_node() override;

  void take(const std::shared_ptr<wire>& from, std::string_view bytes) override;
  void gone(const std::shared_ptr<wire>& from) override;

  void end(fault how, moment down_for) override;
  void empty() override;
  void set_wall(std::chrono::microseconds by) override;
  [[nodiscard]] std::chrono::microseconds wall_ahead() const override { return clock_.wall_ahead(); }

  [[nodiscard]] bool gives_out() const override;
  void heal() override;

 private:
  void begin();
  void weigh(const redis_guard::news& what);
  [[nodiscard]] std::uint64_t floor_by_clocks() const;
  void tell(std::span<const std::string_view> words, std::string_view reply);
  [[nodiscard]] wall_time wall() const { return clock_.wall_at(world_.now()); }
  [[nodiscard]] std::string run_id() const;

  network& net_;
  const plan& plan_;
  const int number_;  // from 1 on
  dice noise_;
  machine_clock clock_;
  ring_judge& ring_;
  const trace& trace_;
  redis_guard guard_;
  std::uint64_t life_ = 1;
  redis_server server_;
  std::map<std::uint64_t, std::shared_ptr<wire>> wires_;
  std::deque<keyspace> past_;       // before each of the last writes, if its tail may be lost
  keyspace kept_;                   // while it is down
  moment doubted_at_{};             // when its last quarantine began
  std::shared_ptr<wire> speaking_;  // whose command is being carried out
  script_names script_names_;       // by their SHA-1, for the trace
};

}  // namespace cremone::sim
