// SPDX-License-Identifier: Apache-2.0
//
// `cremone who NAME`: who holds a lock, since when, and who waits for it.
#include "cli/commands.hpp"
#include "cli/exit_codes.hpp"
#include "cli/finding_text.hpp"
#include "cli/output.hpp"
#include "cli/record_json.hpp"
#include "cli/record_text.hpp"

#include <unistd.h>

namespace cremone::cli {

namespace {

constexpr command_text text = {"who", "[OPTIONS] NAME",
                               "Shows who holds a lock, since when, with which token, and who waits for it.\n"
                               "Ends with 0 when it is held, with 1 when it is free, with 82 when too few "
                               "servers could be asked to tell.\n"
                               "`status` is another name for it.",
                               "  cremone who backup\n"
                               "  cremone who -q backup || echo nobody holds it\n"
                               "  cremone who --json backup | jq '.holders[0].pid'"};

}  // namespace

outcome who_command(const arguments& given) {
  parser p(text);
  p.add_json();
  p.add_quiet("print nothing; the exit code says whether the lock is held");
  p.add_name();
  if (const auto over = p.parse(given)) {
    return {.status = *over};
  }
  const auto store = p.open_store();
  if (!store) {
    return {.status = report(store.error())};
  }
  const auto lock = store->inspect(p.name());
  if (!lock) {
    return {.status = report(lock.error())};
  }
  std::string out;
  if (p.json()) {
    out = lock_json(*lock, store->store());
  } else {
    const auto now = std::chrono::floor<std::chrono::microseconds>(std::chrono::system_clock::now());
    out = describe_lock(*lock, store->store(), now, is_terminal(STDOUT_FILENO), colours_for(STDOUT_FILENO));
  }
  if (const auto printed = print(p.quiet() ? "" : out); !printed) {
    return {.status = report(printed.error())};
  }
  if (!lock->foreign_lock.empty() && !p.quiet()) {
    complain("warning: " + lock->foreign_lock);
  }
  if (!lock->may_hold.empty()) {
    complain("whether '" + p.name() +
             "' is held cannot be told: too few servers could be asked, or remember");
    return {.status = status::outcome_unknown};
  }
  if (lock->holders.empty() && !p.quiet()) {
    for (const std::string& why : why_no_lock(store->quarantine())) {
      complain(why);
    }
  }
  return {.status = lock->holders.empty() ? status::nothing_held : status::done};
}

}  // namespace cremone::cli
