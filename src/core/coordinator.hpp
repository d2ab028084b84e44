// SPDX-License-Identifier: Apache-2.0
//
// One acquisition over several servers that vote: whether enough of them said yes, whether those gave the same token, when to ask
// for another one, and when to stop waiting for the rest. Told the time and each server's answer; sends nothing itself. Pure.
//
// Why the token is unique and in order. A server gives each number once and only higher ones (strictly: lua/record). An acquisition
// counts as successful when a majority of servers gave it the same number. Any two majorities share a server, and that one gave
// the two numbers one after the other: they differ, and the one that was given first is the lower one. An acquisition that began
// after another had succeeded was given its numbers later on the shared server, so that its token is higher. No clock, no
// delay, no expiry and no loss of messages takes part in this; only that no server forgets (docs/redlock.md).
#pragma once

#include "core/quorum.hpp"

#include <cremone/types.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace cremone::core {

/// What a server said to an attempt to acquire.
enum class vote_answer : std::uint8_t {
  yes,
  held,         ///< no: another has its vote
  quarantined,  ///< no: it may have forgotten
  unreachable,  ///< no: it was not asked, or has refused for a reason that may pass
  unfit,        ///< no: for a reason that will not pass
  unsure,       ///< it may have granted it, or may do so later
};

struct coordinator_settings {
  std::size_t nodes = 1;
  /// The servers give numbers, and a majority of them must be the same.
  bool tokens = false;
  /// How long the slowest may take at least, once a majority has answered, whatever it said.
  std::chrono::nanoseconds patience{};
};

/// What the driver must do next.
struct coordinator_action {
  enum class kind : std::uint8_t {
    nothing,  ///< answers are on their way; tick at wake_at()
    commit,   ///< ask those in `to` for this number
    succeed,  ///< the lock is ours, with this token
    fail,     ///< it is not; take back what was granted, on all
  };
  kind what = kind::nothing;
  std::uint64_t token = 0;
  std::vector<std::size_t> to{};
};

/// | state  | a majority has one number | a majority said yes, and cannot agree any more | no majority can come                    | the rest is late |
/// |--------|---------------------------|------------------------------------------------|-----------------------------------------|------------------|
/// | voting | succeed                   | commit; fail after most_rounds                 | fail; first the rest is heard out, for a moment | commit or fail |
/// | over   | nothing                   | nothing                                        | nothing                                 | nothing          |
class coordinator {
 public:
  /// More rounds than this are not tried: who is in the way then is a rival, and somebody has to give way.
  static constexpr int most_rounds = 5;

  coordinator(const coordinator_settings& settings, instant sent)
      : settings_(settings), sent_(sent), seats_(settings.nodes) {}

  /// This server has not answered lately: it is waited for only when nobody else could make the majority, and not for long.
  /// Before its answer.
  void doubt(std::size_t node) noexcept { seats_[node].doubtful = true; }

  /// The answer to the attempt. `number`: what was given with a yes.
  [[nodiscard]] coordinator_action answered(std::size_t node, instant now, vote_answer what,
                                            std::uint64_t number = 0);

  /// The answer to a commit of this number: the number that the vote has now.
  [[nodiscard]] coordinator_action committed(std::size_t node, instant now, std::uint64_t number);

  /// A commit that brought no number: *lost*, or no answer. The vote does not count any more.
  [[nodiscard]] coordinator_action commit_failed(std::size_t node, instant now);

  [[nodiscard]] coordinator_action tick(instant now);

  /// When tick() wants to be called; the end of time when there is nothing to wait for.
  [[nodiscard]] instant wake_at() const noexcept { return over_ ? instant::max() : wake_at_; }

  [[nodiscard]] bool over() const noexcept { return over_; }
  [[nodiscard]] int rounds() const noexcept { return rounds_; }

  /// Of those that have answered so far.
  [[nodiscard]] std::size_t count(vote_answer what) const noexcept;
  [[nodiscard]] bool waits_for(std::size_t node) const noexcept { return !seats_[node].in; }
  /// Its vote may be ours, or become it. Not where it has said that another has it, or that it votes for nobody.
  [[nodiscard]] bool may_have_voted(std::size_t node) const noexcept {
    const seat& s = seats_[node];
    return !s.in || (s.said != vote_answer::held && s.said != vote_answer::quarantined);
  }
  /// Those whose answer to the attempt is not in.
  [[nodiscard]] std::size_t missing() const noexcept;

 private:
  struct seat {
    bool in = false;           // its answer to the attempt
    bool asked_again = false;  // a commit is on its way to it
    bool doubtful = false;
    vote_answer said = vote_answer::unsure;
    std::uint64_t number = 0;  // with a yes: what its vote has
  };

  [[nodiscard]] coordinator_action decide(instant now);
  [[nodiscard]] std::size_t heard() const noexcept;
  void hurry(instant now) noexcept;
  [[nodiscard]] coordinator_action decide_token(instant now);
  [[nodiscard]] coordinator_action next_round();
  [[nodiscard]] coordinator_action end(coordinator_action::kind how, std::uint64_t token = 0);
  [[nodiscard]] std::uint64_t agreed() const;
  [[nodiscard]] bool may_agree() const;
  [[nodiscard]] std::size_t majority() const noexcept { return majority_of(settings_.nodes); }

  coordinator_settings settings_;
  instant sent_;
  std::vector<seat> seats_;
  int rounds_ = 1;
  bool over_ = false;
  instant wake_at_ = instant::max();
  bool late_ = false;  // those who have not answered are not waited for any more
};

}  // namespace cremone::core
