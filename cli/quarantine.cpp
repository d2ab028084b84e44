// SPDX-License-Identifier: Apache-2.0
//
// `cremone quarantine [URL]`: does each server of a store give out locks, and if not, why and for how long? And the order
// to end that.
#include "cli/commands.hpp"
#include "cli/exit_codes.hpp"
#include "cli/finding_text.hpp"
#include "cli/output.hpp"
#include "cli/record_json.hpp"

#include <unistd.h>

namespace cremone::cli {

namespace {

constexpr command_text text = {
    "quarantine", "[OPTIONS] [URL]",
    "Says whether each server of a store gives out locks. One that has restarted, was emptied or was "
    "promoted may have\n"
    "forgotten who holds what: it gives out none until every lease from before must be over. Not on a "
    "terminal: lines\n"
    "with tabs between server, state (open, quarantined or unreachable), milliseconds that are left, and "
    "why.\n"
    "Ends with 0 when all give out locks, with 1 when one is in quarantine or could not be asked, with 69 "
    "when too few\n"
    "could be asked for a lock to be given out.",
    "  cremone quarantine 'redis://db:6379'\n"
    "  cremone quarantine --end 'redis://db:6379'   when you know that nobody holds a lock from before"};

std::string as_text(const std::vector<quarantine_state>& states, const std::string& store) {
  return is_terminal(STDOUT_FILENO) ? quarantine_sentences(states, store, colours_for(STDOUT_FILENO))
                                    : quarantine_lines(states);
}

outcome show(const parser& p, const std::vector<quarantine_state>& states, const std::string& store,
             bool ended) {
  if (p.quiet()) {
    return {.status = quarantine_status(states)};
  }
  if (const auto printed = print(p.json() ? quarantine_json(states, store, ended) : as_text(states, store));
      !printed) {
    return {.status = report(printed.error())};
  }
  if (states.empty() && !p.json() && !is_terminal(STDOUT_FILENO)) {
    complain(without_quarantine(store));  // a person may sit here all the same
  }
  return {.status = quarantine_status(states)};
}

/// That there is nothing to end is said of those who were asked.
void say_nothing_to_end(const std::vector<quarantine_state>& states) {
  const std::string missing = not_reached(states);
  complain(
      "there is nothing to end: every server " +
      (missing.empty() ? "gives out locks" : "that was reached gives out locks; not reached: " + missing));
}

/// By order. Returns what is the case then.
result<std::vector<quarantine_state>> end_all(const client& store, bool quiet) {
  if (const auto ended = store.end_quarantine(); !ended) {
    return ended.error();
  }
  if (quiet) {
    return store.quarantine();
  }
  complain(
      "the quarantine is over, by your order. Who still works under a lock from before works beside the next "
      "holder "
      "now, unless what they work on checks tokens");
  auto states = store.quarantine();
  if (const std::string missing = states ? not_reached(*states) : ""; !missing.empty()) {
    complain("not reached, and as they were: " + missing);
  }
  return states;
}

}  // namespace

outcome quarantine_command(const arguments& given) {
  parser p(text);
  bool end = false;
  p.add_flag("--end", end, "end it now; say so only when nobody holds a lock from before");
  p.add_json();
  p.add_quiet("print nothing but errors; the exit code says the rest");
  p.add_url();
  if (const auto over = p.parse(given)) {
    return {.status = *over};
  }
  const auto store = p.open_store();
  if (!store) {
    return {.status = report(store.error())};
  }
  auto states = store->quarantine();
  const bool to_end =
      end && states && (states->empty() || any_quarantined(*states));  // empty: it says why it cannot
  if (to_end) {
    states = end_all(*store, p.quiet());
  } else if (end && states && !p.quiet()) {
    say_nothing_to_end(*states);
  }
  if (!states) {
    return {.status = report(states.error())};
  }
  return show(p, *states, store->store(), to_end);
}

}  // namespace cremone::cli
