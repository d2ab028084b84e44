// SPDX-License-Identifier: Apache-2.0
//
// A library's threads must take no signal: the program's handlers expect to run on the program's threads.
#pragma once

#include <pthread.h>
#include <signal.h>

namespace cremone {

/// Blocks all signals while it lives; a thread started meanwhile inherits that.
class signals_blocked {
 public:
  signals_blocked() noexcept {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  signals_blocked(const signals_blocked&) = delete;
  signals_blocked& operator=(const signals_blocked&) = delete;
  ~signals_blocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_{};
};

}  // namespace cremone
