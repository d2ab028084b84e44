// SPDX-License-Identifier: Apache-2.0
//
// What a node that keeps records must never do, whatever happens to it: give a lock out while it may have forgotten, let a counter
// fall, bring a version back, or serve a later waiter before an earlier one where nothing excuses it. Looks at each command, at its
// answer and at the keys that it changed. Only for the layout `record`; counts for all.
#pragma once

#include "sim/history.hpp"
#include "sim/plan.hpp"
#include "sim/redis/keyspace.hpp"

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cremone::sim {

class redis_guard {
 public:
  redis_guard(const plan& p, history& facts, std::string node);

  /// What a command did.
  struct news {
    bool granted = false;   ///< it gave out a lock
    bool doubted = false;   ///< it began a quarantine
    bool admitted = false;  ///< it ended a quarantine
    bool by_clock = false;  ///< for want of others who remember
    bool by_person = false;
    std::uint64_t floor = 0;  ///< for its tokens, as it was written down
    std::uint64_t asked = 0;  ///< the same, as it was asked for
    std::string lock{};       ///< where several vote: for which it gave a number
    std::string counter{};    ///< the key at which it remembers that
    std::uint64_t number = 0;
  };
  news carried_out(std::span<const std::string_view> words, std::string_view reply,
                   const std::vector<std::string>& changed, const keyspace& keys, std::string_view run_id);

  /// The node has come back, perhaps with less than it had: its counters begin anew. What was seen of versions does not.
  void begins_anew();

 private:
  void check_grant(const keyspace& keys, std::string_view run_id);
  void check_order(std::span<const std::string_view> words, std::string_view reply, bool granted);
  void check_counter(const std::string& key, const keyspace& keys);
  void check_lock(const std::string& key, const keyspace& keys, std::string_view run_id);

  const bool records_;
  const bool in_order_;  // nothing excuses who is overtaken
  history& facts_;
  const std::string node_;
  std::map<std::string, std::uint64_t> counters_;                        // of this life
  std::map<std::string, std::string> versions_;                          // that stand there, by lock
  std::map<std::string, std::set<std::string>> ever_;                    // versions, by lock
  std::map<std::string, std::vector<std::string>, std::less<>> queues_;  // who waits, as they came, by lock
};

}  // namespace cremone::sim
