// SPDX-License-Identifier: Apache-2.0
#include "cli/fence_input.hpp"

#include "cli/output.hpp"

#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace cremone::cli {

namespace {

error unreadable(int number) {
  if (number == EBADF) {
    return {errc::storage_error,
            "standard input is closed, or is not open for reading; the file is as it was"};
  }
  return {errc::storage_error, "cannot read standard input: " + std::generic_category().message(number) +
                                   "; the file is as it was"};
}

}  // namespace

fenced_file::source standard_input(empty_input when_empty) {
  return [when_empty, any = false](std::span<char> into) mutable -> result<std::size_t> {
    for (;;) {
      const ssize_t got = ::read(STDIN_FILENO, into.data(), into.size());
      if (got < 0 && errno == EINTR) {
        continue;
      }
      if (got < 0) {
        return unreadable(errno);
      }
      if (got == 0 && !any && when_empty == empty_input::refused) {
        return error(errc::invalid_argument,
                     "standard input is empty, and whatever was to fill it has perhaps failed; the file is "
                     "as it was. With --empty it is emptied");
      }
      any = true;
      return static_cast<std::size_t>(got);
    }
  };
}

void say_that_it_waits_for_typing() {
  if (is_terminal(STDIN_FILENO) && is_terminal(STDERR_FILENO)) {
    complain("reading from the terminal; end with Ctrl-D");
  }
}

}  // namespace cremone::cli
