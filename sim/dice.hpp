// SPDX-License-Identifier: Apache-2.0
//
// Numbers that a seed decides, the same on every machine and with every compiler: none of the standard library's
// distributions, which differ. Knows nothing of what is drawn.
#pragma once

#include <chrono>
#include <cstdint>

namespace cremone::sim {

/// splitmix64. A value; two with the same seed draw the same.
class dice {
 public:
  explicit dice(std::uint64_t seed) noexcept : state_(seed) {}

  std::uint64_t next() noexcept {
    state_ += 0x9e3779b97f4a7c15U;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31U);
  }

  /// From 0 to n - 1; n must not be 0. The bias of the remainder is far below what any schedule could show.
  std::uint64_t below(std::uint64_t n) noexcept { return next() % n; }

  [[nodiscard]] bool one_in(std::uint64_t n) noexcept { return below(n) == 0; }

  /// Both ends included.
  template <class Rep, class Period>
  std::chrono::duration<Rep, Period> between(std::chrono::duration<Rep, Period> least,
                                             std::chrono::duration<Rep, Period> most) noexcept {
    const auto width = static_cast<std::uint64_t>((most - least).count()) + 1;
    return least + std::chrono::duration<Rep, Period>(static_cast<Rep>(below(width)));
  }

  std::int64_t between(std::int64_t least, std::int64_t most) noexcept {
    return least + static_cast<std::int64_t>(below(static_cast<std::uint64_t>(most - least) + 1));
  }

  /// Most are near the lower end, some far out: a width that halves again and again.
  template <class Rep, class Period>
  std::chrono::duration<Rep, Period> mostly_short(std::chrono::duration<Rep, Period> least,
                                                  std::chrono::duration<Rep, Period> most) noexcept {
    const std::uint64_t halvings = below(6);
    return between(least, least + std::chrono::duration<Rep, Period>((most - least).count() >> halvings));
  }

  /// A stream of its own: what one part of a schedule draws does not move what the others do.
  [[nodiscard]] dice fork() noexcept { return dice(next()); }

 private:
  std::uint64_t state_;
};

}  // namespace cremone::sim
