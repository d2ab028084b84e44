// SPDX-License-Identifier: Apache-2.0
//
// `cremone list`: every lock that is held or waited for.
#include "cli/commands.hpp"
#include "cli/exit_codes.hpp"
#include "cli/finding_text.hpp"
#include "cli/output.hpp"
#include "cli/record_json.hpp"
#include "cli/record_text.hpp"

#include <unistd.h>

#include <iterator>

namespace cremone::cli {

namespace {

constexpr command_text text = {
    "list", "[OPTIONS]",
    "Lists every lock that is held or waited for. On a terminal as a table; else one line per holder, with "
    "tabs\n"
    "between name, state, host, pid, user, since, token, number of waiters and label.",
    "  cremone list\n"
    "  cremone list | cut -f1,4\n"
    "  cremone list --json | jq -r '.locks[].name'"};

std::string as_text(const std::vector<lock_record>& locks, const std::string& store) {
  const auto now = std::chrono::floor<std::chrono::microseconds>(std::chrono::system_clock::now());
  const bool terminal = is_terminal(STDOUT_FILENO);
  std::vector<std::vector<std::string>> rows;
  for (const lock_record& lock : locks) {
    auto more = list_rows(lock, now, terminal);
    rows.insert(rows.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
  }
  if (!terminal) {
    return as_tabbed(rows);
  }
  if (rows.empty()) {
    return "no lock is held at " + store + "\n";
  }
  return as_table(list_columns(any_votes(locks)), rows, terminal_size(STDOUT_FILENO).columns,
                  colours_for(STDOUT_FILENO));
}

}  // namespace

outcome list_command(const arguments& given) {
  parser p(text);
  p.add_json();
  if (const auto over = p.parse(given)) {
    return {.status = *over};
  }
  const auto store = p.open_store();
  if (!store) {
    return {.status = report(store.error())};
  }
  const auto locks = store->list();
  if (!locks) {
    return {.status = report(locks.error())};
  }
  if (locks->empty()) {
    for (const std::string& why : why_no_lock(store->quarantine())) {
      complain(why);
    }
  }
  const auto printed = print(p.json() ? list_json(*locks, store->store()) : as_text(*locks, store->store()));
  return {.status = printed ? status::done : report(printed.error())};
}

}  // namespace cremone::cli
