// SPDX-License-Identifier: Apache-2.0
#include "backends/redis/diagnosis.hpp"

#include "backends/redis/admission.hpp"
#include "backends/redis/limits.hpp"
#include "backends/redis/rights.hpp"
#include "base/amounts.hpp"
#include "base/text.hpp"

#include <algorithm>
#include <utility>

namespace cremone::redis {

namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

constexpr server_version oldest_for_records{7, 0, 0};
constexpr server_version oldest_for_classic{6, 0, 0};

/// Clocks that NTP keeps differ by milliseconds; a second is no accident.
constexpr microseconds much_for_a_clock{1'000'000};

struct judgement {
  cremone::verdict verdict = verdict::good;
  std::string value;
  std::string reason;
};

/// Only where the ACL is why it helps to change that.
std::string unanswered(const purpose& p, const evidence& seen, const std::string& command,
                       const std::string& right) {
  const auto said = seen.refused.find(command.substr(0, command.find(' ')));
  if (said == seen.refused.end()) {
    return command + " was not answered";
  }
  return command + " was not answered" +
         (said->second.by_acl ? "; it takes: ACL SETUSER " + acl_user(p.user) + " +" + right
                              : ": " + said->second.why);
}

/// What INFO would have told.
judgement untold_by_info(const purpose& p, const evidence& seen) {
  return {verdict::untold, "",
          seen.info_told ? "INFO of this server does not say" : unanswered(p, seen, "INFO", "info")};
}

judgement untold_by_config(const purpose& p, const evidence& seen, std::string value) {
  return {verdict::untold, std::move(value), unanswered(p, seen, "CONFIG GET", "config|get")};
}

judgement judge_version(const purpose& p, const evidence& seen) {
  const auto& version = seen.facts.version;
  if (!version) {
    return untold_by_info(p, seen);
  }
  if (p.layout == layout::record && *version < oldest_for_records) {
    return {verdict::bad, to_string(*version),
            "the layout 'record' needs Redis 7.0 or later; upgrade, or use layout=classic"};
  }
  if (*version < oldest_for_classic) {
    return {verdict::warning, to_string(*version),
            "older than Redis 6, with which nothing was ever tested; upgrade"};
  }
  return {verdict::good, to_string(*version), "new enough"};
}

judgement judge_mode(const purpose& p, const evidence& seen) {
  const server_facts& f = seen.facts;
  if (f.cluster) {
    return {verdict::bad, "cluster",
            "keys of one lock may lie on several servers, and move; Redis Cluster is not supported: use a "
            "server of its own"};
  }
  if (f.redis_mode == "sentinel") {
    return {verdict::bad, "sentinel", "a Sentinel keeps no keys; name the master that it watches"};
  }
  if (f.redis_mode.empty()) {
    return untold_by_info(p, seen);
  }
  return {verdict::good, f.redis_mode, "one server that has all keys"};
}

judgement judge_role(const purpose& p, const evidence& seen) {
  switch (seen.facts.role) {
    case server_role::master: return {verdict::good, "master", "it takes writes"};
    case server_role::replica:
      return {verdict::bad, "replica",
              "it takes no writes, and knows of locks too late; name its master in the URL"};
    case server_role::untold: break;
  }
  return untold_by_info(p, seen);
}

judgement judge_volatile(const purpose& p, const server_facts& f, std::string value) {
  const bool unlimited = f.maxmemory == 0U;
  const std::string cure =
      unlimited ? "; no maxmemory is set now, so that nothing goes yet. Set maxmemory-policy noeviction"
                : "; set maxmemory-policy noeviction";
  if (p.layout == layout::record) {
    return {verdict::warning, std::move(value),
            "held locks have no expiry and stay, but what was released last may be forgotten too early when "
            "memory is "
            "full" +
                cure};
  }
  const bool happens = f.evicted_keys.value_or(0) > 0 && !unlimited;
  return {
      happens ? verdict::bad : verdict::warning, std::move(value),
      "locks have an expiry, so that one that is held goes when memory is full, and the next gets it" + cure};
}

judgement judge_eviction(const purpose& p, const evidence& seen) {
  const server_facts& f = seen.facts;
  if (f.maxmemory_policy.empty()) {
    return untold_by_info(p, seen);
  }
  std::string value = f.maxmemory_policy;
  if (const auto evicted = f.evicted_keys.value_or(0); evicted > 0) {
    value += ", " + std::to_string(evicted) + " evicted so far";
  }
  if (f.maxmemory_policy == "noeviction") {
    return {verdict::good, std::move(value), "a full server refuses new locks and forgets none"};
  }
  if (f.maxmemory_policy.starts_with("volatile-")) {
    return judge_volatile(p, f, std::move(value));
  }
  return {verdict::bad, std::move(value),
          "when memory is full any key goes, a held lock or the counter of tokens too; set maxmemory-policy "
          "noeviction"};
}

judgement judge_memory(const purpose& p, const evidence& seen) {
  const server_facts& f = seen.facts;
  if (!f.maxmemory || !f.used_memory) {
    return untold_by_info(p, seen);
  }
  if (*f.maxmemory == 0) {
    return {verdict::good, shown_bytes(*f.used_memory) + ", no limit",
            "there is no maxmemory: it can grow as long as the machine has memory"};
  }
  const double share = static_cast<double>(*f.used_memory) / static_cast<double>(*f.maxmemory);
  std::string value = shown_bytes(*f.used_memory) + " of " + shown_bytes(*f.maxmemory);
  if (share < 0.9) {
    return {verdict::good, std::move(value), "there is room"};
  }
  if (f.maxmemory_policy != "noeviction") {
    return {verdict::warning, std::move(value),
            "nearly full, and then keys are evicted; make room or raise maxmemory"};
  }
  const std::string lost = p.layout == layout::record ? "taken" : "taken or renewed";
  return {share < 1.0 ? verdict::warning : verdict::bad, std::move(value),
          "a full server refuses writes, so that no lock can be " + lost + "; make room or raise maxmemory"};
}

/// What keeps the server from taking writes at all, for either layout.
std::optional<judgement> judge_disk(const server_facts& f) {
  if (f.aof_enabled == true && f.aof_last_write_ok == false) {
    return judgement{verdict::bad, "append-only file, last write failed",
                     "it takes no writes until its disk does; its log says why"};
  }
  if (f.rdb_last_save_ok == false) {
    const bool nobody_asks_for_it = f.config.save && f.config.save->empty();
    return judgement{
        nobody_asks_for_it ? verdict::warning : verdict::bad, "last snapshot failed",
        "it takes no writes then, unless stop-writes-on-bgsave-error is off; look at its disk and its log"};
  }
  return std::nullopt;
}

judgement judge_record_persistence(const purpose& p, const server_facts& f) {
  const std::string length = shown_length(quarantine_length(p.max_ttl));
  if (f.aof_enabled == true) {
    return {verdict::good, "append-only file",
            "after a restart it gives out no lock for " + length + " all the same, to be sure"};
  }
  const bool none = f.config.save && f.config.save->empty();
  return {verdict::good, none ? "none" : "no append-only file",
          "safe without: after a restart it gives out no lock for " + length +
              ", so that none from before is given out twice. Tokens then go on from " +
              (p.voters > 1 ? "the highest that a majority of the others has given" : "its clock")};
}

judgement judge_classic_log(const purpose& p, const evidence& seen) {
  const server_facts& f = seen.facts;
  if (!f.config.appendfsync) {
    return untold_by_config(p, seen, "append-only file");
  }
  std::string value = "append-only file, fsync " + *f.config.appendfsync;
  if (*f.config.appendfsync == "no") {
    return {verdict::warning, std::move(value),
            "a power cut frees the locks that the kernel had not written yet: it decides when, up to half a "
            "minute is usual; appendfsync always frees none"};
  }
  if (*f.config.appendfsync != "always") {
    return {verdict::warning, std::move(value),
            "a power cut frees the locks that were granted in the last second or so; appendfsync always does "
            "not"};
  }
  if (f.config.no_appendfsync_on_rewrite == true) {
    return {verdict::warning, std::move(value) + ", not while rewriting",
            "during a rewrite of the file a power cut loses locks; set no-appendfsync-on-rewrite no"};
  }
  return {verdict::good, std::move(value), "what was granted survives a restart"};
}

judgement judge_persistence(const purpose& p, const evidence& seen) {
  const server_facts& f = seen.facts;
  if (auto stuck = judge_disk(f)) {
    return *std::move(stuck);
  }
  if (!f.aof_enabled) {
    return untold_by_info(p, seen);
  }
  if (p.layout == layout::record) {
    return judge_record_persistence(p, f);
  }
  if (*f.aof_enabled) {
    return judge_classic_log(p, seen);
  }
  if (f.config.save && !f.config.save->empty()) {
    return {verdict::warning, "snapshots only",
            "a restart frees the locks since the last snapshot and brings released ones back; set appendonly "
            "yes and "
            "appendfsync always"};
  }
  return {verdict::warning, f.config.save ? "none" : "no append-only file",
          "a restart frees every lock that is held; set appendonly yes and appendfsync always"};
}

/// How many replicas must follow before the server accepts a write. INFO alone shows only whether
/// the number is zero.
std::optional<std::uint64_t> replicas_required(const server_facts& f) {
  const bool off = f.config.min_replicas_max_lag == std::chrono::seconds(0) ||
                   (!f.config.min_replicas_to_write && f.min_replicas_on == false);
  return off ? std::optional<std::uint64_t>(0) : f.config.min_replicas_to_write;
}

/// Two masters at once. A client that is cut off together with the old master renews there without
/// end, while the promoted master grants again after its quarantine. That breaks both layouts.
judgement unprotected_failover(std::uint64_t replicas, std::string value) {
  const std::string all =
      replicas == 0 ? "the number of all replicas" : std::to_string(replicas) + " (all replicas)";
  return {
      verdict::bad, std::move(value),
      "a failover can leave two masters: if a replica is promoted while this server is only cut off, both "
      "grant the same lock, for as long as clients reach both. Set min-replicas-to-write to " +
          all + " and min-replicas-max-lag to 3 on every server"};
}

/// A master that is cut off may count a replica as present for this long after
/// min-replicas-max-lag: Redis counts once a second, and rounds the lag down to seconds.
constexpr std::chrono::seconds lag_rounding{2};

/// For a server that needs all its replicas. As the old master, would it stop before the promoted
/// server's quarantine ends?
judgement judge_lag(const purpose& p, const server_facts& f, std::string value) {
  const auto lag = f.config.min_replicas_max_lag.value_or(std::chrono::seconds(0));
  const milliseconds safe = quarantine_length(p.max_ttl) - lag - lag_rounding;
  if (p.ttl > safe) {
    return {verdict::warning, value + ", min-replicas-max-lag " + std::to_string(lag.count()),
            "cut off from its replicas, this server accepts writes for up to " +
                shown_length(lag + lag_rounding) +
                " more, and a lease granted in that time can outlast the quarantine of the promoted server" +
                (safe > milliseconds(0) ? ", unless its ttl is at most " + shown_length(safe) : "") +
                ". Lower min-replicas-max-lag, or raise max_ttl"};
  }
  return {
      verdict::good, std::move(value),
      "if a replica is promoted while this server is cut off, this server stops accepting writes in time"};
}

judgement judge_replicas(const purpose& p, const evidence& seen) {
  const server_facts& f = seen.facts;
  if (!f.connected_replicas) {
    return untold_by_info(p, seen);
  }
  const std::uint64_t there = *f.connected_replicas;
  const auto required = replicas_required(f);
  std::string value = there == 0 ? "none" : std::to_string(there);
  const std::string setting = f.config.min_replicas_max_lag == std::chrono::seconds(0)
                                  ? ", min-replicas-max-lag 0"
                                  : ", min-replicas-to-write " + std::to_string(required.value_or(0));
  if (required && *required > there) {
    return {verdict::bad, value + setting, "it takes no writes while it has fewer replicas than that"};
  }
  if (there == 0 && !p.sentinel) {
    return {verdict::good, std::move(value),
            "no other server can be put in its place with less than it knows"};
  }
  if (required && (*required == 0 || *required < there)) {
    return unprotected_failover(there, value + setting);
  }
  if (p.layout == layout::classic) {
    return {verdict::warning, std::move(value),
            "copies come late: a replica that is promoted lacks the last locks, and the next gets them. "
            "min-replicas-to-write makes that rarer and does not prevent it"};
  }
  if (!required) {
    return untold_by_config(p, seen, std::move(value));
  }
  return judge_lag(p, f, value + setting);
}

judgement judge_clock(const purpose& p, const evidence& seen) {
  if (!seen.clock) {
    return {verdict::untold, "", unanswered(p, seen, "TIME", "time")};
  }
  const auto [least, most] = *seen.clock;
  const microseconds middle = least + (most - least) / 2;
  const bool same = least <= least.zero() && most >= most.zero();
  const std::string side = middle < middle.zero() ? " behind ours" : " ahead of ours";
  const std::string value = (same ? "as ours" : shown_length(std::chrono::abs(middle)) + side) + " (± " +
                            shown_length((most - least) / 2) + ")";
  if (least > much_for_a_clock || most < -much_for_a_clock) {
    return {verdict::warning, value,
            p.layout == layout::classic ? "tokens come from its clock, and locks expire by it: where it is "
                                          "set rather than slewed, they expire "
                                          "at the wrong time. Let NTP keep both clocks"
                                        : "tokens come from its clock where it forgot the last, and times "
                                          "are shown by ours. Let NTP keep both "
                                          "clocks"};
  }
  if (most - least > much_for_a_clock) {
    return {verdict::untold, value, "its answers take too long to tell"};
  }
  return {verdict::good, value, "near enough"};
}

/// The one that 99 of 100 do not exceed; of twenty the slowest.
microseconds slowest_usual(std::vector<microseconds> sorted) {
  const std::size_t rank = (sorted.size() * 99 + 99) / 100;
  return sorted[rank - 1];
}

judgement judge_latency(const purpose& p, const evidence& seen) {
  const milliseconds limit = answer_limit(p.ttl);
  if (seen.unanswered > 0) {
    return {verdict::bad, std::to_string(seen.unanswered) + " of our questions not answered",
            "an answer that takes longer than " + shown_length(limit) +
                " counts as none, and leases are lost for it"};
  }
  if (seen.pings.empty()) {
    return {verdict::untold, "", unanswered(p, seen, "PING", "ping")};
  }
  auto sorted = seen.pings;
  std::sort(sorted.begin(), sorted.end());
  const microseconds slow = slowest_usual(sorted);
  std::string value = "median " + shown_length(sorted[sorted.size() / 2]) + ", p99 " + shown_length(slow) +
                      " of " + std::to_string(sorted.size());
  if (slow > limit) {
    return {verdict::bad, std::move(value),
            "an answer that takes longer than " + shown_length(limit) +
                " counts as none, and leases are lost for it"};
  }
  if (slow > std::min(p.ttl / 20, limit / 4)) {
    return {
        verdict::warning, std::move(value),
        "much for a lease of " + shown_length(p.ttl) + ": renewals have little time for a second attempt"};
  }
  return {verdict::good, std::move(value), "little against a lease of " + shown_length(p.ttl)};
}

judgement judge_rights(const purpose& p, const evidence& seen) {
  const std::string user = "user " + acl_user(p.user);
  if (!seen.denied || seen.denied->empty()) {
    if (!seen.rights_untold.empty()) {
      return {verdict::untold, user, "what it may do could not be tried: " + seen.rights_untold};
    }
    return seen.denied ? judgement{verdict::good, user, "may do what the locks need"}
                       : judgement{verdict::untold, user, "the script that asks was not answered"};
  }
  std::string rules;
  for (const std::string& right : *seen.denied) {
    rules += " " + acl_rule(right, p.layout, p.prefix);
  }
  return {verdict::bad, user + " lacks" + rules, "grant it: ACL SETUSER " + acl_user(p.user) + rules};
}

judgement judge_quarantine(const quarantine_state& state, bool perhaps_unused) {
  if (!state.quarantined) {
    return {verdict::good, "none", "it gives out locks"};
  }
  if (perhaps_unused) {
    return {verdict::untold, "", printable(state.why)};
  }
  std::string value = "since when is not known";
  if (state.left) {
    value = shown_length(*state.left) + " left";
  } else if (state.version == hold_version{}) {
    value = shown_length(state.length) + " from when somebody asks for a lock";
  }
  return {verdict::warning, std::move(value),
          "no lock is given out until every lease from before is over: " + printable(state.why)};
}

finding as_finding(const purpose& p, std::string subject, judgement j) {
  return {p.node, std::move(subject), j.verdict, std::move(j.value), std::move(j.reason)};
}

using judge = judgement (*)(const purpose&, const evidence&);

struct subject {
  std::string_view name;
  judge look;
  bool told_at_open;  // as a warning, by what INFO says alone
};

constexpr subject subjects[] = {
    {"version", judge_version, false},  {"mode", judge_mode, false},
    {"role", judge_role, false},        {"eviction", judge_eviction, true},
    {"memory", judge_memory, true},     {"persistence", judge_persistence, true},
    {"replicas", judge_replicas, true}, {"clock", judge_clock, false},
    {"latency", judge_latency, false},  {"rights", judge_rights, false},
};

}  // namespace

