// SPDX-License-Identifier: Apache-2.0
//
// `cremone fence append FILE`: standard input goes to the end of the file, whole or not at all.
#include "cli/exit_codes.hpp"
#include "cli/fence_commands.hpp"
#include "cli/fence_input.hpp"
#include "cli/fence_options.hpp"
#include "cli/output.hpp"

namespace cremone::cli {

namespace {

constexpr command_text text = {
    "fence append", "[OPTIONS] FILE",
    "Adds what comes from standard input to the end of FILE, if no higher token was seen, and remembers the "
    "token in\n"
    "FILE.fence beside it: for logs that only the holder of a lock may write. It reads all of its input "
    "before it begins,\n"
    "so that what several of them add is never mixed. What one leaves that is killed half-way, the next "
    "removes.\n\n"
    "It protects from those who write by it. Ends with 81 if the token is too old, 80 if there is none, 74 "
    "if the disk is\n"
    "full or read-only or the input cannot be read, 77 without permission; nothing was added then.",
    "  cremone run nightly -- sh -c './job | cremone fence append nightly.log'\n"
    "  echo done | cremone fence append --token 41 nightly.log",
    false};

}  // namespace

outcome fence_append_command(const arguments& given) {
  parser p(text);
  token_option which;
  which.add_to(p);
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
  const auto added = file->append(*token, standard_input(empty_input::fine));
  return {.status = added ? status::done : report(added.error())};
}

}  // namespace cremone::cli
