// SPDX-License-Identifier: Apache-2.0
//
// `cremone fence`: finds which of its commands is meant.
#include "base/suggest.hpp"
#include "base/text.hpp"
#include "cli/commands.hpp"
#include "cli/exit_codes.hpp"
#include "cli/fence_commands.hpp"
#include "cli/output.hpp"
#include "cli/secrets.hpp"

#include <algorithm>
#include <array>
#include <vector>

namespace cremone::cli {

namespace {

constexpr command_text text = {
    "fence", "write FILE | append FILE | check RESOURCE | show RESOURCE | init URL",
    "The side that checks the token. A lock can be lost while its holder sleeps, and what the holder then "
    "writes comes too\n"
    "late: what it writes to must refuse it. Each lock that is given out has a higher token than the one "
    "before, and\n"
    "`cremone run` puts it into CREMONE_TOKEN. These commands let a token pass if no higher one was seen, "
    "and remember it.\n"
    "Who comes with a lower one ends with 81, and nothing was written.\n\n"
    "  write    replaces a file by what comes from standard input, whole or not at all\n"
    "  append   adds standard input to the end of a file\n"
    "  check    lets a token pass, or not, without a write: for a file, or a resource in a database or "
    "Redis\n"
    "  show     the highest token that a file or a resource has seen\n"
    "  init     makes the table that a database keeps the tokens in\n\n"
    "Each has more to say: `cremone fence write --help`.",
    "  cremone run report -- sh -c 'make -s report | cremone fence write report.csv'\n"
    "  cremone fence show report.csv\n"
    "  cremone fence init postgres://app@db/shop\n"
    "  cremone fence check --url postgres://app@db/shop ledger && ./post-to-the-ledger",
    false};

struct subcommand {
  std::string_view name;
  outcome (*run)(const arguments&);
};

constexpr std::array subcommands = {
    subcommand{"write", fence_write_command}, subcommand{"append", fence_append_command},
    subcommand{"check", fence_check_command}, subcommand{"show", fence_show_command},
    subcommand{"init", fence_init_command},
};

/// Options may stand before the subcommand, so that their values must not be taken for it.
std::size_t find_subcommand(const std::vector<std::string>& words) {
  constexpr std::array<std::string_view, 3> with_value = {"--url", "--token", "--table"};
  std::size_t i = 0;
  while (i < words.size() && words[i].starts_with('-')) {
    i += std::find(with_value.begin(), with_value.end(), words[i]) != with_value.end() ? 2U : 1U;
  }
  return std::min(i, words.size());
}

int refuse(const std::string& why) {
  complain(why);
  draw("Usage: cremone " + std::string(text.name) + " " + std::string(text.usage) + "\n");
  return status::usage;
}

int unknown(const std::string& word) {
  std::vector<std::string_view> names;
  std::transform(subcommands.begin(), subcommands.end(), std::back_inserter(names),
                 [](const subcommand& s) { return s.name; });
  const std::string_view near = closest(word, names);
  return refuse("there is no 'fence " + printable(without_password(word)) + "'" +
                (near.empty() ? "" : "; did you mean " + std::string(near) + "?"));
}

}  // namespace

outcome fence_command(const arguments& given) {
  const std::size_t at = find_subcommand(given.words);
  if (at == given.words.size()) {
    parser p(text);
    const auto over = p.parse(given);
    return {.status = over ? *over : refuse("write, append, check, show or init?")};
  }
  const std::string word = given.words[at];
  const auto* const found = std::find_if(subcommands.begin(), subcommands.end(),
                                         [&](const subcommand& s) { return s.name == word; });
  if (found == subcommands.end()) {
    return {.status = unknown(word)};
  }
  arguments rest = given;
  rest.words.erase(rest.words.begin() + static_cast<std::ptrdiff_t>(at));
  return found->run(rest);
}

}  // namespace cremone::cli
