// SPDX-License-Identifier: Apache-2.0
//
// What the commands print with --json, each time one line with its line break. The keys are an interface that scripts rely
// on: they are only ever added. Bytes that are not UTF-8 are replaced. Reads no clock.
#pragma once

#include "cli/changes.hpp"

#include <cremone/finding.hpp>
#include <cremone/record.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace cremone::cli {

/// {"name", "held", "last_token", "holders": [{"host", "pid", "user", "label", "since", "token", "ttl_ms", "mode",
/// "liveness", "expires_in_ms", "foreign"}], "waiters": [{"place", "host", "pid", "user", "label", "since", "mode"}],
/// "store"}.
/// Each key is always there: what the store does not know, the last token included, is null. "expires_in_ms" is null where
/// the store lets nothing expire, or this hold has no end. "foreign" is null for a holder that is cremone; else what that
/// other program left there, and host, pid, user, label, since, token and ttl_ms are null.
[[nodiscard]] std::string lock_json(const lock_record& lock, const std::string& store);

/// {"store", "locks"}, the locks as above, without their store.
[[nodiscard]] std::string list_json(const std::vector<lock_record>& locks, const std::string& store);

/// {"store", "name", "removed"}
[[nodiscard]] std::string removal_json(const std::string& store, const std::string& name,
                                       std::size_t removed);

/// {"time", "event", "name", "host", "pid", "user", "label", "since", "token"}; without a token for waiters
/// and where the store does not know it. User and since are null where they are not known.
[[nodiscard]] std::string change_json(const change& c, wall_time now);

/// {"store", "overall", "findings": [{"node", "subject", "verdict", "value", "reason"}]}. "value" is null where nothing was
/// found out.
[[nodiscard]] std::string findings_json(const std::vector<finding>& all, const std::string& store);

/// {"store", "quarantined", "ended", "servers": [{"node", "quarantined", "left_ms", "why"}]}. "quarantined": any of them;
/// "ended": by this command. "left_ms" is null where nobody on this machine has watched it, "why" where there is no reason.
[[nodiscard]] std::string quarantine_json(const std::vector<quarantine_state>& all, const std::string& store,
                                          bool ended);

}  // namespace cremone::cli
