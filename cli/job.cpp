// SPDX-License-Identifier: Apache-2.0
#include "cli/job.hpp"

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace cremone::cli {

using step = loss_policy::step;

namespace {

/// When there is nothing to wake for; setting the alarm also silences one that rang.
constexpr std::chrono::hours longest_sleep{1};

}  // namespace

job::job(lease& held, signal_inbox& signals, terminal& tty, handover when, std::chrono::nanoseconds grace,
         pid_t child)
    : lease_(held),
      signals_(signals),
      tty_(tty),
      when_(when),
      child_(child),
      policy_(grace, held.deadline()),
      lost_(std::make_shared<event>()) {
  lease_.on_lost(
      [lost = lost_](const error&) { lost->raise(); });  // shared: it may be told after we are gone
}

job_end job::run() {
  for (;;) {
    if (look_at_child()) {
      return end_;
    }
    mind_the_lease();
    wait_for_something();
    while (const auto signal = signals_.next()) {
      handle(*signal);
    }
  }
}

void job::mind_the_lease() {
  switch (policy_.next(validity_clock::now(), lease_.held(), lease_.deadline())) {
    case step::nothing: break;
    case step::terminate:
      note_trouble();
      // Who is stopped cannot clean up, and must not be continued without the lock.
      ::kill(-child_, stopped_ ? SIGKILL : SIGTERM);
      break;
    case step::kill:
      note_trouble();
      ::kill(-child_, SIGKILL);
      break;
  }
  alarm_.set(std::min<std::chrono::nanoseconds>(policy_.wake_at() - validity_clock::now(), longest_sleep));
}

/// Keeps the first reason only: the store may be back before the command has ended.
void job::note_trouble() {
  if (const auto renewal = lease_.last_renewal(); !renewal && end_.renewal_trouble.empty()) {
    end_.renewal_trouble = renewal.error().detail();
  }
}

void job::wait_for_something() {
  std::array<pollfd, 3> sources{pollfd{signals_.fd(), POLLIN, 0}, pollfd{alarm_.fd(), POLLIN, 0},
                                pollfd{policy_.ending() ? -1 : lost_->fd(), POLLIN, 0}};
  ::poll(sources.data(), sources.size(), -1);  // an interruption is one more look, no more
}

void job::handle(int signal) {
  if (signal == SIGCONT) {
    when_continued();
  } else if (is_a_message(signal)) {
    ::kill(child_, signal);
  } else if (ends_a_process(signal) || signal == SIGTSTP) {
    passed_on_ = signal;
    ::kill(-child_, signal);
  }
}

bool job::look_at_child() {
  siginfo_t info{};
  // Left unreaped at first: as long as the leader is there, nobody else can have its group's number.
  while (::waitid(P_PID, static_cast<id_t>(child_), &info, WEXITED | WSTOPPED | WNOHANG | WNOWAIT) == 0 &&
         info.si_pid != 0) {
    if (info.si_code != CLD_STOPPED) {
      end_it();
      return true;
    }
    siginfo_t taken{};
    ::waitid(P_PID, static_cast<id_t>(child_), &taken, WSTOPPED | WNOHANG);
    when_stopped(info.si_status);
    info = {};
  }
  return false;
}

void job::end_it() {
  if (policy_.ending() || !lease_.held()) {
    ::kill(-child_, SIGKILL);  // what it left behind in its group has no lock either
  }
  end_.at_terminal = tty_.given();
  tty_.take_back();
  int status = 0;
  ::waitpid(child_, &status, 0);
  if (WIFSIGNALED(status)) {
    end_.signal = WTERMSIG(status);
  } else {
    end_.code = WEXITSTATUS(status);
  }
  end_.ended_by_us = policy_.ending();
  end_.forwarded = end_.signal != 0 && end_.signal == passed_on_;
}

void job::when_stopped(int signal) {
  stopped_ = true;
  const bool asks_for_the_terminal = signal == SIGTTIN || signal == SIGTTOU;
  if (asks_for_the_terminal && tty_.ours() && tty_.give(child_)) {
    proceed();
    return;
  }
  tty_.take_back();
  if (!tty_.present()) {
    return;  // no shell watches us: nobody would continue us, and the lease needs us awake
  }
  signals_.stop_here(signal, true);
  if (!signal_inbox::was_continued() && tty_.ours()) {
    when_continued();  // the kernel did not stop us, because no shell watches; then it does not stop the command either
  }
}

void job::when_continued() {
  if (!lease_.held()) {
    return;  // mind_the_lease comes next, and kills what is stopped
  }
  if ((stopped_ || when_ == handover::at_once) && tty_.ours()) {
    tty_.give(child_);
  }
  proceed();
}

void job::proceed() {
  stopped_ = false;
  ::kill(-child_, SIGCONT);
}

}  // namespace cremone::cli
