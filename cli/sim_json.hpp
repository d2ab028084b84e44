// SPDX-License-Identifier: Apache-2.0
//
// What `sim swarm` prints with --json: one line with its line break. The keys are an interface that scripts rely on: they
// are only ever added. Reads no clock.
#pragma once

#include "cli/sim_text.hpp"

#include <string>

namespace cremone::cli {

/// {"order": {"seeds": {"first", "last"}, "layout", "faults": [name], "every_fault", "clients", "acquisitions", "jobs",
/// "stop_at_first"}, "schedules", "failed_schedules", "stopped", "interrupted_by", "virtual_time_s", "real_time_s",
/// "schedules_per_s", "schedules_per_s_and_core", "steps", "acquisitions", "losses", "takeovers", "quarantines",
/// "faults": {name: count}, "writes": {"accepted", "refused_as_stale", "lost_without_fence"}, "violations":
/// {"unexpected": {kind: count}, "expected": {kind: count}}, "schedules_beyond", "schedules_with_expected",
/// "first_violation_seed", "first_expected", "failures": [{"seed", "mix", "replay", "violations": [{"kind", "what",
/// "at_s", "expected"}]}]}.
/// Each key is always there. Clients and acquisitions are null where the seeds decide; "interrupted_by" where no signal ended it;
/// "first_violation_seed" where nothing failed; "first_expected", which is as a failure with "beyond", where there was none.
[[nodiscard]] std::string swarm_json(const swarm_report& report);

}  // namespace cremone::cli
