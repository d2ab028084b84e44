// SPDX-License-Identifier: Apache-2.0
//
// Whether a request goes out at once or rides along with others. While replies keep coming, sending each request by itself
// costs the client and the server more than the request: what is put now goes out right behind the next reply. When that
// reply is not near, nothing waits for it. Told the time; sends nothing itself. Pure.
#pragma once

#include <cremone/types.hpp>

#include <chrono>
#include <cstddef>

namespace cremone::redis {

class pace {
 public:
  /// With fewer requests without an answer the server would run out of work before what rides along arrives.
  static constexpr std::size_t busy_from = 8;

  /// So many go together; the last of them sends all, so that the server has work while the next ones gather.
  static constexpr std::size_t most_together = 8;

  /// A reply that is further away is not waited for: on a slow line the next one is always far.
  static constexpr std::chrono::microseconds near{200};

  /// A reply that is later than this may not come at all.
  static constexpr std::chrono::milliseconds overdue{1};

  /// A request is about to be put behind `outstanding` others, the oldest of which was made at `oldest`. True: it may ride
  /// along, and the next reply must send it. False: send it, and all before it, now.
  [[nodiscard]] bool rides_along(std::size_t outstanding, instant oldest, instant now) noexcept {
    const std::chrono::nanoseconds left = took_ - (now - oldest);
    if (outstanding < busy_from || left > near || left < -overdue || gathered_ + 1 >= most_together) {
      gathered_ = 0;
      return false;
    }
    ++gathered_;
    return true;
  }

  /// A reply came, to a request made at `asked`. All that was put goes out behind it.
  void answered(instant asked, instant now) noexcept {
    took_ = now - asked;
    gathered_ = 0;
  }

 private:
  std::chrono::nanoseconds took_ = std::chrono::hours(1);  // the last reply, since its request was made
  std::size_t gathered_ = 0;
};

}  // namespace cremone::redis
