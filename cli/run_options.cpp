// SPDX-License-Identifier: Apache-2.0
#include "cli/run_options.hpp"

#include "base/reading.hpp"
#include "base/text.hpp"
#include "cli/duration.hpp"
#include "cli/exit_codes.hpp"
#include "cli/output.hpp"

#include <algorithm>

namespace cremone::cli {

namespace {

using std::chrono::milliseconds;

constexpr command_text text = {
    "run", "[OPTIONS] NAME -- COMMAND [ARG...]",
    "Runs a command while holding the lock NAME; nobody else with this store holds it meanwhile. Ends as the "
    "command\n"
    "does: same exit code, same terminal, same signals. The command finds CREMONE_TOKEN, CREMONE_NAME,\n"
    "CREMONE_STORE, CREMONE_HOLDER and CREMONE_OWNER in its environment. Should the lock be lost, the "
    "command "
    "and all\n"
    "of its process group get SIGTERM, then SIGKILL, before anyone else can have the lock, as long as "
    "cremone "
    "itself\n"
    "gets to run. A write that must be safe even from a machine that slept sends CREMONE_TOKEN with it, to "
    "something\n"
    "that refuses lower ones: `cremone fence` does so for files, databases and Redis. CREMONE_OWNER is "
    "random "
    "and new\n"
    "for each hold: what to mark a row with, and look for, where the store gives no tokens.\n"
    "The lock is released when COMMAND ends. A command that daemonises ends at once, and what it started\n"
    "runs on without the lock: run it in the foreground (often an option such as -f or --no-daemon).",
    "  cremone run backup -- ./backup.sh              wait for the lock, then run\n"
    "  cremone run --try nightly -- ./job.sh          or end with 75 if somebody else has it\n"
    "  cremone run --try -E 0 nightly -- ./job.sh     ... and call that fine: for cron\n"
    "  cremone run --wait 30s deploy -- make deploy   wait half a minute at most\n"
    "  cremone run db -- sh -c 'echo token $CREMONE_TOKEN'\n"
    "  cremone run -- -odd -- ./job.sh                a name that begins with a dash\n"
    "  cremone run report -- sh -c 'make -s report | cremone fence write report.csv'\n"
    "\n`cremone help exit-codes` explains every exit code."};

result<int> parse_status(const std::string& value) {
  const auto code = whole_number<int>(value);
  if (!code || *code < 0 || *code > 255) {
    return error(errc::invalid_argument, "-E: '" + printable(value) + "' is not an exit code, 0 to 255");
  }
  return *code;
}

}  // namespace

run_line::run_line() : parser_(text) {
  parser_.add_name();
  parser_.add_duration("--wait",
                       "wait at most so long: 500ms, 10s, 2m, 1h (default: for as long as it takes, unless "
                       "the store does not answer for 30s)");
  parser_.add_flag("--try", try_,
                   "do not wait; a hold that looks abandoned is observed for its ttl, then taken over");
  parser_.add_text("-E,--conflict-exit-code", "CODE", conflict_,
                   "exit code when the lock is in use (default: 75)");
  parser_.add_quiet("print nothing while waiting, and nothing when the lock is in use");
  parser_.add_text("--label", "TEXT", label_, "shown to those who ask who holds the lock");
  parser_.add_duration(
      "--ttl",
      "how long a holder that is stopped or cannot be told keeps the lock, 100ms to 1m (default: 30s)");
  parser_.add_duration("--max-hold",
                       "no longer than this; SIGTERM comes one grace before (default: no limit)");
  parser_.add_duration(
      "--grace", "between SIGTERM and SIGKILL when the lock is lost (default: a sixth of ttl or max-hold)");
}

std::optional<int> run_line::parse(const arguments& given) {
  if (const auto over = parser_.parse(given)) {
    return over;
  }
  if (parser_.rest().empty()) {
    const bool odd = parser_.name().starts_with('-');
    complain("no command: cremone run " + std::string(odd ? "-- " : "") + parser_.name() +
             " -- COMMAND [ARG...]");
    return status::usage;
  }
  options_.name = parser_.name();
  options_.verbose = parser_.verbose();
  options_.quiet = parser_.quiet();
  options_.command = parser_.rest();
  if (const auto fine = read_values(); !fine) {
    return report(fine.error());
  }
  return std::nullopt;
}

result<void> run_line::read_values() {
  const auto wait = parser_.duration("--wait");
  const auto ttl = parser_.duration("--ttl");
  const auto max_hold = parser_.duration("--max-hold");
  for (const auto* read : {&wait, &ttl, &max_hold}) {
    if (!*read) {
      return read->error();
    }
  }
  if (try_ && *wait) {
    return error(errc::invalid_argument, "--try and --wait: either do not wait, or do");
  }
  if (parser_.was_given("-E")) {
    const auto code = parse_status(conflict_);
    if (!code) {
      return code.error();
    }
    options_.conflict_status = *code;
  }
  options_.how.wait = try_ ? no_wait : wait->value_or(forever);
  options_.how.take_over_abandoned = true;
  options_.how.ttl = *ttl;
  options_.how.max_hold = max_hold->value_or(forever);
  options_.how.label = label_;
  options_.how.renewals_per_ttl = run_renewals_per_ttl;
  return *ttl ? read_grace(**ttl) : result<void>();
}

result<void> run_line::adapt_to(const client& store) { return read_grace(store.default_ttl()); }

/// A grace longer than half of the ttl would end commands whose lock is in no danger.
result<void> run_line::read_grace(milliseconds default_ttl) {
  const auto given = parser_.duration("--grace");
  if (!given) {
    return given.error();
  }
  const auto span = std::min(options_.how.ttl.value_or(default_ttl), options_.how.max_hold);
  options_.grace = given->value_or(span / default_grace_divisor);
  if (options_.grace > span / 2) {
    return error(errc::invalid_argument,
                 "--grace " + shown(options_.grace) +
                     " is too long: at most half of the ttl and of the longest hold, here " +
                     shown(span / 2));
  }
  return {};
}

}  // namespace cremone::cli
