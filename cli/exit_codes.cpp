// SPDX-License-Identifier: Apache-2.0
#include "cli/exit_codes.hpp"

#include <array>

namespace cremone::cli {

namespace {

constexpr std::array table = {
    exit_status_row{status::done, "done; for `who`: the lock is held"},
    exit_status_row{status::nothing_held,
                    "`who`: the lock is free; `release`: nobody held it; `doctor`: something is "
                    "bad; `quarantine`: a server is in it, or could not be asked; `sim`: a promise was "
                    "broken; `fence show`: no token was seen yet"},
    exit_status_row{status::usage, "the command line, or a name or value in it, is wrong"},
    exit_status_row{status::unreachable, "the store cannot be reached; nothing was done"},
    exit_status_row{status::unsupported, "this store, build or system cannot do that"},
    exit_status_row{status::os_error, "the system has no process, thread or descriptor left"},
    exit_status_row{status::io_error,
                    "the store, a file or the output cannot be written: disk full, read-only, corrupt; or "
                    "the input cannot be read"},
    exit_status_row{
        status::busy,
        "`run`: held by another (--try), or the --wait is over; -E changes this one; `release`: it has "
        "just passed to another holder; `fence`: somebody else is at the resource"},
    exit_status_row{status::lost, "`run`: the lock was lost, and the command was ended or had outlived it"},
    exit_status_row{status::access_denied, "the store or the file system says no: password, permissions"},
    exit_status_row{status::misconfigured,
                    "the set-up cannot be safe as it is; `fence`: its table or database is missing or "
                    "another"},
    exit_status_row{status::cancelled, "the call was cancelled"},
    exit_status_row{status::not_held, "there was no lease to act on; `fence`: no token was given"},
    exit_status_row{status::stale_token,
                    "`fence`: the resource has seen a higher token; nothing was written"},
    exit_status_row{
        status::outcome_unknown,
        "the store was asked and did not answer; `who`: too few servers say whether the lock is held"},
    exit_status_row{status::quarantined, "the store lost memory and does not grant yet"},
    exit_status_row{status::protocol_error, "the store answered something that makes no sense"},
    exit_status_row{status::not_executable, "`run`: the command cannot be executed"},
    exit_status_row{status::not_found, "`run`: the command was not found"},
};

}  // namespace

int exit_status(errc code) noexcept {
  switch (code) {
    case errc::busy: return status::busy;
    case errc::timed_out: return status::busy;
    case errc::cancelled: return status::cancelled;
    case errc::lost: return status::lost;
    case errc::not_held: return status::not_held;
    case errc::stale_token: return status::stale_token;
    case errc::unreachable: return status::unreachable;
    case errc::outcome_unknown: return status::outcome_unknown;
    case errc::quarantined: return status::quarantined;
    case errc::access_denied: return status::access_denied;
    case errc::storage_error: return status::io_error;
    case errc::misconfigured: return status::misconfigured;
    case errc::unsupported: return status::unsupported;
    case errc::invalid_argument: return status::usage;
    case errc::protocol_error: return status::protocol_error;
  }
  return status::unsupported;  // not an errc: a bug, and no reason to say that all is well
}

std::span<const exit_status_row> exit_status_table() noexcept { return table; }

std::string exit_status_help() {
  std::string text =
      "Exit codes\n\n"
      "`cremone run` ends with the command's own code, or with 128+n when signal n ended it.\n"
      "Where cremone itself has something to say:\n\n";
  for (const exit_status_row& row : table) {
    const std::string code = std::to_string(row.code);
    text += std::string(6 - code.size(), ' ') + code + "  " + std::string(row.meaning) + "\n";
  }
  return text;
}

}  // namespace cremone::cli
