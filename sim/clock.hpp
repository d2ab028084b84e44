// SPDX-License-Identifier: Apache-2.0
//
// A machine's clocks: the one that leases are timed on, which never goes back but may run too fast or too slowly, and the one on
// the wall, which can be set. Both are functions of the world's time. Pure.
#pragma once

#include "sim/world.hpp"

#include <cremone/types.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace cremone::sim {

class machine_clock {
 public:
  /// `origin`: what it shows when the world begins. `ppm`: by how many millionths it runs too fast.
  machine_clock(instant origin, wall_time wall, std::int64_t ppm)
      : origin_(origin), walls_{{moment{}, wall}}, ppm_(ppm) {}

  [[nodiscard]] instant at(moment m) const noexcept {
    return origin_ + scaled((m < frozen_from_ ? m : frozen_from_) - frozen_);
  }

  /// The first moment at which it shows `when` or later, if it does not stand still until then.
  [[nodiscard]] moment when_shows(instant when) const noexcept {
    const auto local = when - origin_;
    constexpr auto longest = std::chrono::hours(2);  // no world lasts as long, and no product overflows
    if (local >= longest) {
      return moment::max();
    }
    if (local.count() <= 0) {
      return {};
    }
    moment m(local.count() * million / (million + ppm_) + 1);
    return m + frozen_;
  }

  [[nodiscard]] wall_time wall_at(moment m) const noexcept { return shown_on(walls_.back(), m); }

  /// The lowest wall time that this clock has shown between `from` and `to`.
  [[nodiscard]] wall_time lowest_wall(moment from, moment to) const noexcept {
    wall_time lowest = wall_time::max();
    for (std::size_t i = 0; i < walls_.size(); ++i) {
      const moment until = i + 1 < walls_.size() ? walls_[i + 1].since : to;
      const moment first = std::max(from, walls_[i].since);
      if (first <= until) {
        lowest = std::min(lowest, shown_on(walls_[i], first));
      }
    }
    return lowest;
  }

  void set_wall(std::chrono::microseconds by, moment at) {
    walls_.push_back({at, walls_.back().origin + by});
    ahead_ += by;
  }
  [[nodiscard]] std::chrono::microseconds wall_ahead() const noexcept { return ahead_; }

  /// It stands still from then on, as one that does not count suspend.
  void freeze(moment from) noexcept { frozen_from_ = from < frozen_from_ ? from : frozen_from_; }
  void thaw(moment now) noexcept {
    if (frozen_from_ != moment::max()) {
      frozen_ += now > frozen_from_ ? now - frozen_from_ : moment{};
      frozen_from_ = moment::max();
    }
  }

 private:
  static constexpr std::int64_t million = 1'000'000;
  [[nodiscard]] std::chrono::nanoseconds scaled(moment m) const noexcept {
    return m + std::chrono::nanoseconds(m.count() * ppm_ / million);
  }

  /// The wall clock between two settings.
  struct wall_span {
    moment since;
    wall_time origin;  // the wall time of the world's beginning, as this span counts
  };
  [[nodiscard]] wall_time shown_on(const wall_span& span, moment m) const noexcept {
    return span.origin + std::chrono::floor<std::chrono::microseconds>(scaled(m));
  }

  instant origin_;
  std::vector<wall_span> walls_;
  std::chrono::microseconds ahead_{};
  std::int64_t ppm_;
  moment frozen_{};
  moment frozen_from_ = moment::max();
};

}  // namespace cremone::sim
