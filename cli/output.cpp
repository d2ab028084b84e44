// SPDX-License-Identifier: Apache-2.0
#include "cli/output.hpp"

#include "base/text.hpp"
#include "cli/exit_codes.hpp"
#include "cli/secrets.hpp"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <system_error>

namespace cremone::cli {

namespace {

/// 0, or errno.
int write_all(int fd, std::string_view text) noexcept {
  while (!text.empty()) {
    const ssize_t written = ::write(fd, text.data(), text.size());
    if (written > 0) {
      text.remove_prefix(static_cast<std::size_t>(written));
    } else if (written < 0 && errno != EINTR) {
      return errno;
    }
  }
  return 0;
}

bool starts_character(char c) noexcept { return (static_cast<unsigned char>(c) & 0xc0U) != 0x80U; }

}  // namespace

void reserve_standard_streams() noexcept {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(fd, F_GETFD) < 0) {  // the lowest that is free, so that open() returns just this one
      static_cast<void>(::open("/dev/null", O_CLOEXEC | (fd == STDIN_FILENO ? O_WRONLY : O_RDONLY)));
    }
  }
}

bool is_terminal(int fd) noexcept { return ::isatty(fd) == 1; }

palette colours_for(int fd) {
  const char* const no = std::getenv("NO_COLOR");
  const char* const term = std::getenv("TERM");
  const bool dumb = term == nullptr || std::strcmp(term, "dumb") == 0;
  if (!is_terminal(fd) || dumb || (no != nullptr && no[0] != '\0')) {
    return {};
  }
  return {"\x1b[1m", "\x1b[32m", "\x1b[31m", "\x1b[2m", "\x1b[0m", "\x1b[33m"};
}

extent terminal_size(int fd) noexcept {
  winsize size{};
  if (::ioctl(fd, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0) {
    return {};
  }
  return {size.ws_col, size.ws_row};
}

result<void> print(std::string_view text) {
  if (const int failed = write_all(STDOUT_FILENO, text); failed != 0) {
    return error(errc::storage_error,
                 "cannot write to standard output: " + std::generic_category().message(failed));
  }
  return {};
}

void draw(std::string_view text) noexcept { static_cast<void>(write_all(STDERR_FILENO, text)); }

void complain(std::string_view text) noexcept {
  draw("cremone: " + printable(without_passwords(text)) + "\n");
}

int report(const error& why) noexcept {
  complain(why.message());
  return exit_status(why.code());
}

std::size_t width(std::string_view text) noexcept {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), starts_character));
}

std::string cut(std::string_view text, std::size_t columns) {
  if (width(text) <= columns) {
    return std::string(text);
  }
  std::size_t characters = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    characters += starts_character(text[i]) ? 1U : 0U;
    if (characters == columns) {
      return std::string(text.substr(0, i)) + "…";
    }
  }
  return {};  // no columns at all
}

std::string padded(std::string_view text, std::size_t columns) {
  std::string all(text);
  const std::size_t have = width(text);
  all.append(columns > have ? columns - have : 0, ' ');
  return all;
}

}  // namespace cremone::cli
