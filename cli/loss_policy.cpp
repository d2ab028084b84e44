// SPDX-License-Identifier: Apache-2.0
#include "cli/loss_policy.hpp"

#include <algorithm>

namespace cremone::cli {

namespace {

/// SIGKILL takes effect within a scheduler's turn or so. This much before the deadline it is sent, so that the command
/// is gone by then.
constexpr std::chrono::milliseconds time_to_die{50};

}  // namespace

loss_policy::loss_policy(std::chrono::nanoseconds grace, instant deadline) noexcept
    : grace_(grace), deadline_(std::max(deadline, instant{})) {}

instant loss_policy::last_moment() const noexcept {
  return deadline_ - std::min<std::chrono::nanoseconds>(time_to_die, grace_ / 4);
}

loss_policy::step loss_policy::next(instant now, bool held, instant deadline) noexcept {
  if (state_ == state::killed) {
    return step::nothing;
  }
  if (state_ == state::watching) {
    deadline_ =
        std::max(deadline_, deadline);  // it may be lost between the two questions: then it is instant::min()
    if (held && now < deadline_ - grace_) {
      return step::nothing;
    }
    kill_at_ = held ? last_moment() : std::min(last_moment(), now + grace_);
    if (now < kill_at_) {
      state_ = state::terminating;
      return step::terminate;
    }
  }
  if (now < kill_at_) {
    return step::nothing;
  }
  state_ = state::killed;
  return step::kill;
}

instant loss_policy::wake_at() const noexcept {
  switch (state_) {
    case state::watching: return deadline_ - grace_;
    case state::terminating: return kill_at_;
    case state::killed: return instant::max();
  }
  return instant::max();
}

}  // namespace cremone::cli
