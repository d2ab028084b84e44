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

/// After a failed wait: how long to wait for the store to confirm that the request is withdrawn.
/// Long enough to write the withdrawal to the socket, behind the request that it cancels. Short,
/// because a silent store must not prolong --wait.
constexpr std::chrono::milliseconds withdrawal_grace{200};

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

/// The lock is given back before we end, and that is waited for.
void give_back(lease& held) {
  if (const auto released = held.release(); !released) {
    complain(released.error().message());
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

outcome after(const job_end& end, lease& held, const run_options& options,
              std::chrono::nanoseconds held_for) {
  const bool in_time = !end.ended_by_us && held.held();
  if (!in_time) {
    const auto released = held.release();
    const bool lost = !released && released.error() == errc::lost;
    const std::string why =
        lost ? released.error().message() : why_in_danger(options, end.renewal_trouble, held_for);
    complain(why + (end.ended_by_us ? "; its command was ended" : "; its command had not ended by then"));
    return {.status = status::lost};
  }
  give_back(held);
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
outcome work(const client& store, lease& held, const run_options& options, signal_inbox& signals) {
  if (!held.held()) {  // we were stopped while we waited, and came back too late
    return {.status = report(held.release().error())};
  }
  auto lifeline = store.lifeline();
  if (!lifeline && lifeline.error().code() != errc::unsupported) {
    give_back(held);
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
    give_back(held);
    complain(child.complaint);
    return {.status = child.status};
  }
  const instant began = validity_clock::now();
  const job_end end = job(held, signals, tty, when, options.grace, child.pid).run();
  if (end.signal != 0) {
    tty.restore_settings();
  }
  return after(end, held, options, validity_clock::now() - began);
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
    store->close(withdrawal_grace);
  }
  if (!answer.got || answer.signal != 0) {
    return not_acquired(answer, options);
  }
  return work(*store, *answer.got, options, signals);
}

}  // namespace cremone::cli
