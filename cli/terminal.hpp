// SPDX-License-Identifier: Apache-2.0
//
// The controlling terminal and whose turn it is to use it. As a shell does: the command's process group gets the
// terminal and we take it back. Knows process groups, not commands.
#pragma once

#include "base/descriptor.hpp"

#include <sys/types.h>
#include <termios.h>

#include <optional>

namespace cremone::cli {

/// Needs SIGTTOU blocked (see signal_inbox), because it also acts from the background. Threads: one.
class terminal {
 public:
  /// Without a controlling terminal every question is answered with no, and nothing is done.
  terminal();

  [[nodiscard]] bool present() const noexcept { return static_cast<bool>(tty_); }

  /// Whether our process group is the one that the terminal's keys go to.
  [[nodiscard]] bool ours() const noexcept;

  /// Hands it to that group; says whether that worked.
  bool give(pid_t group) noexcept;

  /// Takes it from the group that it was given to, unless somebody else did already.
  void take_back() noexcept;

  [[nodiscard]] bool given() const noexcept { return given_ != 0; }

  /// Puts its settings back as they were: after a command that died without doing so itself.
  void restore_settings() const noexcept;

  /// For the child, which makes itself the foreground group before it executes.
  [[nodiscard]] int fd() const noexcept { return tty_.get(); }

 private:
  descriptor tty_;
  std::optional<termios> settings_;
  pid_t given_ = 0;
};

/// Reads standard input key by key, without echo, so that one key can end a view. Does nothing
/// without a terminal, or in the background. The destructor restores the terminal's settings.
/// Threads: one.
class single_keys {
 public:
  /// Unless `wanted`, the object does nothing.
  explicit single_keys(bool wanted) : wanted_(wanted) { begin(); }
  single_keys(const single_keys&) = delete;
  single_keys& operator=(const single_keys&) = delete;
  ~single_keys() { end(); }

  /// Call end() before the process stops itself, to restore the settings, and begin() afterwards.
  void begin() noexcept;
  void end() noexcept;

  /// The descriptor to poll; -1: no keys can be read.
  [[nodiscard]] int fd() const noexcept;

  /// Reads the keys typed so far. True: `key` is among them.
  [[nodiscard]] bool typed(char key) const noexcept;

 private:
  const bool wanted_;
  std::optional<termios> before_;
};

}  // namespace cremone::cli
