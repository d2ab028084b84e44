// SPDX-License-Identifier: Apache-2.0
//
// Signals as values that the main thread reads when it is ready for them. No handler ever runs, so that nothing has to
// be safe inside one. What a signal means is the reader's business.
#pragma once

#include "base/descriptor.hpp"

#include <signal.h>

#include <functional>
#include <optional>

namespace cremone::cli {

/// From its construction on, the signals that would end or stop us are blocked and wait in a descriptor instead. What
/// was ignored when we started stays ignored, here and in the command: `nohup` works. Make it before any thread
/// starts, because threads inherit the mask; a signal finds the thread that does not block it.
///
/// Threads: the main thread only. Throws std::system_error when there is no descriptor left.
class signal_inbox {
 public:
  signal_inbox();
  signal_inbox(const signal_inbox&) = delete;
  signal_inbox& operator=(const signal_inbox&) = delete;
  signal_inbox(signal_inbox&&) = delete;
  signal_inbox& operator=(signal_inbox&&) = delete;
  ~signal_inbox() = default;

  [[nodiscard]] int fd() const noexcept { return fd_.get(); }

  /// The next signal that came, if one did.
  [[nodiscard]] std::optional<int> next() noexcept;

  /// Takes all that came, for one who only waits: stops where SIGTSTP asks for it, after `before_stop`, and gives the first that
  /// is to end us; 0 if none is.
  [[nodiscard]] int take_all(const std::function<void()>& before_stop);

  /// Stops this process as `signal` would (one of the stop signals), with its whole process group if asked, and
  /// returns when it is continued. Returns at once where the kernel does not stop: in a group that no shell watches.
  void stop_here(int signal, bool whole_group) noexcept;

  /// Whether a SIGCONT waits to be read: after stop_here, whether we really were stopped.
  [[nodiscard]] static bool was_continued() noexcept;

  /// What the command gets back before it is executed; the system calls in it are safe after fork.
  void restore_in_child() const noexcept;

 private:
  descriptor fd_;
  sigset_t original_mask_{};
  struct sigaction original_child_action_ {};
};

/// Whether this process ignores a signal.
[[nodiscard]] bool is_ignored(int signal) noexcept;

/// Whether a signal that comes to us is for the command alone and not for its whole group: one by which a program is
/// told something. Its helpers would die of it.
[[nodiscard]] bool is_a_message(int signal) noexcept;

/// The short name for people: "SIGTERM".
[[nodiscard]] const char* signal_name(int signal) noexcept;

/// Whether a signal's default is to end the process, among those that the inbox takes.
[[nodiscard]] bool ends_a_process(int signal) noexcept;

/// Ends this process by `signal`, so that who waits for us sees it; with its whole process group if asked. Returns only
/// if the signal is one that does not end a process.
void die_by(int signal, bool whole_group) noexcept;

}  // namespace cremone::cli
