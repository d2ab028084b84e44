// SPDX-License-Identifier: Apache-2.0
//
// What a lock protects: a register that holders read, change and write back, once with a fence and once, as a control, without.
// The fence is the library's own rule, kept as a real resource has to keep it: on a disk, in one step with what it let pass. Now and
// then the register restarts, and has what was on the disk. A write that was made of a state that was not the last one any more undoes what
// came between. Knows no lock and no time.
#pragma once

#include "sim/dice.hpp"

#include <cremone/fence.hpp>

#include <algorithm>
#include <cstdint>

namespace cremone::sim {

class resource {
 public:
  explicit resource(std::uint64_t seed) noexcept : luck_(seed) {}

  struct seen {
    bool allowed = false;      ///< by the fence
    bool misjudged = false;    ///< by the fence: see outcome
    std::uint64_t fenced = 0;  ///< what the register said
    std::uint64_t unfenced = 0;
  };

  /// Reading marks the token too: else a write of an earlier holder could come between this and ours.
  [[nodiscard]] seen read(std::uint64_t token) noexcept {
    maybe_restart();
    const bool passes = admit(token);
    return {passes, misjudged(token, passes), now_.value, unfenced_};
  }

  struct outcome {
    bool accepted = false;
    bool lost_another = false;           ///< accepted, though it was not made of the last state
    bool misjudged = false;              ///< let pass after a higher token, or refused though none was higher
    bool lost_another_unfenced = false;  ///< the same of the control, which accepts everything
  };

  /// Writes what was made of what was read.
  [[nodiscard]] outcome write(std::uint64_t token, const seen& made_of) noexcept {
    maybe_restart();
    outcome o;
    const bool passes = admit(token);
    o.misjudged = misjudged(token, passes);
    o.accepted = made_of.allowed && passes;
    if (o.accepted) {
      o.lost_another = made_of.fenced != now_.value;
      now_.value = ++writes_;
      disk_ = now_;
    }
    o.lost_another_unfenced = made_of.unfenced != unfenced_;
    unfenced_ = ++writes_;
    return o;
  }

 private:
  /// What has to be there after a restart: the mark and what was written under it, never one without the other.
  struct state {
    fence::mark mark{};
    std::uint64_t value = 0;  // each write writes another number
  };

  [[nodiscard]] bool admit(std::uint64_t token) noexcept {
    const bool passes = now_.mark.admit(fence_token(token));
    disk_ = now_;
    return passes;
  }

  /// The judge's own memory, which no restart touches.
  [[nodiscard]] bool misjudged(std::uint64_t token, bool passed) noexcept {
    const bool should = token >= highest_that_came_;
    highest_that_came_ = std::max(highest_that_came_, token);
    return passed != should;
  }

  void maybe_restart() noexcept {
    constexpr std::uint64_t seldom = 8;
    if (luck_.one_in(seldom)) {
      now_ = disk_;
    }
  }

  dice luck_;
  state now_{};
  state disk_{};
  std::uint64_t highest_that_came_ = 0;
  std::uint64_t unfenced_ = 0;
  std::uint64_t writes_ = 0;
};

}  // namespace cremone::sim
