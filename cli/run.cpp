// SPDX-License-Identifier: Apache-2.0
//
// `cremone run NAME -- COMMAND`: takes the lock, runs the command under it, gives it back, and ends as the command did.
#include "cli/child.hpp"
#include "cli/commands.hpp"
#include "cli/exit_codes.hpp"
#include "cli/job.hpp"
#include "cli/output.hpp"
#include "cli/run_options.hpp"
#include "cli/waiting.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <utility>

namespace cremone::cli {

namespace {

/// In a pipeline the next program may want the terminal (a pager does): then the command has to ask for it.
handover handover_for_output() noexcept {
  struct stat out {};
  const bool pipeline = ::fstat(STDOUT_FILENO, &out) == 0 && (S_ISFIFO(out.st_mode) || S_ISSOCK(out.st_mode));
  return pipeline ? handover::when_asked : handover::at_once;
}

outcome not_acquired(const waited& no, const run_options& options) {
  if (no.signal != 0) {
    return {.status = status::signal_base + no.signal, .signal = no.signal};
  }
  const int code = report(no.got.error());
  const bool in_use = no.got.error().code() == errc::busy || no.got.error().code() == errc::timed_out;
  return {.status = in_use ? options.conflict_status.value_or(code) : code};
}

/// The lock is given back before we end, and that is waited for.
void give_back(lease& held) {
  if (const auto released = held.release(); !released) {
    complain(released.error().message());
  }
}

outcome after(const job_end& end, lease& held, const std::string& name) {
  const bool in_time = !end.ended_by_us && held.held();
  if (!in_time) {
    const auto why = held.release();
    complain((why ? "the lock '" + name + "' was about to be lost" : why.error().message()) +
             (end.ended_by_us ? "; its command was ended" : "; its command had not ended by then"));
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
  const launched child = start({.command = options.command,
                                .environment = {{"CREMONE_TOKEN", std::to_string(held.token().value())},
                                                {"CREMONE_NAME", options.name},
                                                {"CREMONE_STORE", store.store()}},
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
  const job_end end = job(held, signals, tty, when, options.grace, child.pid).run();
  if (end.signal != 0) {
    tty.restore_settings();
  }
  return after(end, held, options.name);
}

}  // namespace

outcome run_command(const arguments& given) {
  run_line line;
  if (const auto over = line.parse(given)) {
    return {.status = *over};
  }
  const run_options& options = line.options();
  signal_inbox signals;  // before the store is opened: its threads inherit the mask
  const auto store = line.open_store();
  if (!store) {
    return {.status = report(store.error())};
  }
  waited answer = acquire(*store, options.name, options.how, signals, options.verbose);
  if (!answer.got || answer.signal != 0) {
    return not_acquired(answer, options);
  }
  return work(*store, *answer.got, options, signals);
}

}  // namespace cremone::cli
