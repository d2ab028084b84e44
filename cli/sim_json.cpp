// SPDX-License-Identifier: Apache-2.0
#include "cli/sim_json.hpp"

#include "cli/sim_figures.hpp"
#include "cli/sim_options.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <optional>
#include <utility>

namespace cremone::cli {

namespace {

using json = nlohmann::ordered_json;

json number_or_null(const std::optional<int>& n) { return n ? json(*n) : json(); }

json order_json(const sim::swarm_order& order) {
  json faults = json::array();
  for (std::size_t i = 0; i < sim::fault_count; ++i) {
    const auto f = static_cast<sim::fault>(i);
    if (order.what.faults.has(f)) {
      faults.push_back(name_of(f));
    }
  }
  return {{"seeds", {{"first", order.first}, {"last", order.last}}},
          {"layout", name_of(order.what.store)},
          {"faults", std::move(faults)},
          {"every_fault", order.what.every_fault},
          {"clients", number_or_null(order.what.clients)},
          {"acquisitions", number_or_null(order.what.acquisitions)},
          {"jobs", order.jobs},
          {"stop_at_first", order.stop_at_first}};
}

/// One count for each value of an enumeration, under its name.
template <class Kind, class Counts>
json by_name(const Counts& counts) {
  json all = json::object();
  for (std::size_t i = 0; i < counts.size(); ++i) {
    all[std::string(name_of(static_cast<Kind>(i)))] = counts[i];
  }
  return all;
}

json schedule_json(const sim::schedule_result& one, const sim::schedule_options& what) {
  json violations = json::array();
  for (const sim::violation& v : one.violations) {
    violations.push_back(
        {{"kind", name_of(v.kind)}, {"what", v.what}, {"at_s", seconds(v.at)}, {"expected", v.expected()}});
  }
  return {{"seed", one.seed},
          {"mix", one.mix},
          {"replay", replay_command(one.seed, what)},
          {"violations", std::move(violations)}};
}

json first_expected_json(const swarm_report& report) {
  const auto& first = report.totals.first_expected;
  if (!first) {
    return {};
  }
  json one = schedule_json(*first, report.order.what);
  one["beyond"] = first->beyond;
  return one;
}

json totals_json(const sim::swarm_totals& t) {
  return {{"steps", t.steps},
          {"acquisitions", t.acquisitions},
          {"losses", t.losses},
          {"takeovers", t.evictions},
          {"quarantines", t.quarantines},
          {"faults", by_name<sim::fault>(t.faults)},
          {"writes",
           {{"accepted", t.writes},
            {"refused_as_stale", t.refused_writes},
            {"lost_without_fence", t.lost_without_fence}}},
          {"violations",
           {{"unexpected", by_name<sim::violation_kind>(t.unexpected)},
            {"expected", by_name<sim::violation_kind>(t.expected)}}},
          {"schedules_beyond", t.schedules_beyond},
          {"schedules_with_expected", t.schedules_with_expected}};
}

}  // namespace

std::string swarm_json(const swarm_report& report) {
  const sim::swarm_totals& totals = report.totals;
  const double rate = rate_of(totals.schedules, report.took);
  json failures = json::array();
  for (const sim::schedule_result& failure : totals.failures) {
    failures.push_back(schedule_json(failure, report.order.what));
  }
  json all = {{"order", order_json(report.order)},
              {"schedules", totals.schedules},
              {"failed_schedules", totals.failed_schedules},
              {"stopped", totals.stopped},
              {"interrupted_by", report.interrupted_by.empty() ? json() : json(report.interrupted_by)},
              {"virtual_time_s", seconds(totals.virtual_time)},
              {"real_time_s", seconds(report.took)},
              {"schedules_per_s", rate},
              {"schedules_per_s_and_core", rate / cores_used(report)}};
  all.update(totals_json(totals));
  all["first_violation_seed"] = totals.failures.empty() ? json() : json(totals.failures.front().seed);
  all["first_expected"] = first_expected_json(report);
  all["failures"] = std::move(failures);
  return all.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

}  // namespace cremone::cli
