// SPDX-License-Identifier: Apache-2.0
//
// The command line tool: finds the command among the words, runs it, and ends the process as the command says. Knows
// the commands' names, not their options.
#include "base/state_directory.hpp"
#include "base/suggest.hpp"
#include "cli/commands.hpp"
#include "cli/exit_codes.hpp"
#include "cli/output.hpp"
#include "cli/secrets.hpp"
#include "cli/signals.hpp"

#include <algorithm>
#include <array>
#include <exception>
#include <string>
#include <string_view>
#include <vector>

namespace cremone::cli {

namespace {

struct command {
  std::string_view name;
  outcome (*run)(const arguments&);
  std::string_view summary;  // none: another name for the one above
};

constexpr std::array commands = {
    command{"run", run_command, "run a command while holding a lock"},
    command{"who", who_command, "who holds a lock, since when, who waits (also: status)"},
    command{"status", who_command, ""},
    command{"list", list_command, "every lock that is held or waited for"},
    command{"watch", watch_command, "a live view of all locks"},
    command{"release", release_command, "take a lock away from its holder, with --force"},
    command{"doctor", doctor_command, "is this store a good place for locks?"},
    command{"quarantine", quarantine_command, "does a server that restarted give out locks again?"},
    command{"fence", fence_command,
            "write a file, or check a resource, by the lock's token: who has lost the lock is refused"},
#ifdef CREMONE_WITH_SIM
    command{"sim", sim_command,
            "the locks in a simulated world where everything goes wrong; no store is touched"},
#endif
};

/// Where the default store is, for this user and for others.
std::string default_store() {
  const auto directory = state_directory_path();
  return "  now      " + (directory ? *directory + "/locks.db" : directory.error().detail()) +
         "\n"
         "  if set   $CREMONE_STATE_DIR/locks.db\n"
         "  root     /var/lib/cremone/locks.db\n"
         "  others   $XDG_STATE_HOME/cremone/locks.db, else ~/.local/state/cremone/locks.db\n";
}

std::string help_text() {
  std::string text =
      "cremone: locks that hold between processes\n\n"
      "Usage: cremone COMMAND [OPTIONS] ...\n\n"
      "  cremone run hello -- sh -c 'echo token $CREMONE_TOKEN'   run something under the lock 'hello'\n"
      "  cremone run --try -E 0 nightly -- ./job.sh               skip it if another is at it\n"
      "  cremone who nightly                                      who is?\n"
      "  ./report | cremone fence write report.csv                under `run`: not if the lock was lost\n\n"
      "Commands:\n";
  for (const command& c : commands) {
    if (!c.summary.empty()) {
      text += "  " + padded(c.name, 12) + std::string(c.summary) + "\n";
    }
  }
  return text +
         "\n  cremone help COMMAND      the options of a command, with examples; also: cremone COMMAND "
         "--help\n"
         "  cremone help exit-codes   what the exit code says\n"
         "  cremone --version         which version this is; also: -V\n\n"
         "Without --url URL or $CREMONE_URL the locks are in an SQLite file; no server is needed:\n" +
         default_store() +
         "Root and other users have different files and do not share locks. To share them, name a file:\n"
         "--url sqlite:///srv/locks/team.db\n\n"
         "A password belongs into a file (redis://user@host/?password_file=FILE) or into "
         "$CREMONE_URL,\nnot on a command line, where others can see it.\n";
}

outcome say(std::string_view text) {
  const auto printed = print(text);
  return {.status = printed ? status::done : report(printed.error())};
}

/// Options that take a value may stand before the command, so that their values must not be taken for it.
std::size_t find_command(const std::vector<std::string>& words) {
  std::size_t i = 0;
  while (i < words.size() && words[i].starts_with('-') && words[i].size() > 1) {
    i += words[i] == "--url" ? 2U : 1U;
  }
  return std::min(i, words.size());
}

outcome unknown(const std::string& name) {
  std::vector<std::string_view> known = {"help"};
  std::transform(commands.begin(), commands.end(), std::back_inserter(known),
                 [](const command& c) { return c.name; });
  const std::string_view near = closest(name, known);
  complain("there is no command '" + without_password(name) + "'" +
           (near.empty() ? "; `cremone help` lists them" : "; did you mean " + std::string(near) + "?"));
  return {.status = status::usage};
}

outcome help_about(const std::vector<std::string>& words);

outcome run_named(const std::string& name, const arguments& given) {
  if (name == "help") {
    return help_about(given.words);
  }
  if (name == "version") {
    return say("cremone " CREMONE_VERSION "\n");
  }
  const auto* const found =
      std::find_if(commands.begin(), commands.end(), [&](const command& c) { return c.name == name; });
  return found == commands.end() ? unknown(name) : found->run(given);
}

outcome help_about(const std::vector<std::string>& words) {
  if (words.empty() || words.front() == "help" || words.front().starts_with('-')) {
    return say(help_text());
  }
  if (words.front() == "exit-codes") {
    return say(exit_status_help());
  }
  arguments asked{.words = {"--help"}};
  if (words.size() > 1 && !words[1].starts_with('-')) {
    asked.words.push_back(words[1]);  // `help sim swarm`, `help fence write`
  }
  return run_named(words.front(), asked);
}

outcome without_command(const std::vector<std::string>& words) {
  for (const std::string& word : words) {
    if (word == "--version" || word == "-V") {
      return say("cremone " CREMONE_VERSION "\n");
    }
    if (word == "--help" || word == "-h") {
      return say(help_text());
    }
  }
  complain(words.empty() ? "what shall I do? `cremone help` lists the commands"
                         : "no command after '" + without_password(words.front()) +
                               "'; `cremone help` lists the commands");
  return {.status = status::usage};
}

outcome dispatch(const std::vector<std::string>& all) {
  const auto dashes = std::find(all.begin(), all.end(), "--");
  arguments given;
  given.words.assign(all.begin(), dashes);
  given.dashes = dashes != all.end();
  if (given.dashes) {
    given.after.assign(dashes + 1, all.end());
  }
  const std::size_t at = find_command(given.words);
  if (at == given.words.size()) {
    return without_command(given.words);
  }
  const std::string name = given.words[at];
  given.words.erase(given.words.begin() + static_cast<std::ptrdiff_t>(at));
  return run_named(name, given);
}

}  // namespace

}  // namespace cremone::cli

int main(int argc, char** argv) {
  using namespace cremone::cli;
  reserve_standard_streams();
  try {
    const std::vector<std::string> words(argv + (argc > 0 ? 1 : 0), argv + argc);
    hide_passwords(argc, argv);
    const outcome end = dispatch(words);
    if (end.signal != 0) {
      die_by(end.signal, end.whole_group);
    }
    return end.status;
  } catch (const std::exception& failed) {  // no memory, no thread, no descriptor
    complain(failed.what());
    return status::os_error;
  }
}
