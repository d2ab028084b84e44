// SPDX-License-Identifier: Apache-2.0
//
// `cremone sim replay SEED`: one schedule, step by step. Reads no clock and names no file, so that it prints the same each time.
#include "cli/exit_codes.hpp"
#include "cli/output.hpp"
#include "cli/sim_commands.hpp"
#include "cli/sim_options.hpp"
#include "cli/sim_text.hpp"
#include "sim/redis/lua.hpp"
#include "sim/schedule.hpp"

#include <unistd.h>

#include <string>
#include <string_view>

namespace cremone::cli {

namespace {

constexpr command_text text = {
    "sim replay", "SEED [OPTIONS]",
    "Runs one schedule and prints what happens in it, one line per event, then what came of it. The same "
    "seed and options\n"
    "give the same output, to the byte, on every machine with the same version. The options are those of the "
    "swarm that\n"
    "found the seed; it prints the whole command.\n"
    "Ends with 0 when every promise was kept, with 1 when one was broken.",
    "  cremone sim replay 4711\n"
    "  cremone sim replay 37 --layout classic --faults jump | grep -B20 VIOLATION\n"
    "  cremone sim replay 4711 --quiet",
    false};

outcome replay(std::uint64_t seed, const sim::schedule_options& what, bool quiet) {
  const palette colours = colours_for(STDOUT_FILENO);
  result<void> printed;
  sim::trace_sink trace;
  if (!quiet) {
    // Each line at once: when a schedule ends in an abort, its last line is the one that matters.
    trace = [&](std::string_view line) {
      if (printed) {
        printed = print(trace_line(line, colours));
      }
    };
  }
  sim::lua scripts;
  const sim::schedule_result result = run_schedule(scripts, seed, what, trace);
  if (printed) {
    printed = print((quiet ? "" : "\n") + replay_text(result, what, colours));
  }
  if (!printed) {
    return {.status = report(printed.error())};
  }
  return {.status = result.failed() ? status::promise_broken : status::done};
}

}  // namespace

outcome sim_replay_command(const arguments& given) {
  schedule_words words;
  std::string seed_word;
  bool quiet = false;
  const std::string examples = with_faults(text.examples);
  command_text help = text;
  help.examples = examples;
  parser p(help);
  p.add_word("seed", seed_word, "the seed");
  add_schedule_options(p, words);
  p.add_flag("-q,--quiet", quiet, "only what came of it, not what happened");
  if (const auto over = p.parse(given)) {
    return {.status = *over};
  }
  const auto seed = p.was_given("seed")
                        ? parse_seed(seed_word)
                        : error(errc::invalid_argument, "which seed? `cremone sim replay SEED`");
  if (!seed) {
    return {.status = report(seed.error())};
  }
  const auto what = read_schedule(p, words);
  if (!what) {
    return {.status = report(what.error())};
  }
  return replay(*seed, *what, quiet);
}

}  // namespace cremone::cli