purpose purpose_of(const node_settings& to) {
  purpose p{
      .node = to.node, .layout = to.layout, .user = to.user, .prefix = to.prefix, .max_ttl = to.max_ttl};
  p.ttl = std::min(p.ttl, p.max_ttl);
  p.voters = to.voters;
  p.sentinel = to.sentinels.has_value();
  return p;
}

std::vector<finding> diagnose(const purpose& p, const evidence& seen) {
  std::vector<finding> all;
  for (const subject& s : subjects) {
    all.push_back(as_finding(p, std::string(s.name), s.look(p, seen)));
  }
  if (seen.twin) {
    all.push_back(as_finding(p, "identity",
                             {verdict::bad, "the same server as " + *seen.twin,
                              "it would vote twice, so that no lock is given out; list each server once"}));
  }
  if (seen.quarantine) {
    all.push_back(as_finding(p, "quarantine", judge_quarantine(*seen.quarantine, seen.perhaps_unused)));
  }
  return all;
}

finding judge_layout(const purpose& p, const layout_evidence& seen) {
  if (!seen.shared.empty()) {
    constexpr std::size_t most_shown = 3;
    std::string names;
    std::size_t shown = 0;
    for (auto name = seen.shared.begin(); name != seen.shared.end() && shown < most_shown; ++name, ++shown) {
      names += (shown == 0 ? "'" : ", '") + printable(*name) + "'";
    }
    const std::size_t more = seen.shared.size() - shown;
    names += more > 0 ? " and " + std::to_string(more) + " more" : "";
    return as_finding(p, "layout", {verdict::warning, "record; other locks at " + names, seen.example});
  }
  if (seen.denied) {
    return as_finding(p, "layout",
                      {verdict::untold, "record",
                       "the ACL hides whether another program locks the same names; to see it: ACL SETUSER " +
                           acl_user(p.user) + " +type +pttl +getrange +hrandfield %R~*"});
  }
  return as_finding(p, "layout",
                    {verdict::good, "record",
                     seen.names == 0 ? "no lock is in use, so no name is shared with another program"
                                     : "names in use that were checked: " + std::to_string(seen.names) +
                                           "; none is also another program's lock"});
}

std::optional<error> fit_for_use(const purpose& p, const server_facts& facts) {
  const evidence seen{.facts = facts};
  for (const judge look : {judge_mode, judge_role, judge_version}) {
    if (const judgement j = look(p, seen); j.verdict == verdict::bad) {
      return error(errc::misconfigured, p.node + ": " + j.value + ": " + j.reason);
    }
  }
  if (facts.maxmemory_policy.starts_with("allkeys-")) {
    return error(errc::misconfigured, p.node + ": maxmemory-policy " + facts.maxmemory_policy + ": " +
                                          judge_eviction(p, seen).reason);
  }
  return std::nullopt;
}

std::vector<risk> warnings(const purpose& p, const server_facts& facts) {
  const evidence seen{.facts = facts};
  std::vector<risk> risks;
  for (const subject& s : subjects) {
    if (!s.told_at_open) {
      continue;
    }
    if (const judgement j = s.look(p, seen); j.verdict == verdict::warning || j.verdict == verdict::bad) {
      risks.push_back(
          {std::string(s.name), p.node + ": " + std::string(s.name) + " (" + j.value + "): " + j.reason});
    }
  }
  return risks;
}

}  // namespace cremone::redis
