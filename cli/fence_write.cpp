// SPDX-License-Identifier: Apache-2.0
//
// `cremone fence write FILE`: standard input becomes the file, whole or not at all.
#include "cli/exit_codes.hpp"
#include "cli/fence_commands.hpp"
#include "cli/fence_input.hpp"
#include "cli/fence_options.hpp"
#include "cli/output.hpp"

namespace cremone::cli {

namespace {

constexpr command_text text = {
    "fence write", "[OPTIONS] FILE",
    "Replaces FILE by what comes from standard input, if no higher token was seen, and remembers the token "
    "in FILE.fence\n"
    "beside it. Whoever reads FILE meanwhile finds the old content or the new one, also after a crash. It "
    "keeps owner and\n"
    "mode, and writes what a symbolic link leads to.\n\n"
    "An empty input is refused, unless --empty is given: a producer that failed sends nothing, and would "
    "empty FILE. One\n"
    "that fails half-way looks as if it were done, as to every program in a pipe; where that may happen, "
    "let it write to\n"
    "a file of its own first: ./report > new && cremone fence write report.csv < new\n\n"
    "It protects from those who write by it. Ends with 81 if the token is too old, 80 if there is none, 74 "
    "if the disk is\n"
    "full or read-only or the input cannot be read, 77 without permission; FILE is as it was then.",
    "  cremone run report -- sh -c 'make -s report | cremone fence write report.csv'\n"
    "  cremone fence write --token 41 report.csv < new.csv",
    false};

}  // namespace

outcome fence_write_command(const arguments& given) {
  parser p(text);
  token_option which;
  bool empty = false;
  which.add_to(p);
  p.add_flag("--empty", empty, "an empty input is meant, and empties the file");
  p.add_name("file");
  if (const auto over = p.parse(given)) {
    return {.status = *over};
  }
  const auto file = file_named(p.name());
  if (!file) {
    return {.status = report(file.error())};
  }
  const auto token = which.read(p);
  if (!token) {
    return {.status = report(token.error())};
  }
  say_that_it_waits_for_typing();
  const auto written = file->write(*token, standard_input(empty ? empty_input::fine : empty_input::refused));
  return {.status = written ? status::done : report(written.error())};
}

}  // namespace cremone::cli
