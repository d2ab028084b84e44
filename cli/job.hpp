// SPDX-License-Identifier: Apache-2.0
//
// A command at work under a lease: signals go to it, the terminal goes back and forth, and it is ended when the lease
// is in danger. Does what loss_policy decides; knows neither how the command was started nor how the lock was got.
#pragma once

#include "cli/loss_policy.hpp"
#include "cli/signals.hpp"
#include "cli/terminal.hpp"
#include "cli/wakers.hpp"

#include <cremone/lease.hpp>

#include <sys/types.h>

#include <memory>
#include <string>

namespace cremone::cli {

/// How a command ended.
struct job_end {
  int code = 0;                   ///< its exit code, if it ended by itself
  int signal = 0;                 ///< else the signal that ended it
  bool ended_by_us = false;       ///< because the lease was lost, or about to be
  bool at_terminal = false;       ///< it had the terminal: a SIGINT came from there
  bool forwarded = false;         ///< `signal` came to us, and we passed it on
  std::string renewal_trouble{};  ///< if ended by us: why the last renewal failed
};

/// Whether a command gets the terminal before it asks.
enum class handover : bool {
  when_asked,  ///< when it reads from it or changes its settings: others in our pipeline may use the terminal too
  at_once,
};

/// | what happens                                | what is done                                                    |
/// |---------------------------------------------|-----------------------------------------------------------------|
/// | HUP, INT, QUIT, TERM, TSTP                  | sent on to the command's group                                  |
/// | USR1, USR2, ALRM, WINCH                     | sent on to the command alone                                    |
/// | the command wants the terminal, we have it  | it gets it and continues                                        |
/// | the command stops                           | we take the terminal back and stop, and the shell sees a stopped job |
/// | SIGCONT                                     | lease lost: the group is killed, never continued; else it continues, with the terminal if that is ours again |
/// | the lease is lost or about to be            | SIGTERM, then SIGKILL to the group (loss_policy)                |
///
/// Threads: the main thread only.
class job {
 public:
  job(lease& held, signal_inbox& signals, terminal& tty, handover when, std::chrono::nanoseconds grace,
      pid_t child);

  /// Until the command has ended. The terminal is ours again then.
  [[nodiscard]] job_end run();

 private:
  void mind_the_lease();
  void note_trouble();
  void wait_for_something();
  void handle(int signal);
  /// Says whether the command has ended.
  [[nodiscard]] bool look_at_child();
  void when_stopped(int signal);
  void when_continued();
  void proceed();
  void end_it();

  lease& lease_;
  signal_inbox& signals_;
  terminal& tty_;
  handover when_;
  pid_t child_;
  loss_policy policy_;
  std::shared_ptr<event> lost_;
  alarm_clock alarm_;
  bool stopped_ = false;
  int passed_on_ = 0;
  job_end end_;
};

}  // namespace cremone::cli
