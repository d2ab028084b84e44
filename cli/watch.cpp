// SPDX-License-Identifier: Apache-2.0
//
// `cremone watch`: a live view of all locks. On a terminal the list, redrawn in place; else one line per change.
#include "cli/changes.hpp"
#include "cli/commands.hpp"
#include "cli/exit_codes.hpp"
#include "cli/finding_text.hpp"
#include "cli/output.hpp"
#include "cli/record_json.hpp"
#include "cli/record_text.hpp"
#include "cli/signals.hpp"
#include "cli/terminal.hpp"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <iterator>

namespace cremone::cli {

namespace {

using namespace std::chrono_literals;

constexpr std::chrono::milliseconds default_interval = 500ms;
constexpr std::chrono::milliseconds shortest_interval =
    20ms;  // the store has other things to do than to be looked at

constexpr command_text text = {
    "watch", "[OPTIONS]",
    "Shows all locks live. Ends with exit code 0 when you press q or Ctrl-C, or on SIGTERM.\n"
    "On a terminal, watch redraws the list in place. Elsewhere, watch prints one line per change,\n"
    "with tabs between time, event (held, released, waiting, left), name, host, pid, user, token\n"
    "and label; with --json one object per line. A change that is shorter than the interval can go\n"
    "unseen. A store that stops answering is retried; one that never answers ends watch with 69.",
    "  cremone watch\n"
    "  cremone watch --interval 2s >> locks.log\n"
    "  cremone watch --json | jq -r 'select(.event == \"held\") | .name'"};

enum class form : std::uint8_t { screen, lines, json };

wall_time wall_now() {
  return std::chrono::floor<std::chrono::microseconds>(std::chrono::system_clock::now());
}

/// Draws each state over the one before.
class screen {
 public:
  /// `servers`: of several that vote, each in a line of its own.
  std::string redraw(const std::vector<lock_record>& locks, const std::string& store,
                     const std::vector<quarantine_state>& servers) {
    const extent size = terminal_size(STDOUT_FILENO);
    const palette colours = colours_for(STDOUT_FILENO);
    const wall_time now = wall_now();
    std::vector<std::vector<std::string>> rows;
    for (const lock_record& lock : locks) {
      auto more = list_rows(lock, now, true);
      rows.insert(rows.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
    }
    const std::string states = servers.size() > 1 ? "\n" + quarantine_sentences(servers, store, colours) : "";
    const std::size_t taken =  // the two lines above, one below, the cursor's, and the servers'
        4 + static_cast<std::size_t>(std::count(states.begin(), states.end(), '\n'));
    const std::size_t room = size.rows > taken ? size.rows - taken : 1;
    const std::size_t hidden = rows.size() > room ? rows.size() - room : 0;
    rows.resize(rows.size() - hidden);
    std::string body = cut(iso_time(now) + "  " + store, size.columns - 1) + "\n" +
                       as_table(list_columns(any_votes(locks)), rows, size.columns - 1, colours);
    body += hidden > 0 ? "and " + std::to_string(hidden) + " more\n" : "";
    body += states;
    const std::string up = lines_ == 0 ? "" : "\x1b[" + std::to_string(lines_) + "A";
    lines_ = static_cast<std::size_t>(std::count(body.begin(), body.end(), '\n'));
    return up + "\r\x1b[J" + body;
  }

  /// Others have written to the terminal since.
  void start_anew() noexcept { lines_ = 0; }

 private:
  std::size_t lines_ = 0;
};

std::string changes_text(const std::vector<lock_record>& before, const std::vector<lock_record>& after,
                         form f) {
  std::string out;
  const wall_time now = wall_now();
  for (const change& c : changes_between(before, after)) {
    out += f == form::json ? change_json(c, now) : to_line(c, now);
  }
  return out;
}

/// Waits for the next look; how to end, if it is the end.
std::optional<outcome> pause(signal_inbox& signals, screen& view, single_keys& keys,
                             std::chrono::milliseconds interval) {
  // A reader that left is seen although we have nothing to tell it.
  std::array<pollfd, 3> sources{pollfd{signals.fd(), POLLIN, 0}, pollfd{STDOUT_FILENO, 0, 0},
                                pollfd{keys.fd(), POLLIN, 0}};
  ::poll(sources.data(), sources.size(), static_cast<int>(interval.count()));
  if ((sources[1].revents & POLLERR) != 0) {
    return outcome{.status = status::signal_base + SIGPIPE, .signal = SIGPIPE};
  }
  if (keys.typed('q')) {
    return outcome{.status = status::done};
  }
  while (const auto signal = signals.next()) {
    if (*signal == SIGINT || *signal == SIGTERM) {
      return outcome{.status = status::done};
    }
    if (ends_a_process(*signal)) {
      return outcome{.status = status::signal_base + *signal, .signal = *signal};
    }
    if (*signal == SIGTSTP) {
      keys.end();
      signals.stop_here(SIGTSTP, false);
    } else if (*signal == SIGCONT) {
      view.start_anew();
      keys.begin();
    }
  }
  return std::nullopt;
}

/// A store that does not answer for a while is no reason to stop watching it.
bool may_pass(const error& why) { return why == errc::unreachable; }

std::vector<quarantine_state> servers_of(const client& store) {
  auto all = store.quarantine();
  return all ? std::move(*all) : std::vector<quarantine_state>();
}

outcome watch(const client& store, form f, std::chrono::milliseconds interval, signal_inbox& signals,
              single_keys& keys) {
  screen view;
  std::vector<lock_record> before;
  bool seen = false;     // the store, once
  bool in_sight = true;  // the last time
  for (;;) {
    auto now = store.list();
    if (!now && (!seen || !may_pass(now.error()))) {
      return {.status = report(now.error())};
    }
    if (now) {
      const auto printed = print(f == form::screen ? view.redraw(*now, store.store(), servers_of(store))
                                                   : changes_text(before, *now, f));
      if (!printed) {
        const auto over = pause(signals, view, keys, 0ms);  // perhaps only the reader left
        return over ? *over : outcome{.status = report(printed.error())};
      }
      before = std::move(*now);
    } else if (in_sight) {
      complain(now.error().message() + "; still watching");
      view.start_anew();
    }
    seen = true;
    in_sight = now.has_value();
    if (const auto over = pause(signals, view, keys, interval)) {
      return *over;
    }
  }
}

}  // namespace

outcome watch_command(const arguments& given) {
  parser p(text);
  p.add_json();
  p.add_duration("--interval", "time between two looks (default: 500ms)");
  if (const auto over = p.parse(given)) {
    return {.status = *over};
  }
  const auto interval = p.duration("--interval");
  if (!interval) {
    return {.status = report(interval.error())};
  }
  signal_inbox signals;  // before the store is opened: its threads inherit the mask
  const auto store = p.open_store();
  if (!store) {
    return {.status = report(store.error())};
  }
  const form f = p.json() ? form::json : is_terminal(STDOUT_FILENO) ? form::screen : form::lines;
  const auto length =
      std::clamp(interval->value_or(default_interval), shortest_interval, std::chrono::milliseconds(1h));
  single_keys keys(is_terminal(STDOUT_FILENO));  // else the reader of our output may need the keys
  return watch(*store, f, length, signals, keys);
}

}  // namespace cremone::cli
