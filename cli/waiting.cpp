// SPDX-License-Identifier: Apache-2.0
#include "cli/waiting.hpp"

#include "base/process.hpp"
#include "base/text.hpp"
#include "cli/duration.hpp"
#include "cli/finding_text.hpp"
#include "cli/output.hpp"
#include "cli/record_text.hpp"
#include "cli/wakers.hpp"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <optional>
#include <stop_token>
#include <thread>

namespace cremone::cli {

namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;

constexpr std::chrono::milliseconds before_first_line = 200ms;  // a lock that comes at once shows nothing
constexpr std::chrono::milliseconds between_lines = 1s;         // what is shown is in seconds

/// The line of one who waits, on a terminal redrawn in place.
class wait_display {
 public:
  /// With `no_wait` nothing is shown.
  wait_display(const client& store, const std::string& name, wait_talk talk, milliseconds wait)
      : store_(store),
        name_(name),
        wait_(wait),
        terminal_(is_terminal(STDERR_FILENO)),
        wanted_(terminal_ || talk.verbose),
        asked_(wait == no_wait || talk.quiet) {
    const process_identity me = this_process();
    self_ = {me.host, me.pid};
  }

  /// Asks the store and shows what it says. Without a terminal it is said once: who is in the way only to those who want to
  /// know, that the store itself is in the way to everybody.
  void show() {
    const bool in_the_way = terminal_ && ::tcgetpgrp(STDERR_FILENO) != ::getpgrp();  // of one who types
    if (asked_ || in_the_way) {
      return;
    }
    const auto lock = store_.inspect(name_, time_to_ask());
    const std::string trouble = trouble_with(lock);
    const milliseconds waited = so_far();
    const auto now = std::chrono::floor<std::chrono::microseconds>(std::chrono::system_clock::now());
    const std::string line =
        trouble.empty() ? waiting_line(*lock, self_, waited, now) : waiting_line(name_, trouble, waited);
    if (!terminal_) {
      if (wanted_ || !trouble.empty()) {
        complain(line);
      }
      asked_ = true;
      return;
    }
    draw("\r" + cut(line, terminal_size(STDERR_FILENO).columns - 1) + "\x1b[K");
    drawn_ = true;
  }

  void clear() {
    if (drawn_) {
      draw("\r\x1b[K");
      drawn_ = false;
    }
  }

 private:
  [[nodiscard]] milliseconds so_far() const {
    return std::chrono::floor<milliseconds>(std::chrono::steady_clock::now() - began_);
  }

  /// The rest of the wait: a store that does not answer must not prolong the wait.
  [[nodiscard]] milliseconds time_to_ask() const {
    return std::clamp(wait_ - std::min(wait_, so_far()), 0ms, client::answer_limit);
  }

  /// Why nobody gets a lock there now, if so.
  [[nodiscard]] std::string trouble_with(const result<lock_record>& lock) const {
    if (!lock) {
      return lock.error().detail().empty() ? lock.error().message() : lock.error().detail();
    }
    const bool nobody = lock->holders.empty() && lock->may_hold.empty();
    const auto why = nobody ? why_no_lock(store_.quarantine(time_to_ask())) : std::vector<std::string>{};
    return why.empty() ? std::string() : why.front();
  }

  const client& store_;
  const std::string& name_;
  milliseconds wait_;
  own_identity self_;
  bool terminal_;
  bool wanted_;
  bool drawn_ = false;
  bool asked_ = false;  // and that is enough
  std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
};

/// Until `done` is raised; returns the signal that ended the wait, if one did.
int serve_signals(signal_inbox& signals, const event& done, wait_display& display, std::stop_source& stop) {
  int ended_by = 0;
  std::chrono::milliseconds pause = before_first_line;
  for (;;) {
    std::array<pollfd, 2> sources{pollfd{signals.fd(), POLLIN, 0}, pollfd{done.fd(), POLLIN, 0}};
    const int ready = ::poll(sources.data(), sources.size(), static_cast<int>(pause.count()));
    if ((sources[1].revents & POLLIN) != 0) {
      return ended_by;
    }
    if (const int ends = signals.take_all([&] { display.clear(); }); ends != 0 && ended_by == 0) {
      ended_by = ends;
      stop.request_stop();
    }
    if (ready == 0 && ended_by == 0) {
      display.show();
      pause = between_lines;
    }
  }
}

std::string in_the_way(const hold_record& h, wall_time now) {
  std::string text =
      h.foreign.empty() ? h.owner.host + " pid " + std::to_string(h.owner.pid) : holder_words(h);
  if (!h.owner.label.empty()) {
    text += " '" + h.owner.label + "'";
  }
  if (h.owner.since != wall_time{}) {
    text += " for " + shown(std::chrono::floor<std::chrono::milliseconds>(now - h.owner.since));
  }
  if (const std::string expiry = expiry_words(h); !expiry.empty()) {
    text += ", expires " + expiry;
  }
  return h.liveness == liveness::command_only ? text + " (its cremone is gone, its command still runs)"
                                              : text;
}

}  // namespace

waited acquire(const client& store, const std::string& name, const acquire_options& options,
               signal_inbox& signals, wait_talk talk) {
  event done;
  std::stop_source stop;
  std::optional<result<lease>> answer;
  std::thread worker([&] {
    answer.emplace(store.acquire(name, options, stop.get_token()));
    done.raise();
  });
  wait_display display(store, name, talk, options.wait);
  const int signal = serve_signals(signals, done, display, stop);
  display.clear();
  worker.join();
  return {std::move(*answer), signal};
}

std::string waiting_line(const std::string& name, const std::string& trouble,
                         std::chrono::milliseconds waited) {
  return printable("waiting for '" + name + "': " + trouble + "; waited " + shown(waited));
}

std::string waiting_line(const lock_record& lock, const own_identity& self, std::chrono::milliseconds waited,
                         wall_time now) {
  std::string text = "waiting for '" + lock.name.str() + "': ";
  if (lock.holders.empty() && !lock.may_hold.empty()) {
    text += "perhaps held by " + in_the_way(lock.may_hold.front(), now);
  } else if (lock.holders.empty()) {
    text += "free, and promised to those who wait";
  } else {
    text += "held by " + in_the_way(lock.holders.front(), now);
  }
  if (lock.holders.size() > 1) {
    text += " and " + std::to_string(lock.holders.size() - 1) + " more";
  }
  for (std::size_t i = 0; i < lock.waiters.size(); ++i) {
    if (lock.waiters[i].who.pid == self.pid && lock.waiters[i].who.host == self.host) {
      text += "; place " + std::to_string(i + 1) + " of " + std::to_string(lock.waiters.size());
      break;
    }
  }
  return printable(text + "; waited " + shown(waited));
}

}  // namespace cremone::cli
