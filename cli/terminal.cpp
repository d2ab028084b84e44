// SPDX-License-Identifier: Apache-2.0
#include "cli/terminal.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>

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

void single_keys::begin() noexcept {
  termios now{};
  const bool foreground = ::tcgetpgrp(STDIN_FILENO) == ::getpgrp();  // -1 where it is no terminal
  if (!wanted_ || before_ || !foreground || ::tcgetattr(STDIN_FILENO, &now) != 0) {
    return;
  }
  before_ = now;
  now.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
  now.c_cc[VMIN] = 0;  // a read returns at once
  now.c_cc[VTIME] = 0;
  ::tcsetattr(STDIN_FILENO, TCSANOW, &now);
}

void single_keys::end() noexcept {
  if (before_) {
    ::tcsetattr(STDIN_FILENO, TCSANOW, &*before_);
    before_.reset();
  }
}

int single_keys::fd() const noexcept {
  return before_ && ::tcgetpgrp(STDIN_FILENO) == ::getpgrp() ? STDIN_FILENO : -1;
}

bool single_keys::typed(char key) const noexcept {
  std::array<char, 64> keys{};
  const ssize_t count = fd() < 0 ? 0 : ::read(STDIN_FILENO, keys.data(), keys.size());
  return count > 0 && std::find(keys.begin(), keys.begin() + count, key) != keys.begin() + count;
}

}  // namespace cremone::cli
