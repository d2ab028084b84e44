// SPDX-License-Identifier: Apache-2.0
#include "cli/terminal.hpp"

#include <fcntl.h>
#include <unistd.h>

namespace cremone::cli {

terminal::terminal() : tty_(::open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY)) {
  termios now{};
  if (ours() && ::tcgetattr(tty_.get(), &now) == 0) {
    settings_ = now;
  }
}

bool terminal::ours() const noexcept { return tty_ && ::tcgetpgrp(tty_.get()) == ::getpgrp(); }

bool terminal::give(pid_t group) noexcept {
  if (!tty_ || ::tcsetpgrp(tty_.get(), group) != 0) {
    return false;
  }
  given_ = group;
  return true;
}

void terminal::take_back() noexcept {
  if (given_ != 0 && ::tcgetpgrp(tty_.get()) == given_) {
    ::tcsetpgrp(tty_.get(), ::getpgrp());
  }
  given_ = 0;
}

void terminal::restore_settings() const noexcept {
  if (settings_ && ours()) {
    ::tcsetattr(tty_.get(), TCSADRAIN, &*settings_);
  }
}

}  // namespace cremone::cli
