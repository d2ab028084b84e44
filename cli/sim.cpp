// SPDX-License-Identifier: Apache-2.0
//
// `cremone sim`: finds which of its two commands is meant.
#include "base/reading.hpp"
#include "base/suggest.hpp"
#include "base/text.hpp"
#include "cli/commands.hpp"
#include "cli/exit_codes.hpp"
#include "cli/output.hpp"
#include "cli/sim_commands.hpp"

#include <algorithm>
#include <cstdint>

namespace cremone::cli {

namespace {

constexpr command_text text = {
    "sim", "swarm [OPTIONS] | replay SEED [OPTIONS]",
    "Runs the locks in a simulated world in which everything goes wrong that may: the library's own code and "
    "scripts, but\n"
    "time, network, processes and servers are made up, and a seed decides what happens to them. No store is "
    "touched.\n\n"
    "  swarm    runs many seeds and looks for one in which a promise is broken\n"
    "  replay   runs one seed again, step by step, exactly as it was\n\n"
    "Both have more to say: `cremone sim swarm --help`, `cremone sim replay --help`.",
    "  cremone sim swarm --seeds 10000\n"
    "  cremone sim replay 4711",
    false};

bool is_option(const std::string& word) { return word.starts_with('-'); }

int refuse(const std::string& why) {
  complain(why);
  draw("Usage: cremone " + std::string(text.name) + " " + std::string(text.usage) + "\n");
  return status::usage;
}

int unknown(const std::string& word) {
  if (whole_number<std::uint64_t>(word)) {
    return refuse("what about " + word + "? `cremone sim replay " + word + "` runs that seed");
  }
  const std::string_view near = closest(word, {"swarm", "replay"});
  return refuse("there is no 'sim " + printable(word) + "'" +
                (near.empty() ? "" : "; did you mean " + std::string(near) + "?"));
}

}  // namespace

outcome sim_command(const arguments& given) {
  const auto word = std::find_if_not(given.words.begin(), given.words.end(), is_option);
  if (word == given.words.end()) {
    parser p(text);
    const auto over = p.parse(given);
    return {.status = over ? *over : refuse("swarm or replay?")};
  }
  arguments rest = given;
  rest.words.erase(rest.words.begin() + (word - given.words.begin()));
  if (*word == "swarm") {
    return sim_swarm_command(rest);
  }
  if (*word == "replay") {
    return sim_replay_command(rest);
  }
  return {.status = unknown(*word)};
}

}  // namespace cremone::cli
