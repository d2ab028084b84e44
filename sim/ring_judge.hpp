// SPDX-License-Identifier: Apache-2.0
//
// Where several servers vote: may one that has forgotten vote again? It must know every token that it has helped to give, from others
// who remember or, where too few do, from the clock. Looks from outside at who has forgotten when, whatever servers and clients say
// of it, and says when a clock excuses a token out of order.
#pragma once

#include "sim/history.hpp"
#include "sim/plan.hpp"
#include "sim/redis/keyspace.hpp"
#include "sim/world.hpp"

#include <chrono>
#include <cstdint>
#include <map>
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
  };
  struct leap {
    moment at;
    std::uint64_t due;
  };

  [[nodiscard]] bool clock_was_needed(int node) const;
  [[nodiscard]] server& of(int node) { return servers_[static_cast<std::size_t>(node) - 1]; }

  const plan& plan_;
  const world& world_;
  history& facts_;
  std::vector<server> servers_;
  std::uint64_t highest_ = 0;  // of all tokens
  std::vector<leap> leaps_;    // when the clock took the place of those who remember
  std::map<std::pair<std::string, std::uint64_t>, moment> first_given_;  // by anyone
};

}  // namespace cremone::sim
