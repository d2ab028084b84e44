// SPDX-License-Identifier: Apache-2.0
//
// `cremone fence show RESOURCE`: the highest token that was seen.
#include "cli/exit_codes.hpp"
#include "cli/fence_commands.hpp"
#include "cli/fence_json.hpp"
#include "cli/fence_options.hpp"
#include "cli/output.hpp"

#include <unistd.h>

namespace cremone::cli {

namespace {

constexpr command_text text = {
    "fence show", "[OPTIONS] RESOURCE",
    "Shows the highest token that a file has seen or, with --url or $CREMONE_FENCE_URL, a resource in a "
    "database or Redis.\n"
    "Not on a terminal: the number alone, and nothing if none was seen. Ends with 0, or with 1 if no token "
    "was seen yet.",
    "  cremone fence show report.csv\n"
    "  cremone fence show --url sqlite:///srv/shop.db ledger\n"
    "  cremone fence show --json report.csv | jq .highest",
    false};

std::string as_text(const fenced_subject& subject, fence_token highest) {
  const std::string number = std::to_string(highest.value());
  if (!is_terminal(STDOUT_FILENO)) {
    return highest == fence_token() ? "" : number + "\n";
  }
  if (!subject.exists() && highest == fence_token()) {
    return "There is no " + subject.shown() + ".\n";
  }
  return highest == fence_token()
             ? "No token has come to " + subject.shown() + " yet.\n"
             : "The highest token that " + subject.shown() + " has seen is " + number + ".\n";
}

}  // namespace

outcome fence_show_command(const arguments& given) {
  parser p(text);
  subject_options what;
  what.add_to(p);
  p.add_json();
  if (const auto over = p.parse(given)) {
    return {.status = *over};
  }
  auto subject = what.open(p);
  if (!subject) {
    return {.status = report(subject.error())};
  }
  const auto highest = subject->highest();
  if (!highest) {
    return {.status = report(highest.error())};
  }
  if (const auto printed = print(p.json() ? show_json(*subject, *highest) : as_text(*subject, *highest));
      !printed) {
    return {.status = report(printed.error())};
  }
  return {.status = *highest == fence_token() ? status::none_seen : status::done};
}

}  // namespace cremone::cli
