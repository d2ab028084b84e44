// SPDX-License-Identifier: Apache-2.0
//
// `cremone doctor [URL]`: is this store a good place for locks?
#include "cli/commands.hpp"
#include "cli/exit_codes.hpp"
#include "cli/finding_text.hpp"
#include "cli/output.hpp"
#include "cli/record_json.hpp"
#include "cli/run_options.hpp"

#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

namespace cremone::cli {

namespace {

constexpr command_text text = {
    "doctor", "[OPTIONS] [URL]",
    "Looks whether a store is a good place for locks: its settings, its clock, its room, how fast it "
    "answers, what "
    "this\n"
    "user may do there. For each it says what was found, and why that is good or bad. Nothing is changed, "
    "but that a database file which is not there is made. A "
    "verdict is\n"
    "good, untold (could not be found out), warning (may cost a lock under a fault that happens) or bad "
    "(locks there are\n"
    "not safe, or do not work). On a terminal a table; else lines with tabs between verdict, subject, what "
    "was found,\n"
    "why, and the server; the last is about all of them.\n"
    "Ends with 0 when nothing is bad, with 1 when something is.",
    "  cremone doctor\n"
    "  cremone doctor 'redis://db:6379'\n"
    "  cremone doctor --json | jq -r '.findings[] | select(.verdict == \"bad\") | .subject'"};

std::string as_text(const std::vector<finding>& found, const std::string& store) {
  if (!is_terminal(STDOUT_FILENO)) {
    return findings_lines(found, store);
  }
  return findings_table(found, store, terminal_size(STDOUT_FILENO).columns, colours_for(STDOUT_FILENO));
}

/// "20s", "1.3s", rounded down.
std::string tenths(std::chrono::milliseconds length) {
  const auto all = length.count() / 100;
  return std::to_string(all / 10) + (all % 10 == 0 ? "" : "." + std::to_string(all % 10)) + "s";
}

/// How long the store may be unreachable before a lease of the default ttl is lost.
finding outage_finding(const client& store, const std::vector<finding>& others) {
  const bool one_node = !others.empty() && std::all_of(others.begin(), others.end(), [&](const finding& f) {
    return f.node == others.front().node;
  });
  const auto ttl = store.default_ttl();
  const auto of_run =
      store.survivable_outage({.renewals_per_ttl = run_renewals_per_ttl}, ttl / default_grace_divisor);
  return {.node = one_node ? others.front().node : store.store(),
          .subject = "outage",
          .verdict = verdict::good,
          .value = "run " + tenths(of_run) + ", library " + tenths(store.survivable_outage()),
          .reason = "a lease of " + tenths(ttl) +
                    " (the default ttl) survives this long without the store; up to 2s less if the "
                    "network drops packets"};
}

}  // namespace

outcome doctor_command(const arguments& given) {
  parser p(text);
  p.add_json();
  p.add_quiet("print nothing; the exit code says whether something is bad");
  p.add_url();
  if (const auto over = p.parse(given)) {
    return {.status = *over};
  }
  const auto store = p.open_store();
  if (!store) {
    return {.status = report(store.error())};
  }
  auto found = store->examine();
  if (!found) {
    return {.status = report(found.error())};
  }
  found->push_back(outage_finding(*store, *found));
  const auto printed = print(p.quiet()  ? ""
                             : p.json() ? findings_json(*found, store->store())
                                        : as_text(*found, store->store()));
  if (!printed) {
    return {.status = report(printed.error())};
  }
  return {.status = overall(*found) == verdict::bad ? status::something_bad : status::done};
}

}  // namespace cremone::cli
