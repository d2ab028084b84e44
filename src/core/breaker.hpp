// SPDX-License-Identifier: Apache-2.0
//
// A server that takes requests and does not answer is left alone for a while: those who ask need not wait for it, and it has
// less to do when it wakes up. Now and then one request finds out whether it is back. A server that refuses costs nothing, and is
// no matter for this. Pure; told the time.
#pragma once

#include <cremone/types.hpp>

#include <algorithm>
#include <chrono>

namespace cremone::core {

/// | state  | good   | bad                        | may_ask                                  |
/// |--------|--------|----------------------------|------------------------------------------|
/// | closed | –      | open, when it is the third | always                                   |
/// | open   | closed | the pause grows            | once in each pause                       |
class breaker {
 public:
  static constexpr int patience = 3;  ///< requests in a row without an answer: one may be a hiccup
  static constexpr std::chrono::milliseconds first_pause{100};
  static constexpr std::chrono::milliseconds longest_pause{1000};

  /// It has answered, whatever that was.
  void good() noexcept {
    silent_ = 0;
    pause_ = first_pause;
  }

  void bad(instant now) noexcept {
    if (++silent_ > patience) {
      pause_ = std::min(pause_ * 2, longest_pause);
    }
    ask_at_ = now + pause_;
  }

  [[nodiscard]] bool open() const noexcept { return silent_ >= patience; }

  /// May it be asked now? While open, the next is due a pause later.
  [[nodiscard]] bool may_ask(instant now) noexcept {
    if (!open()) {
      return true;
    }
    if (now < ask_at_) {
      return false;
    }
    ask_at_ = now + pause_;
    return true;
  }

 private:
  int silent_ = 0;
  std::chrono::milliseconds pause_ = first_pause;
  instant ask_at_{};
};

}  // namespace cremone::core
