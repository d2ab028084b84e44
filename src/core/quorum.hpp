// SPDX-License-Identifier: Apache-2.0
//
// How many of N independent nodes are enough, and when that is decided: as soon as the answers that are still to come
// cannot change it. One server is a quorum of one. Pure.
#pragma once

#include <cstddef>
#include <cstdint>

namespace cremone::core {

/// More than half: any two majorities share a node.
[[nodiscard]] constexpr std::size_t majority_of(std::size_t nodes) noexcept { return nodes / 2 + 1; }

/// One question put to all nodes.
///
/// | yes ≥ majority | carried                                                         |
/// | else           | open, while the rest could still make a majority                |
/// | else           | in_doubt, if those without an answer could have made one        |
/// | else           | failed                                                          |
class ballot {
 public:
  enum class vote : std::uint8_t { yes, no, unsure };
  enum class verdict : std::uint8_t { open, carried, failed, in_doubt };

  explicit constexpr ballot(std::size_t nodes) noexcept : nodes_(nodes) {}

  /// Counts one node's vote. True when this decided it: exactly once.
  constexpr bool count(vote v) noexcept {
    const bool was_open = state() == verdict::open;
    ++(v == vote::yes ? yes_ : v == vote::no ? no_ : unsure_);
    return was_open && state() != verdict::open;
  }

  [[nodiscard]] constexpr verdict state() const noexcept {
    const std::size_t needed = majority_of(nodes_);
    if (yes_ >= needed) {
      return verdict::carried;
    }
    if (nodes_ - no_ - unsure_ >= needed) {
      return verdict::open;
    }
    if (nodes_ - no_ < needed) {
      return verdict::failed;
    }
    return yes_ + no_ + unsure_ == nodes_ ? verdict::in_doubt : verdict::open;
  }

  [[nodiscard]] constexpr bool all_in() const noexcept { return yes_ + no_ + unsure_ == nodes_; }

 private:
  std::size_t nodes_;
  std::size_t yes_ = 0;
  std::size_t no_ = 0;
  std::size_t unsure_ = 0;
};

}  // namespace cremone::core
