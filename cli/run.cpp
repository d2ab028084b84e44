// SPDX-License-Identifier: Apache-2.0
//
// `cremone run NAME -- COMMAND`: takes the lock, runs the command under it, gives it back, and ends as the command did.
#include "base/process.hpp"
#include "cli/child.hpp"
#include "cli/commands.hpp"
#include "cli/duration.hpp"
#include "cli/exit_codes.hpp"
#include "cli/job.hpp"
#include "cli/output.hpp"
#include "cli/run_options.hpp"
#include "cli/waiting.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <optional>
#include <utility>

namespace cremone::cli {

namespace {

/// In a pipeline the next program may want the terminal (a pager does): then the command has to ask for it. Where the
/// signal by which it would ask is ignored, as within $(…) of an interactive shell, it could not.
handover handover_for_output() noexcept {
  struct stat out {};
  const bool pipeline = ::fstat(STDOUT_FILENO, &out) == 0 && (S_ISFIFO(out.st_mode) || S_ISSOCK(out.st_mode));
  return pipeline && !is_ignored(SIGTTIN) ? handover::when_asked : handover::at_once;
}

/// How long to wait for the last answer of a store that has just failed to answer, after a failed
/// wait or a failed renewal. Long enough to write the withdrawal or the release to the socket,
/// behind the requests before it. Short, because a silent store must not prolong --wait, nor keep
/// `run` alive without its command.
constexpr std::chrono::milliseconds silent_store_grace{200};

outcome not_acquired(const waited& no, const run_options& options) {
  if (no.signal != 0) {
    return {.status = status::signal_base + no.signal, .signal = no.signal};
  }
  const errc code = no.got.error().code();
  const bool in_use = code == errc::busy || code == errc::timed_out;
  const int status = in_use ? options.conflict_status.value_or(exit_status(code)) : exit_status(code);
  // With -E 0 a lock in use is no failure, and cron would mail what is printed.
  if ((status != status::done && !(in_use && options.quiet)) || options.verbose) {
    complain(no.got.error().message());
  }
  return {.status = status};
}

/// Releases the lock and waits for the store's answer.
void give_back(client& store, lease& held) {
  if (const auto released = held.release(); !released) {
    complain(released.error().message());
    store.close(silent_store_grace);
  }
}

/// Why a command was ended although its lease had not run out. `renewal`: why the last renewal
/// failed.
std::string why_in_danger(const run_options& options, const std::string& renewal,
                          std::chrono::nanoseconds held_for) {
  const std::string lock = "lock '" + options.name + "'";
  if (options.how.max_hold != forever && held_for >= options.how.max_hold - 2 * options.grace) {
    return lock + ": its --max-hold of " + shown(options.how.max_hold) + " is over";
  }
  return lock + " could not be renewed in time" + (renewal.empty() ? "" : ": " + renewal);
}

/// The lock was lost, or about to be. Reports that first: a silent store must not delay the report.
outcome after_loss(client& store, const job_end& end, lease& held, const run_options& options,
                   std::chrono::nanoseconds held_for) {
  const auto renewal = held.last_renewal();
  const bool lost = !renewal && renewal.error() == errc::lost;
  const std::string why =
      lost ? renewal.error().message() : why_in_danger(options, end.renewal_trouble, held_for);
  complain(why + (end.ended_by_us ? "; its command was ended" : "; its command had not ended by then"));
  if (renewal) {  // the store answers
    static_cast<void>(held.release());
  }
  store.close(silent_store_grace);
  return {.status = status::lost};
}

outcome after(client& store, const job_end& end, lease& held, const run_options& options,
              std::chrono::nanoseconds held_for) {
  const bool in_time = !end.ended_by_us && held.held();
  if (!in_time) {
    return after_loss(store, end, held, options, held_for);
  }
  give_back(store, held);
  if (end.signal == 0) {
    return {.status = end.code};
  }
  const bool typed = end.signal == SIGINT || end.signal == SIGQUIT;
  const bool die_too = typed && (end.at_terminal || end.forwarded);
  return {.status = status::signal_base + end.signal,
          .signal = die_too ? end.signal : 0,
          .whole_group = end.at_terminal};
}

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

/// Who holds, for a store that does not tell the token of a holder: "web1:4711".
std::string holder_variable(const std::string& host, std::int64_t pid) {
  return host + ":" + std::to_string(pid);
}

/// Empty where the store gives none: one of an outer `run` must not be taken for it.
std::string token_variable(fence_token token) {
  return token == fence_token() ? std::string() : std::to_string(token.value());
}

bool is_our_caller(const hold_record& h) {
  if (h.token.value() != 0) {
    return std::to_string(h.token.value()) == variable("CREMONE_TOKEN");
  }
  return h.foreign.empty() && holder_variable(h.owner.host, h.owner.pid) == variable("CREMONE_HOLDER");
}

/// Whoever waits for a lock under which it runs itself waits for ever.
std::optional<std::string> held_by_our_caller(const client& store, const std::string& name) {
  if (variable("CREMONE_NAME") != name || variable("CREMONE_STORE") != store.store()) {
    return std::nullopt;
  }
  const auto lock = store.inspect(name);
  if (!lock || lock->holders.empty() || !is_our_caller(lock->holders.front())) {
    return std::nullopt;
  }
  return "busy: this already runs under lock '" + name +
         "' (CREMONE_TOKEN and CREMONE_HOLDER say so), and would wait for itself";
}

/// The command under the lease, to its end.
outcome work(client& store, lease& held, const run_options& options, signal_inbox& signals) {
  if (!held.held()) {  // we were stopped while we waited, and came back too late
    return {.status = report(held.release().error())};
  }
  auto lifeline = store.lifeline();
  if (!lifeline && lifeline.error().code() != errc::unsupported) {
    give_back(store, held);
    return {.status = report(lifeline.error())};
  }
  descriptor kept(lifeline ? *lifeline : -1);
  terminal tty;
  const handover when = handover_for_output();
  const bool foreground = when == handover::at_once && tty.ours();
  const process_identity me = this_process();
  const launched child = start({.command = options.command,
                                .environment = {{"CREMONE_TOKEN", token_variable(held.token())},
                                                {"CREMONE_OWNER", held.owner().hex()},
                                                {"CREMONE_NAME", options.name},
                                                {"CREMONE_STORE", store.store()},
                                                {"CREMONE_HOLDER", holder_variable(me.host, me.pid)}},
                                .tty = foreground ? tty.fd() : -1,
                                .lifeline = kept.get()},
                               signals);
  kept.reset();
  if (foreground) {
    tty.give(child.pid < 0 ? ::getpgrp() : child.pid);  // it may have taken it before it failed
  }
  if (child.pid < 0) {
    give_back(store, held);
    complain(child.complaint);
    return {.status = child.status};
  }
  const instant began = validity_clock::now();
  const job_end end = job(held, signals, tty, when, options.grace, child.pid).run();
  if (end.signal != 0) {
    tty.restore_settings();
  }
  return after(store, end, held, options, validity_clock::now() - began);
}

}  // namespace

outcome run_command(const arguments& given) {
  run_line line;
  if (const auto over = line.parse(given)) {
    return {.status = *over};
  }
  const run_options& options = line.options();
  signal_inbox signals;  // before the store is opened: its threads inherit the mask
  auto store = line.open_store();
  if (!store) {
    return {.status = report(store.error())};
  }
  if (const auto fine = line.adapt_to(*store); !fine) {
    return {.status = report(fine.error())};
  }
  if (const auto mine = held_by_our_caller(*store, options.name)) {
    complain(*mine);
    return {.status = options.conflict_status.value_or(status::busy)};
  }
  waited answer = acquire(*store, options.name, options.how, signals,
                          {.verbose = options.verbose, .quiet = options.quiet});
  if (!answer.got) {
    store->close(silent_store_grace);
  }
  if (!answer.got || answer.signal != 0) {
    return not_acquired(answer, options);
  }
  return work(*store, *answer.got, options, signals);
}

}  // namespace cremone::cli
