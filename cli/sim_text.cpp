// SPDX-License-Identifier: Apache-2.0
#include "cli/sim_text.hpp"

#include "base/text.hpp"
#include "cli/duration.hpp"
#include "cli/sim_figures.hpp"
#include "cli/sim_options.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

namespace cremone::cli {

namespace {

using sim::schedule_result;
using sim::violation;

/// Of a failure, in a swarm; its replay shows them all.
constexpr std::size_t violations_shown = 3;

constexpr std::string_view gap = "  ";

std::string counted(std::uint64_t n, const std::string& what) {
  return grouped(n) + " " + what + (n == 1 ? "" : "s");
}

template <class Counts>
std::uint64_t sum(const Counts& counts) {
  return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
}

std::string heading(std::string_view text, const palette& colours) {
  return "\n" + painted(text, colours.strong, colours) + "\n";
}

std::string faults_text(const sim::fault_counts& counts, const palette& colours) {
  std::vector<figure> rows;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const auto f = static_cast<sim::fault>(i);
    if (counts[i] > 0) {
      rows.push_back({std::string(name_of(f)), grouped(counts[i]), std::string(describe(f))});
    }
  }
  return heading("FAULTS", colours) + (rows.empty() ? "none\n" : as_rows(rows, colours));
}

/// Of a swarm and of one schedule: their counters have the same names.
template <class Counters>
std::vector<figure> lease_rows(const Counters& of) {
  return {{"steps", grouped(of.steps)},
          {"acquisitions", grouped(of.acquisitions)},
          {"leases lost", grouped(of.losses)},
          {"takeovers", grouped(of.evictions), "silent holders removed"},
          {"quarantines", grouped(of.quarantines), "lives of a node that began with doubt"}};
}

template <class Counters>
std::string writes_text(const Counters& of, const palette& colours) {
  return heading("WRITES under a lease, with its token", colours) +
         as_rows(
             {{"accepted", grouped(of.writes)},
              {"refused as stale", grouped(of.refused_writes), "the token was lower than one seen before"},
              {"lost without a fence", grouped(of.lost_without_fence), "by a register that checks no token"}},
             colours);
}

// ---- violations

std::string violation_line(const violation& v, const palette& colours) {
  return with_decimals(seconds(v.at), 6) + " s  " +
         painted(name_of(v.kind), v.expected() ? colours.warning : colours.bad, colours) +
         (v.expected() ? " (expected)" : "") + ": " + printable(v.what);
}

std::string violations_table(const sim::swarm_totals& totals, const palette& colours) {
  constexpr std::string_view title = "VIOLATIONS";
  constexpr std::string_view unexpected = "UNEXPECTED";
  constexpr std::string_view expected = "EXPECTED";
  const auto right = [](const std::string& text, std::size_t columns) {
    return std::string(columns > text.size() ? columns - text.size() : 0, ' ') + text;
  };
  std::string text = heading(std::string(title) + std::string(gap) + std::string(unexpected) +
                                 std::string(gap) + std::string(expected),
                             colours);
  for (std::size_t i = 0; i < sim::violation_kind_count; ++i) {
    const std::uint64_t bad = totals.unexpected[i];
    text += padded(name_of(static_cast<sim::violation_kind>(i)), title.size()) + std::string(gap) +
            painted(right(grouped(bad), unexpected.size()), bad == 0 ? colours.good : colours.bad, colours) +
            std::string(gap) + right(grouped(totals.expected[i]), expected.size()) + "\n";
  }
  return text;
}

std::string expected_sentence(const sim::swarm_totals& totals) {
  if (sum(totals.expected) == 0) {
    return {};
  }
  const auto& first = totals.first_expected;
  return "Expected: in " + counted(totals.schedules_beyond, "schedule") +
         " more went wrong than is promised for" + (first ? " (" + printable(first->beyond) + ")" : "") +
         ", and in " + grouped(totals.schedules_with_expected) + " of them it showed" +
         (first ? ", first with seed " + std::to_string(first->seed) : "") + ".\n";
}

/// One who tries classic must take its failures neither for bugs nor for something that does not matter.
std::string classic_sentence(const sim::schedule_options& what) {
  return what.store == sim::store_kind::classic
             ? "The layout classic is the published algorithm, which allows such violations. They count as "
               "failures all the same.\n"
             : "";
}

std::string failure_text(const schedule_result& failure, const sim::schedule_options& what,
                         const palette& colours) {
  std::string text =
      heading("seed " + std::to_string(failure.seed), colours) + "  mix     " + printable(failure.mix) + "\n";
  std::size_t unexpected = 0;
  for (const violation& v : failure.violations) {
    if (!v.expected() && ++unexpected <= violations_shown) {
      text += "  at      " + violation_line(v, colours) + "\n";
    }
  }
  if (unexpected > violations_shown) {
    text += "          and " + std::to_string(unexpected - violations_shown) + " more\n";
  }
  return text + "  replay  " + painted(replay_command(failure.seed, what), colours.strong, colours) + "\n";
}

std::string failures_text(const swarm_report& report, const palette& colours) {
  std::string text;
  for (const schedule_result& failure : report.totals.failures) {
    text += failure_text(failure, report.order.what, colours);
  }
  const std::uint64_t failed = report.totals.failed_schedules;
  const std::uint64_t shown_here = report.totals.failures.size();
  if (failed > shown_here) {
    text += "\nand " + counted(failed - shown_here, "more schedule") + " that failed\n";
  }
  return text;
}

// ---- the whole

std::string order_text(const sim::swarm_order& order) {
  return "--seeds " + std::to_string(order.first) + ".." + std::to_string(order.last) +
         options_text(order.what);
}

std::string early_end(const swarm_report& report) {
  if (!report.totals.stopped) {
    return {};
  }
  const std::string why = !report.interrupted_by.empty() ? "ended early, by " + report.interrupted_by
                                                         : "ended at the first schedule that failed";
  return why + ": " + grouped(report.totals.schedules) + " of " +
         grouped(report.order.last - report.order.first + 1) + " schedules were run";
}

std::string verdict_line(const sim::swarm_totals& totals, const palette& colours) {
  const std::string schedules = counted(totals.schedules, "schedule");
  if (totals.failed_schedules == 0) {
    return painted("No unexpected violation in " + schedules + ".", colours.good, colours) + "\n";
  }
  return painted(grouped(totals.failed_schedules) + " of " + schedules + " failed.", colours.bad, colours) +
         "\n";
}

}  // namespace

