// SPDX-License-Identifier: Apache-2.0
//
// Getting the lock for `run`: another thread waits for it, so that the main thread can hear signals and show a person
// for whom we wait.
#pragma once

#include "cli/signals.hpp"

#include <cremone/client.hpp>
#include <cremone/lease.hpp>
#include <cremone/options.hpp>
#include <cremone/record.hpp>

#include <chrono>
#include <string>

namespace cremone::cli {

/// A lease or why not; and the signal, if one ended the waiting.
struct waited {
  result<lease> got;
  int signal = 0;
};

/// What is printed while we wait.
struct wait_talk {
  bool verbose = false;  ///< who holds the lock, also without a terminal
  bool quiet = false;    ///< nothing
};

/// Acquires the lock. Meanwhile, on a terminal, one line on standard error shows who holds the
/// lock; the line is erased before acquire() returns. Elsewhere the line is printed once, if
/// `talk.verbose` is set or if the store itself prevents the lock. Printing never prolongs the
/// wait. A signal that would end this process ends the wait, and leaves no hold and no place in the
/// queue. Throws std::system_error when the system has no thread left.
[[nodiscard]] waited acquire(const client& store, const std::string& name, const acquire_options& options,
                             signal_inbox& signals, wait_talk talk);

/// Who asks, to find our own place in the queue.
struct own_identity {
  std::string host;
  std::int64_t pid = 0;
};

/// "waiting for 'deploy': held by db1 pid 4711 'nightly' for 3m 5s; place 2 of 3; waited 12s", or of a store that knows
/// less: "waiting for 'deploy': held by another program, which left 'f3a9', expires in 8s unless renewed; waited 12s"
[[nodiscard]] std::string waiting_line(const lock_record& lock, const own_identity& self,
                                       std::chrono::milliseconds waited, wall_time now);

/// The same for a store that does not answer, or that grants no lock:
/// "waiting for 'deploy': db1:6379 grants no lock, …; waited 12s"
[[nodiscard]] std::string waiting_line(const std::string& name, const std::string& trouble,
                                       std::chrono::milliseconds waited);

}  // namespace cremone::cli
