// SPDX-License-Identifier: Apache-2.0
//
// What can go wrong in a schedule, by name. What each does is the business of whoever it happens to.
#pragma once

#include <cremone/result.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace cremone::sim {

enum class fault : std::uint8_t {
  // The network between a client and a node. A connection's bytes arrive in order or, from some point on, not at all.
  delay,      ///< some bytes take up to several ttl
  loss,       ///< packets are lost: all that follows on that connection waits for the repetition
  reset,      ///< a connection ends; what was under way arrives or not
  half_open,  ///< a connection swallows one direction from now on, and nobody is told
  partition,  ///< one direction between a client and a node is blocked for a while
  // The processes that want locks.
  crash,     ///< a process ends without a word, and another begins in its place
  pause,     ///< a process is stopped for a while, at any step
  preempt,   ///< ... in the middle of a step, between two lines of code
  drift,     ///< clocks that run too fast or too slowly, within the bound
  set_back,  ///< a client's wall clock is set
  // The nodes.
  stall,    ///< a node does nothing for a while
  jump,     ///< a node's wall clock is set forward or back
  restart,  ///< a node ends and comes back with all its data
  tail,     ///< ... without its last writes
  amnesia,  ///< ... with nothing
  flush,    ///< somebody empties a node
  // Beyond what exclusion is promised for. Only when asked for by name.
  freeze,  ///< a client's clock stands still while it is stopped
  racing,  ///< clocks whose rates differ by up to a half
};
inline constexpr std::size_t fault_count = 18;

[[nodiscard]] std::string_view name_of(fault f) noexcept;

/// One line for people.
[[nodiscard]] std::string_view describe(fault f) noexcept;

/// A set of faults, in their order.
class fault_set {
 public:
  constexpr fault_set() noexcept = default;

  [[nodiscard]] static constexpr fault_set none() noexcept { return {}; }
  /// All within the bounds for which exclusion is promised.
  [[nodiscard]] static fault_set bounded() noexcept;

  [[nodiscard]] constexpr bool has(fault f) const noexcept { return (bits_ & bit(f)) != 0; }
  constexpr fault_set& add(fault f) noexcept {
    bits_ |= bit(f);
    return *this;
  }
  constexpr fault_set& add(fault_set others) noexcept {
    bits_ |= others.bits_;
    return *this;
  }
  constexpr fault_set& remove(fault f) noexcept {
    bits_ &= ~bit(f);
    return *this;
  }
  [[nodiscard]] constexpr bool empty() const noexcept { return bits_ == 0; }
  friend constexpr bool operator==(const fault_set&, const fault_set&) = default;

 private:
  static constexpr std::uint32_t bit(fault f) noexcept {
    return std::uint32_t{1} << static_cast<unsigned>(f);
  }
  std::uint32_t bits_ = 0;
};

/// "delay,crash", or "none".
[[nodiscard]] std::string to_string(fault_set set);

/// The same, and "all" for those within the bounds; *invalid_argument* names what is not known, and the closest.
[[nodiscard]] result<fault_set> parse_faults(std::string_view text);

using fault_counts = std::array<std::uint64_t, fault_count>;  ///< how often each struck

}  // namespace cremone::sim
