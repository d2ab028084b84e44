// SPDX-License-Identifier: Apache-2.0
#include "core/coordinator.hpp"

#include <algorithm>

namespace cremone::core {

using kind = coordinator_action::kind;

std::size_t coordinator::count(vote_answer what) const noexcept {
  return static_cast<std::size_t>(
      std::count_if(seats_.begin(), seats_.end(), [&](const seat& s) { return s.in && s.said == what; }));
}

std::size_t coordinator::missing() const noexcept {
  return static_cast<std::size_t>(
      std::count_if(seats_.begin(), seats_.end(), [](const seat& s) { return !s.in; }));
}

coordinator_action coordinator::answered(std::size_t node, instant now, vote_answer what,
                                         std::uint64_t number) {
  seat& s = seats_[node];
  s.in = true;
  s.said = what;
  s.number = number;
  return decide(now);
}

coordinator_action coordinator::committed(std::size_t node, instant now, std::uint64_t number) {
  seat& s = seats_[node];
  s.asked_again = false;
  s.number = std::max(s.number, number);
  return decide(now);
}

coordinator_action coordinator::commit_failed(std::size_t node, instant now) {
  seat& s = seats_[node];
  s.asked_again = false;
  s.said = vote_answer::unsure;
  return decide(now);
}

coordinator_action coordinator::tick(instant now) {
  if (over_ || now < wake_at_) {
    return {};
  }
  late_ = true;
  wake_at_ = instant::max();
  return decide(now);
}

/// The number that a majority has for us, and not one that is about to change; 0 if there is none.
std::uint64_t coordinator::agreed() const {
  const auto counts = [](const seat& s) { return s.in && s.said == vote_answer::yes && !s.asked_again; };
  for (const seat& one : seats_) {
    const auto same = std::count_if(seats_.begin(), seats_.end(),
                                    [&](const seat& s) { return counts(s) && s.number == one.number; });
    if (counts(one) && static_cast<std::size_t>(same) >= majority()) {
      return one.number;
    }
  }
  return 0;
}

/// Could the answers that are still to come make a majority of one number, whichever?
bool coordinator::may_agree() const {
  std::size_t coming = 0;
  for (const seat& s : seats_) {
    coming += s.asked_again || (!s.in && !s.doubtful && !late_) ? 1U : 0U;
  }
  if (coming >= majority()) {
    return true;
  }
  for (const seat& one : seats_) {
    if (!one.in || one.said != vote_answer::yes || one.asked_again) {
      continue;
    }
    const auto same = std::count_if(seats_.begin(), seats_.end(), [&](const seat& s) {
      return s.in && s.said == vote_answer::yes && !s.asked_again && s.number == one.number;
    });
    if (static_cast<std::size_t>(same) + coming >= majority()) {
      return true;
    }
  }
  return false;
}

/// A majority is for us; have they given the same number?
coordinator_action coordinator::decide_token(instant now) {
  if (!settings_.tokens) {
    return end(kind::succeed);
  }
  if (const std::uint64_t token = agreed(); token != 0) {
    return end(kind::succeed, token);
  }
  if (!may_agree()) {
    return rounds_ < most_rounds ? next_round() : end(kind::fail);
  }
  // A majority is for us, and the slower ones may bring the missing number: as long again as the others took, and no longer.
  if (!late_) {
    wake_at_ = std::min(wake_at_, std::min(now + (now - sent_), sent_ + settings_.patience));
  }
  return {};
}

/// Those who have said what they think of it. One that cannot be asked says so at once, and nothing about how long an answer takes.
std::size_t coordinator::heard() const noexcept {
  return static_cast<std::size_t>(std::count_if(seats_.begin(), seats_.end(), [](const seat& s) {
    return s.in && s.said != vote_answer::unreachable && s.said != vote_answer::unsure;
  }));
}

/// The others have as long again as it took so far, and not less than they would need on any network that is of use.
void coordinator::hurry(instant now) noexcept {
  wake_at_ = std::min(wake_at_, std::max(now + (now - sent_), sent_ + settings_.patience));
}

coordinator_action coordinator::decide(instant now) {
  if (over_) {
    return {};
  }
  const std::size_t yes = count(vote_answer::yes);
  if (yes >= majority()) {
    return decide_token(now);
  }
  std::size_t coming = 0;
  std::size_t doubtful = 0;
  for (const seat& s : seats_) {
    coming += !s.in && !late_ ? 1U : 0U;
    doubtful += !s.in && !late_ && s.doubtful ? 1U : 0U;
  }
  if (yes + coming < majority()) {
    if (coming == doubtful) {
      return end(kind::fail);
    }
    if (yes + count(vote_answer::held) >= majority()) {
      // Who has the lock is reason enough; but should the holder be dead, all its votes have to be known.
      wake_at_ = std::min(wake_at_, now + std::min(now - sent_, settings_.patience));
    } else {
      hurry(now);  // who answers next may know better why
    }
    return {};
  }
  // While too few have answered at all, the network is to blame, not the rest.
  if (heard() >= majority()) {
    hurry(now);
  } else if (yes + coming - doubtful <
             majority()) {  // there is only hope in those who have been silent lately
    wake_at_ = std::min(wake_at_, std::max(now, sent_ + settings_.patience));
  }
  return {};
}

/// One more than all that was given: each of them takes that, unless another lock of its bucket comes in between.
coordinator_action coordinator::next_round() {
  ++rounds_;
  coordinator_action again{.what = kind::commit};
  for (std::size_t i = 0; i < seats_.size(); ++i) {
    seat& s = seats_[i];
    if (s.in && s.said == vote_answer::yes) {
      again.token = std::max(again.token, s.number);
      again.to.push_back(i);
      s.asked_again = true;
    }
  }
  ++again.token;
  wake_at_ = instant::max();
  return again;
}

coordinator_action coordinator::end(coordinator_action::kind how, std::uint64_t token) {
  over_ = true;
  return {.what = how, .token = token};
}

}  // namespace cremone::core
