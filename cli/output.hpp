// SPDX-License-Identifier: Apache-2.0
//
// Where words go: standard output, with every failure to write noticed; standard error; and whether a person sits
// before either of them. Knows nothing of locks.
#pragma once

#include <cremone/result.hpp>

#include <string>
#include <string_view>

namespace cremone::cli {

/// Colours, each empty where colour is not wanted: the stream is no terminal, or NO_COLOR is set, or TERM is dumb.
struct palette {
  std::string_view strong{};
  std::string_view good{};
  std::string_view bad{};
  std::string_view dim{};
  std::string_view plain{};
  std::string_view warning{};
};
[[nodiscard]] palette colours_for(int fd);

/// Columns and rows of the terminal on `fd`; 80 by 24 when it does not say.
struct extent {
  std::size_t columns = 80;
  std::size_t rows = 24;
};
[[nodiscard]] extent terminal_size(int fd) noexcept;

[[nodiscard]] bool is_terminal(int fd) noexcept;

/// Where standard input, output or error is closed, puts something in its place that can be neither read nor written,
/// so that no file that we open becomes it. The commands that we run find it closed. Call it first of all.
void reserve_standard_streams() noexcept;

/// Writes all of it to standard output, at once and unbuffered. *storage_error* when that fails: a full disk must not
/// look like success.
[[nodiscard]] result<void> print(std::string_view text);

/// "cremone: " and one line, to standard error. The text is made printable, and a password of a URL in it is hidden; that it cannot be written is ignored,
/// because there is nobody left to tell.
void complain(std::string_view text) noexcept;

/// Writes to standard error as it is: the line of one who waits, with its escape sequences.
void draw(std::string_view text) noexcept;

/// Complains about the error and returns the exit status for it.
[[nodiscard]] int report(const error& why) noexcept;

/// At most `columns` characters of UTF-8 text, the last an ellipsis if it was cut. Counts code points: good enough
/// for a line that is redrawn.
[[nodiscard]] std::string cut(std::string_view text, std::size_t columns);

/// `text` and blanks up to `columns` code points.
[[nodiscard]] std::string padded(std::string_view text, std::size_t columns);

[[nodiscard]] std::size_t width(std::string_view text) noexcept;

}  // namespace cremone::cli
