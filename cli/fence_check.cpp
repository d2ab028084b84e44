// SPDX-License-Identifier: Apache-2.0
//
// `cremone fence check RESOURCE`: lets a token pass and remembers it, or says that a higher one was seen.
#include "cli/exit_codes.hpp"
#include "cli/fence_commands.hpp"
#include "cli/fence_json.hpp"
#include "cli/fence_options.hpp"
#include "cli/output.hpp"

#include <unistd.h>

namespace cremone::cli {

namespace {

constexpr command_text text = {
    "fence check", "[OPTIONS] RESOURCE",
    "Lets the token pass if no higher one was seen, and remembers it: from then on lower ones are refused. "
    "RESOURCE is a\n"
    "file; with --url or $CREMONE_FENCE_URL it is a name in a database or Redis, best that of the lock. Ends "
    "with 0 when it\n"
    "passes, with 81 when it is too old, with 80 when there is none, with 78 when the database's table is "
    "missing, with\n"
    "69 when it cannot be reached.\n\n"
    "A check before an act protects only what comes through the check: between the two this process can be "
    "stopped, and\n"
    "act too late. Where the act is a write to a file, `cremone fence write` is both in one step; in a "
    "database it is the\n"
    "same check within the transaction that writes, in any language.",
    "  cremone run report -- sh -c 'cremone fence check report.csv && ./render > report.csv'\n"
    "  cremone fence check --url postgres://app@db/shop --token 41 ledger\n"
    "  cremone fence check --url redis://cache --json prices",
    false};

outcome passed(const parser& p, fenced_subject& subject, fence_token token) {
  std::string said;
  if (p.json()) {
    said = check_json(subject, token, true, token);
  } else if (is_terminal(STDOUT_FILENO)) {
    said = "Token " + std::to_string(token.value()) + " passes; " + subject.shown() +
           " refuses lower ones from now on.\n";
  }
  const auto printed = print(said);
  return {.status = printed ? status::done : report(printed.error())};
}

}  // namespace

outcome fence_check_command(const arguments& given) {
  parser p(text);
  token_option which;
  subject_options what;
  which.add_to(p);
  what.add_to(p);
  p.add_json();
  if (const auto over = p.parse(given)) {
    return {.status = *over};
  }
  const auto token = which.read(p);
  if (!token) {
    return {.status = report(token.error())};
  }
  auto subject = what.open(p);
  if (!subject) {
    return {.status = report(subject.error())};
  }
  if (!subject->exists()) {  // else a resource's name without its URL would pass, by a file of that name
    return {.status = report(
                {errc::invalid_argument, "there is no " + subject->shown() +
                                             "; for a resource in a database or Redis give --url URL"})};
  }
  const auto checked = subject->check(*token);
  if (checked) {
    return passed(p, *subject, *token);
  }
  if (p.json() && checked.error() == errc::stale_token) {
    if (const auto printed = print(check_json(*subject, *token, false, subject->highest())); !printed) {
      return {.status = report(printed.error())};
    }
  }
  return {.status = report(checked.error())};
}

}  // namespace cremone::cli
