// SPDX-License-Identifier: Apache-2.0
//
// What a lock protects: a register that holders read, change and write back, once with a fence and once, as a control, without.
// A write that was made of a state that was not the last one any more undoes what came between. Knows no lock and no time.
#pragma once

#include <cstdint>

namespace cremone::sim {

class resource {
 public:
  struct seen {
    bool allowed = false;      ///< by the fence
    std::uint64_t fenced = 0;  ///< what the register said
    std::uint64_t unfenced = 0;
  };

  /// Reading marks the token too: else a write of an earlier holder could come between this and ours.
  [[nodiscard]] seen read(std::uint64_t token) noexcept { return {admit(token), fenced_, unfenced_}; }

  struct outcome {
    bool accepted = false;
    bool lost_another = false;           ///< accepted, though it was not made of the last state
    bool lost_another_unfenced = false;  ///< the same of the control, which accepts everything
  };

  /// Writes what was made of what was read.
  [[nodiscard]] outcome write(std::uint64_t token, const seen& made_of) noexcept {
    outcome o;
    o.accepted = made_of.allowed && admit(token);
    if (o.accepted) {
      o.lost_another = made_of.fenced != fenced_;
      fenced_ = ++writes_;
    }
    o.lost_another_unfenced = made_of.unfenced != unfenced_;
    unfenced_ = ++writes_;
    return o;
  }

 private:
  [[nodiscard]] bool admit(std::uint64_t token) noexcept {
    if (token < highest_) {
      return false;
    }
    highest_ = token;
    return true;
  }

  std::uint64_t highest_ = 0;
  std::uint64_t fenced_ = 0;  // each write writes another number
  std::uint64_t unfenced_ = 0;
  std::uint64_t writes_ = 0;
};

}  // namespace cremone::sim
