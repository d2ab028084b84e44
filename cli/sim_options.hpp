// SPDX-License-Identifier: Apache-2.0
//
// The words that order a schedule, for `sim swarm` and `sim replay` alike: their help, what they may be, and the command
// that says them again. Runs nothing.
#pragma once

#include "cli/parser.hpp"
#include "sim/schedule.hpp"

#include <cremone/result.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace cremone::cli {

/// What stood on the command line. Must outlive the parser that it is bound to.
struct schedule_words {
  std::string layout = "record";
  std::string nodes{};
  bool strict = false;
  std::string faults = "all";
  std::string clients{};
  std::string acquisitions{};
  bool every_fault = false;
};

void add_schedule_options(parser& p, schedule_words& to);

/// The examples of a command, and below them every fault and what it is.
[[nodiscard]] std::string with_faults(std::string_view examples);

/// After parser::parse.
[[nodiscard]] result<sim::schedule_options> read_schedule(const parser& p, const schedule_words& words);

/// Both ends included.
struct seed_range {
  std::uint64_t first = 1;
  std::uint64_t last = 1000;
  friend bool operator==(const seed_range&, const seed_range&) = default;
};

// *invalid_argument* says what would be right.
[[nodiscard]] result<sim::store_kind> parse_layout(std::string_view text);
[[nodiscard]] result<std::uint64_t> parse_seed(std::string_view text);
/// "100..200", or "100" for 1..100.
[[nodiscard]] result<seed_range> parse_seeds(std::string_view text);
/// From 1 to `most`. `option`: whose value it is.
[[nodiscard]] result<int> parse_number(std::string_view option, std::string_view text, int most);

/// " --layout classic --clients 3": those that are not as they are by default, each with a blank before it.
[[nodiscard]] std::string options_text(const sim::schedule_options& what);

/// "cremone sim replay 4711 --layout classic"
[[nodiscard]] std::string replay_command(std::uint64_t seed, const sim::schedule_options& what);

}  // namespace cremone::cli
