// SPDX-License-Identifier: Apache-2.0
#include "cli/sim_options.hpp"

#include "base/reading.hpp"
#include "base/suggest.hpp"
#include "base/text.hpp"
#include "cli/output.hpp"

#include <array>

namespace cremone::cli {

namespace {

constexpr std::array layouts = {sim::store_kind::record, sim::store_kind::classic, sim::store_kind::memory};

// A schedule's steps grow with these, and what two clients cannot do to each other hundreds will not either.
constexpr int most_nodes = 9;
constexpr int most_clients = 100;
constexpr int most_acquisitions = 100'000;

/// Seeds are written into JSON and scripts: what has a sign there must still hold them.
constexpr std::uint64_t highest_seed = std::uint64_t{1} << 63U;

error wrong(const std::string& why) { return {errc::invalid_argument, why}; }

std::string quoted(std::string_view text) { return "'" + printable(text) + "'"; }

/// "--faults: " before what is wrong with it.
error of_option(const std::string& option, const error& why) { return wrong(option + ": " + why.detail()); }

}  // namespace

void add_schedule_options(parser& p, schedule_words& to) {
  p.add_text("--layout", "LAYOUT", to.layout,
             "the store: record or classic, both on Redis, or memory, which never forgets: tail, amnesia and "
             "flush do not strike it (default: record)");
  p.add_text("--nodes", "N", to.nodes, "how many Redis servers vote on each lock, up to 9 (default: 1)");
  p.add_flag("--strict", to.strict,
             "with amnesia=strict: a person lets the servers begin and is gone then, so that nobody gets a "
             "lock any more once a majority has forgotten; that is no failure");
  p.add_text("--faults", "LIST", to.faults,
             "what may go wrong: names with commas between, all or none; each seed draws its own from them "
             "(default: all)");
  p.add_flag("--every-fault", to.every_fault, "all of these faults in every schedule, not a draw from them");
  p.add_text("--clients", "N", to.clients, "how many want locks (default: the seed decides)");
  p.add_text("--acquisitions", "N", to.acquisitions,
             "how often each of them gets one (default: the seed decides)");
}

std::string with_faults(std::string_view examples) {
  constexpr std::size_t column = 12;
  std::string text = std::string(examples) + "\n\nFaults:\n";
  for (std::size_t i = 0; i < sim::fault_count; ++i) {
    const auto f = static_cast<sim::fault>(i);
    text += "  " + padded(name_of(f), column) + std::string(describe(f)) +
            (sim::fault_set::bounded().has(f) ? "\n" : "; only by name: exclusion cannot bear it\n");
  }
  text.pop_back();
  return text;
}

result<sim::schedule_options> read_schedule(const parser& p, const schedule_words& words) {
  sim::schedule_options what;
  const auto layout = parse_layout(words.layout);
  if (!layout) {
    return of_option("--layout", layout.error());
  }
  const auto faults = sim::parse_faults(words.faults);
  if (!faults) {
    return of_option("--faults", faults.error());
  }
  what.store = *layout;
  what.faults = *faults;
  what.every_fault = words.every_fault;
  what.strict = words.strict;
  if (p.was_given("--nodes")) {
    const auto nodes = parse_number("--nodes", words.nodes, most_nodes);
    if (!nodes) {
      return nodes.error();
    }
    what.nodes = *nodes;
  }
  if (what.nodes > 1 && what.store == sim::store_kind::memory) {
    return wrong("--nodes: the memory store is one; several that vote are Redis servers");
  }
  if (what.strict && (what.nodes == 1 || what.store != sim::store_kind::record)) {
    return wrong("--strict is for the layout record and several --nodes");
  }
  if (p.was_given("--clients")) {
    const auto clients = parse_number("--clients", words.clients, most_clients);
    if (!clients) {
      return clients.error();
    }
    what.clients = *clients;
  }
  if (p.was_given("--acquisitions")) {
    const auto acquisitions = parse_number("--acquisitions", words.acquisitions, most_acquisitions);
    if (!acquisitions) {
      return acquisitions.error();
    }
    what.acquisitions = *acquisitions;
  }
  return what;
}

result<sim::store_kind> parse_layout(std::string_view text) {
  std::array<std::string_view, layouts.size()> names{};
  for (std::size_t i = 0; i < layouts.size(); ++i) {
    names[i] = name_of(layouts[i]);
    if (names[i] == text) {
      return layouts[i];
    }
  }
  const std::string_view near = closest(text, names);
  return wrong("there is no layout " + quoted(text) +
               (near.empty() ? "; there are record, classic and memory"
                             : "; did you mean " + std::string(near) + "?"));
}

result<std::uint64_t> parse_seed(std::string_view text) {
  const auto seed = whole_number<std::uint64_t>(text);
  if (!seed || *seed > highest_seed) {
    return wrong(quoted(text) + " is not a seed, a number from 0 to 2^63");
  }
  return *seed;
}

result<seed_range> parse_seeds(std::string_view text) {
  const auto dots = text.find("..");
  const bool both = dots != std::string_view::npos;
  const auto first = both ? parse_seed(text.substr(0, dots)) : result<std::uint64_t>(1);
  const auto last = parse_seed(both ? text.substr(dots + 2) : text);
  if (!first || !last) {
    return wrong("--seeds: " + quoted(text) + " are no seeds; write 100..200, or 100 for 1..100, up to 2^63");
  }
  if (*first > *last) {
    return wrong("--seeds: " + quoted(text) + " is empty: " + std::to_string(*first) + " comes after " +
                 std::to_string(*last));
  }
  return seed_range{*first, *last};
}

result<int> parse_number(std::string_view option, std::string_view text, int most) {
  const auto number = whole_number<int>(text);
  if (!number || *number < 1 || *number > most) {
    return wrong(std::string(option) + ": " + quoted(text) + " is not a number from 1 to " +
                 std::to_string(most));
  }
  return *number;
}

std::string options_text(const sim::schedule_options& what) {
  const sim::schedule_options by_default;
  std::string text;
  if (what.store != by_default.store) {
    text += " --layout " + std::string(name_of(what.store));
  }
  if (what.nodes != by_default.nodes) {
    text += " --nodes " + std::to_string(what.nodes);
  }
  if (what.strict) {
    text += " --strict";
  }
  if (what.faults != by_default.faults) {
    text += " --faults " + to_string(what.faults);
  }
  if (what.every_fault) {
    text += " --every-fault";
  }
  if (what.clients) {
    text += " --clients " + std::to_string(*what.clients);
  }
  if (what.acquisitions) {
    text += " --acquisitions " + std::to_string(*what.acquisitions);
  }
  return text;
}

std::string replay_command(std::uint64_t seed, const sim::schedule_options& what) {
  return "cremone sim replay " + std::to_string(seed) + options_text(what);
}

}  // namespace cremone::cli
