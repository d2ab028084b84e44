// SPDX-License-Identifier: Apache-2.0
//
// Judges whether a server that has lost its memory may grant again. Its floor must be above every
// token that it helped to grant. The floor comes from the other servers that remember or, if too
// few remember or there are no others, from clocks. The judge tracks which server lost its memory
// and when, and decides when clocks excuse a token out of order.
#pragma once

#include "sim/history.hpp"
#include "sim/plan.hpp"
#include "sim/redis/keyspace.hpp"
#include "sim/world.hpp"

#include <chrono>
#include <cstdint>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace cremone::sim {

class ring_judge {
 public:
  ring_judge(const plan& p, const world& time, history& facts);

  /// Nodes have numbers from 1 on.
  /// It is down, or was emptied: it is not sure of anything any more until it is let in again.
  void forgets(int node);

  /// Its quarantine has begun.
  void doubts(int node);

  /// It has given a number with its vote for the lock `name`; `counter` is the key where it keeps the last one.
  void gave(int node, const std::string& name, const std::string& counter, std::uint64_t number);

  struct admission {
    bool by_clock = false;
    bool by_person = false;
    std::uint64_t floor = 0;  ///< as it was written down
    std::uint64_t due = 0;    ///< the least that it should be, if by the clock
  };
  /// It votes again.
  void let_in(int node, const admission& how, const keyspace& keys);

  /// Somebody has got this token.
  void acquired(const std::string& name, std::uint64_t token);

 private:
  static constexpr moment never = moment::max();

  struct server {
    moment sure_since = never;  // of all that it has given
    moment doubtful_since = never;
    std::set<std::tuple<std::string, std::uint64_t, std::string>> given;   // lock, number, counter
    std::set<std::tuple<std::string, std::uint64_t, std::string>> helped;  // those that have become tokens
    std::set<std::pair<std::string, std::uint64_t>> uncovered;  // lock, number: above memory and clocks
  };

  [[nodiscard]] bool clock_was_needed(int node) const;
  [[nodiscard]] bool may_use_clocks(int node, const admission& how);
  void excuse_uncovered(server& s, const admission& how, const keyspace& keys);
  [[nodiscard]] server& of(int node) { return servers_[static_cast<std::size_t>(node) - 1]; }

  const plan& plan_;
  const world& world_;
  history& facts_;
  std::vector<server> servers_;
};

}  // namespace cremone::sim
