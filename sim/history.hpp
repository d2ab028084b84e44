// SPDX-License-Identifier: Apache-2.0
//
// What happened in a schedule, and the judges: who held which lock when by its own clock, in which order tokens came, what the
// resource saw. They look from outside, with the world's time; nothing that is judged can see them.
#pragma once

#include "sim/process.hpp"
#include "sim/resource.hpp"
#include "sim/schedule.hpp"
#include "sim/trace.hpp"
#include "sim/world.hpp"

#include <cremone/types.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace cremone::detail {
class hold;
}

namespace cremone::sim {

class history {
 public:
  history(const world& of, const trace& told, store_kind store, schedule_result& into)
      : world_(of), trace_(told), store_(store), result_(into) {}
  ~history();
  history(const history&) = delete;
  history& operator=(const history&) = delete;

  /// A lease came to whoever asked for it at `started`. Returns its number.
  std::size_t acquired(const process& by, std::shared_ptr<detail::hold> lease, moment started);

  /// Its user has given it back, or has heard that it is lost.
  void ended(std::size_t number);

  /// All of a process that was killed.
  void killed(const process& by);

  /// After each step: is any lock held twice, each by its holder's own clock?
  void look();

  void wrote(const resource::outcome& o) noexcept {
    result_.writes += o.accepted ? 1U : 0U;
    result_.refused_writes += o.accepted ? 0U : 1U;
    result_.lost_without_fence += o.lost_another_unfenced ? 1U : 0U;
  }

  void struck(fault f) { ++result_.faults[static_cast<std::size_t>(f)]; }
  /// `token`: for a violation of token order, the token that an excuse must cover.
  void violated(violation_kind kind, std::string what, std::uint64_t token = 0);

  /// A server lost its memory of this token, and no clock that replaced the memory was above it.
  /// Only repetitions of tokens up to this one are excused.
  void token_unfounded(std::uint64_t token) noexcept { unfounded_ = std::max(unfounded_, token); }

  /// Called with each token that somebody gets, before it is judged.
  using token_witness = std::function<void(const std::string& lock, std::uint64_t token)>;
  void tell_tokens_to(token_witness w) { witness_ = std::move(w); }
  void rates_without_bound() noexcept { unbounded_ = true; }

  /// Sums up.
  void finish();

  [[nodiscard]] schedule_result& result() noexcept { return result_; }
  [[nodiscard]] resource& of(const lock_name& name) {
    return resources_.try_emplace(name.str(), result_.seed).first->second;
  }

 private:
  struct holding {
    std::size_t number;
    const process* by;
    std::shared_ptr<detail::hold> lease;
  };
  /// The highest token among those that had come by then.
  struct mark {
    moment decided;
    std::uint64_t highest;
  };
  struct tokens {
    std::set<std::uint64_t> seen;
    std::vector<mark> marks;
  };

  [[nodiscard]] std::string_view excuse(violation_kind kind, std::uint64_t token) const;
  void check_token(const std::string& name, std::uint64_t token, moment started, const std::string& who);

  const world& world_;
  const trace& trace_;
  const store_kind store_;
  schedule_result& result_;
  std::vector<holding> open_;
  std::size_t numbers_ = 0;
  std::set<std::pair<std::size_t, std::size_t>> told_;  // pairs that were seen together already
  std::map<std::string, tokens> tokens_;
  std::map<std::string, resource> resources_;
  token_witness witness_;
  std::uint64_t unfounded_ = 0;  // the highest such token
  bool unbounded_ = false;
};

}  // namespace cremone::sim
