// SPDX-License-Identifier: Apache-2.0
//
// `cremone sim swarm`: many schedules, how far they are meanwhile, and what came of them.
#include "cli/exit_codes.hpp"
#include "cli/output.hpp"
#include "cli/signals.hpp"
#include "cli/sim_commands.hpp"
#include "cli/sim_json.hpp"
#include "cli/sim_options.hpp"
#include "cli/sim_text.hpp"
#include "sim/swarm.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <thread>

namespace cremone::cli {

namespace {

using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;

constexpr auto between_plain_lines = 10s;  // a log is to show that it goes on, and little more
constexpr auto measured_for = 1s;          // some hundred schedules: enough for an estimate
constexpr std::size_t plain_columns = 200;
constexpr int most_jobs = 1024;  // each is a thread with a Lua of its own

constexpr command_text text = {
    "sim swarm", "[OPTIONS]",
    "Runs one schedule for each seed, on all cores, and counts what went wrong and what came of it. A "
    "violation is a promise\n"
    "that was not kept: two holders at once, a token that came twice, a fenced write that got lost, somebody "
    "who never got\n"
    "the lock. It is expected where more went wrong than anybody promises for. For each schedule that fails "
    "the command is\n"
    "printed that replays it. Ctrl-C ends early, with the table of what was done, and then by that signal.\n"
    "Ends with 0 when every promise was kept, with 1 when one was broken.",
    "  cremone sim swarm                                         the seeds 1 to 1000\n"
    "  cremone sim swarm --seeds 5000..9999 --jobs 2\n"
    "  cremone sim swarm --layout classic --faults jump          what a clock that jumps does to it\n"
    "  cremone sim swarm --faults all --every-fault --stop-at-first\n"
    "  cremone sim swarm --json | jq .first_violation_seed",
    false};

int cores_here() { return std::max(1, static_cast<int>(std::thread::hardware_concurrency())); }

/// How far it is: on a terminal a line that is redrawn in place, else one from time to time.
class progress_display {
 public:
  explicit progress_display(bool wanted) : wanted_(wanted), terminal_(is_terminal(STDERR_FILENO)) {}

  void show(const sim::swarm_progress& so_far) {
    const auto now = clock::now();
    if (!wanted_ || in_the_way()) {
      return;
    }
    if (!estimated_ && so_far.done > 0 && now - began_ >= measured_for) {
      clear();
      complain(duration_line(so_far, now - began_));
      estimated_ = true;
    }
    if (terminal_) {
      draw("\r" +
           progress_line(so_far, now - began_, terminal_size(STDERR_FILENO).columns - 1,
                         colours_for(STDERR_FILENO)) +
           "\x1b[K");
      drawn_ = true;
    } else if (now - told_ >= between_plain_lines) {
      complain(progress_line(so_far, now - began_, plain_columns, {}));
      told_ = now;
    }
  }

  void clear() {
    if (drawn_) {
      draw("\r\x1b[K");
      drawn_ = false;
    }
  }

  [[nodiscard]] clock::duration since_begin() const { return clock::now() - began_; }

 private:
  /// Of one who types, while we are in the background.
  [[nodiscard]] bool in_the_way() const { return terminal_ && ::tcgetpgrp(STDERR_FILENO) != ::getpgrp(); }

  bool wanted_;
  bool terminal_;
  bool drawn_ = false;
  bool estimated_ = false;  // the total time, once, after the first second
  clock::time_point began_ = clock::now();
  clock::time_point told_ = began_;
};

/// After a failure to write: whether only the reader left.
bool reader_left(signal_inbox& signals) {
  bool left = false;
  while (const auto signal = signals.next()) {
    left = left || *signal == SIGPIPE;
  }
  return left;
}

outcome run(const sim::swarm_order& order, bool json) {
  signal_inbox signals;  // before the swarm's threads start: they inherit the mask
  progress_display display(!json);
  int ended_by = 0;
  swarm_report report{.order = order, .cores = cores_here()};
  report.totals = run_swarm(order, [&](const sim::swarm_progress& so_far) {
    display.show(so_far);
    ended_by = ended_by != 0 ? ended_by : signals.take_all([&] { display.clear(); });
    return ended_by == 0;
  });
  report.took = display.since_begin();
  display.clear();
  if (ended_by != 0) {
    report.interrupted_by = signal_name(ended_by);
  }
  const auto printed = print(json ? swarm_json(report) : swarm_text(report, colours_for(STDOUT_FILENO)));
  if (!printed && reader_left(signals)) {
    return {.status = status::signal_base + SIGPIPE, .signal = SIGPIPE};
  }
  if (!printed) {
    return {.status = cli::report(printed.error())};
  }
  if (ended_by != 0) {
    return {.status = status::signal_base + ended_by, .signal = ended_by};
  }
  return {.status = report.totals.failed_schedules > 0 ? status::promise_broken : status::done};
}

}  // namespace

outcome sim_swarm_command(const arguments& given) {
  schedule_words words;
  std::string seeds_word = "1..1000";
  std::string jobs_word = std::to_string(std::min(cores_here(), most_jobs));
  sim::swarm_order order;
  const std::string examples = with_faults(text.examples);
  command_text help = text;
  help.examples = examples;
  parser p(help);
  p.add_text("--seeds", "A..B", seeds_word, "which seeds; N stands for 1..N (default: 1..1000)");
  p.add_text("--jobs", "N", jobs_word, "how many at a time (default: one per core)");
  add_schedule_options(p, words);
  p.add_flag("--stop-at-first", order.stop_at_first, "end when one has failed");
  p.add_json();
  if (const auto over = p.parse(given)) {
    return {.status = *over};
  }
  const auto seeds = parse_seeds(seeds_word);
  const auto jobs = parse_number("--jobs", jobs_word, most_jobs);
  const auto what = read_schedule(p, words);
  if (!seeds || !jobs || !what) {
    return {.status = report(!seeds ? seeds.error() : !jobs ? jobs.error() : what.error())};
  }
  order.first = seeds->first;
  order.last = seeds->last;
  order.jobs = *jobs;
  order.what = *what;
  return run(order, p.json());
}

}  // namespace cremone::cli
