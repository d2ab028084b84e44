// SPDX-License-Identifier: Apache-2.0
//
// Growing pauses with jitter. Decides how long, never when; its randomness is handed in as a seed, so that a run
// can be repeated.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace cremone {

/// A few bits of noise for jitter (splitmix64). Not for secrets: owner ids come from env::random.
class jitter {
 public:
  explicit constexpr jitter(std::uint64_t seed) noexcept : state_(seed) {}

  /// Uniform in [low, high].
  constexpr std::chrono::nanoseconds between(std::chrono::nanoseconds low,
                                             std::chrono::nanoseconds high) noexcept {
    state_ += 0x9e3779b97f4a7c15U;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
    z ^= z >> 31U;
    const auto span = static_cast<std::uint64_t>((high - low).count()) + 1;
    return low + std::chrono::nanoseconds(static_cast<std::int64_t>(z % span));
  }

 private:
  std::uint64_t state_;
};

/// Pauses of `first`, doubling up to `most`, each drawn from its upper half so that crowds spread out.
class backoff {
 public:
  constexpr backoff(std::chrono::nanoseconds first, std::chrono::nanoseconds most,
                    std::uint64_t seed) noexcept
      : first_(first), most_(most), next_(first), noise_(seed) {}

  constexpr std::chrono::nanoseconds pause() noexcept {
    const auto now = next_;
    next_ = std::min(next_ * 2, most_);
    return noise_.between(now / 2, now);
  }

  constexpr void reset() noexcept { next_ = first_; }

 private:
  std::chrono::nanoseconds first_;
  std::chrono::nanoseconds most_;
  std::chrono::nanoseconds next_;
  jitter noise_;
};

}  // namespace cremone