int cores_used(const swarm_report& report) noexcept {
  return std::max(1, std::min(report.cores, report.order.jobs));
}

double rate_of(std::uint64_t schedules, std::chrono::nanoseconds took) noexcept {
  return took.count() <= 0 ? 0 : static_cast<double>(schedules) / seconds(took);
}

namespace {

std::string time_for(std::uint64_t schedules, double rate) {
  constexpr double longest = 1e9;  // seconds: a larger number overflows, and "years" says enough
  const double length = static_cast<double>(schedules) / rate;
  return length > longest ? "years" : shown(std::chrono::seconds(static_cast<std::int64_t>(length)));
}

}  // namespace

std::string progress_line(const sim::swarm_progress& so_far, std::chrono::nanoseconds took,
                          std::size_t columns, const palette& colours) {
  const double rate = rate_of(so_far.done, took);
  const double part =
      so_far.of == 0 ? 100 : 100.0 * static_cast<double>(so_far.done) / static_cast<double>(so_far.of);
  std::string text = std::to_string(so_far.done) + " of " + std::to_string(so_far.of) + " schedules, " +
                     std::to_string(static_cast<int>(part)) + " %";
  if (rate > 0) {
    text += ", " + roughly(rate) + "/s, " + time_for(so_far.of - so_far.done, rate) + " left";
  }
  const std::string failed = std::to_string(so_far.failed) + " failed";
  if (width(text) + width(failed) + gap.size() > columns) {
    return cut(text + ", " + failed, columns);
  }
  return text + ", " + painted(failed, so_far.failed > 0 ? colours.bad : std::string_view(), colours);
}

std::string duration_line(const sim::swarm_progress& so_far, std::chrono::nanoseconds took) {
  return std::to_string(so_far.of) + " schedules take about " +
         time_for(so_far.of, rate_of(so_far.done, took)) + " here; Ctrl-C ends early and prints the table";
}

std::string swarm_text(const swarm_report& report, const palette& colours) {
  const sim::swarm_totals& totals = report.totals;
  const double rate = rate_of(totals.schedules, report.took);
  const std::string early = early_end(report);
  std::vector<figure> rows = {
      {"schedules", grouped(totals.schedules), order_text(report.order)},
      {"virtual time", roughly(seconds(totals.virtual_time) / 3600), "hours"},
      {"real time", roughly(seconds(report.took)), "seconds"},
      {"rate", roughly(rate), "per second, " + roughly(rate / cores_used(report)) + " per second and core"}};
  const std::vector<figure> leases = lease_rows(totals);
  rows.insert(rows.end(), leases.begin(), leases.end());
  const bool violated = sum(totals.unexpected) > 0;
  return (early.empty() ? "" : painted(early, colours.warning, colours) + "\n\n") + as_rows(rows, colours) +
         faults_text(totals.faults, colours) + writes_text(totals, colours) +
         violations_table(totals, colours) + expected_sentence(totals) +
         (violated ? classic_sentence(report.order.what) : "") + failures_text(report, colours) + "\n" +
         verdict_line(totals, colours);
}

std::string trace_line(std::string_view line, const palette& colours) {
  const auto has = [&](std::string_view word) { return line.find(word) != std::string_view::npos; };
  return painted(line,
                 has("VIOLATION") ? colours.bad
                 : has("FAULT")   ? colours.warning
                                  : std::string_view(),
                 colours) +
         "\n";
}

std::string replay_text(const schedule_result& result, const sim::schedule_options& what,
                        const palette& colours) {
  std::vector<figure> rows = {{"virtual time", with_decimals(seconds(result.length), 3), "seconds"}};
  const std::vector<figure> leases = lease_rows(result);
  rows.insert(rows.end(), leases.begin(), leases.end());
  std::string text = painted(replay_command(result.seed, what), colours.strong, colours) + "\n" +
                     printable(result.mix) + "\n\n" + as_rows(rows, colours) +
                     faults_text(result.faults, colours) + writes_text(result, colours) +
                     heading("VIOLATIONS", colours);
  for (const violation& v : result.violations) {
    text += violation_line(v, colours) + "\n";
  }
  if (!result.beyond.empty()) {
    text += "More went wrong than is promised for: " + printable(result.beyond) +
            ". A violation that comes of it is expected.\n";
  }
  if (result.failed()) {
    return text + classic_sentence(what) + painted("This schedule failed.", colours.bad, colours) + "\n";
  }
  return text +
         painted(result.violations.empty() ? "None." : "None that is unexpected.", colours.good, colours) +
         "\n";
}

}  // namespace cremone::cli
