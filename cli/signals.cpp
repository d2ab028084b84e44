// SPDX-License-Identifier: Apache-2.0
#include "cli/signals.hpp"

#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>

namespace cremone::cli {

namespace {

struct known_signal {
  int number;
  const char* name;
  bool ends;
};

// SIGTTOU is here so that we may hand the terminal over from the background, SIGPIPE so that a reader who left does
// not end us while a command runs.
constexpr std::array taken = {
    known_signal{SIGHUP, "SIGHUP", true},    known_signal{SIGINT, "SIGINT", true},
    known_signal{SIGQUIT, "SIGQUIT", true},  known_signal{SIGTERM, "SIGTERM", true},
    known_signal{SIGALRM, "SIGALRM", true},  known_signal{SIGUSR1, "SIGUSR1", true},
    known_signal{SIGUSR2, "SIGUSR2", true},  known_signal{SIGPIPE, "SIGPIPE", false},
    known_signal{SIGCHLD, "SIGCHLD", false}, known_signal{SIGCONT, "SIGCONT", false},
    known_signal{SIGTSTP, "SIGTSTP", false}, known_signal{SIGTTIN, "SIGTTIN", false},
    known_signal{SIGTTOU, "SIGTTOU", false}, known_signal{SIGWINCH, "SIGWINCH", false},
};

sigset_t only(int signal) noexcept {
  sigset_t set{};
  ::sigemptyset(&set);
  ::sigaddset(&set, signal);
  return set;
}

}  // namespace

bool is_ignored(int signal) noexcept {
  struct sigaction action {};
  return ::sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

bool is_a_message(int signal) noexcept {
  return signal == SIGUSR1 || signal == SIGUSR2 || signal == SIGALRM || signal == SIGWINCH;
}

signal_inbox::signal_inbox() {
  // A parent that ignores SIGCHLD would make the kernel throw our child's exit status away.
  struct sigaction by_default {};
  by_default.sa_handler = SIG_DFL;
  ::sigaction(SIGCHLD, &by_default, &original_child_action_);

  sigset_t set{};
  ::sigemptyset(&set);
  for (const known_signal& s : taken) {
    // The kernel keeps a blocked signal even if it is ignored: one that is ignored must not be blocked.
    if (!is_ignored(s.number) || s.number == SIGCONT) {
      ::sigaddset(&set, s.number);
    }
  }
  ::pthread_sigmask(SIG_BLOCK, &set, &original_mask_);
  fd_ = descriptor(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!fd_) {
    throw std::system_error(errno, std::generic_category(), "signalfd");
  }
}

std::optional<int> signal_inbox::next() noexcept {
  signalfd_siginfo info{};
  if (::read(fd_.get(), &info, sizeof info) != static_cast<ssize_t>(sizeof info)) {
    return std::nullopt;
  }
  return static_cast<int>(info.ssi_signo);
}

int signal_inbox::take_all(const std::function<void()>& before_stop) {
  int ended_by = 0;
  while (const auto signal = next()) {
    if (*signal == SIGTSTP) {
      before_stop();
      stop_here(SIGTSTP, false);
    } else if (ends_a_process(*signal) && ended_by == 0) {
      ended_by = *signal;
    }
  }
  return ended_by;
}

void signal_inbox::stop_here(int signal, bool whole_group) noexcept {
  const sigset_t set = only(signal);
  ::kill(whole_group ? 0 : ::getpid(), signal);   // pending, as long as it is blocked
  ::pthread_sigmask(SIG_UNBLOCK, &set, nullptr);  // and here we stop
  ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

bool signal_inbox::was_continued() noexcept {
  sigset_t pending{};
  return ::sigpending(&pending) == 0 && ::sigismember(&pending, SIGCONT) == 1;
}

void signal_inbox::restore_in_child() const noexcept {
  ::sigaction(SIGCHLD, &original_child_action_, nullptr);
  ::pthread_sigmask(SIG_SETMASK, &original_mask_, nullptr);
}

const char* signal_name(int signal) noexcept {
  const auto* const found =
      std::find_if(taken.begin(), taken.end(), [&](const known_signal& s) { return s.number == signal; });
  return found == taken.end() ? "a signal" : found->name;
}

bool ends_a_process(int signal) noexcept {
  return std::any_of(taken.begin(), taken.end(),
                     [&](const known_signal& s) { return s.number == signal && s.ends; });
}

void die_by(int signal, bool whole_group) noexcept {
  const rlimit no_core{0, 0};  // the core of interest is the command's, not ours
  ::setrlimit(RLIMIT_CORE, &no_core);
  struct sigaction by_default {};
  by_default.sa_handler = SIG_DFL;
  ::sigaction(signal, &by_default, nullptr);
  ::kill(whole_group ? 0 : ::getpid(), signal);
  const sigset_t set = only(signal);
  ::pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
}

}  // namespace cremone::cli
