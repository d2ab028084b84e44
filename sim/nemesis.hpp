// SPDX-License-Identifier: Apache-2.0
//
// Misfortune: lets the faults of the plan strike, each kind at its own times, until it is told that it is enough. What a fault
// does is the business of whom it strikes.
#pragma once

#include "sim/client.hpp"
#include "sim/network.hpp"
#include "sim/store_node.hpp"

#include <memory>
#include <vector>

namespace cremone::sim {

class nemesis {
 public:
  nemesis(surroundings& around, std::vector<std::unique_ptr<client_machine>>& clients,
          std::vector<std::unique_ptr<store_node>>& nodes, dice noise);

  /// From now on.
  void start();

  /// All is mended.
  void heal();

 private:
  void wait_for(fault f);
  void strike(fault f);
  void strike_client(fault f);
  void strike_node(fault f);
  void strike_wire(fault f);
  void tell(fault f, const std::string& whom, const std::string& what);
  [[nodiscard]] moment some_time();

  surroundings& around_;
  std::vector<std::unique_ptr<client_machine>>& clients_;
  std::vector<std::unique_ptr<store_node>>& nodes_;
  dice noise_;
  bool over_ = false;
};

}  // namespace cremone::sim
