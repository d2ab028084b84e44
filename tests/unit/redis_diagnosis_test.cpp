// SPDX-License-Identifier: Apache-2.0
//
// Checks the verdict on every subject, for both layouts: what is good, what may cost a lock, what is refused, and that
// what is not known is never called good.
#include "backends/redis/diagnosis.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>

namespace cremone::redis {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

using change = std::function<void(evidence&)>;

/// A server about which there is nothing to say.
evidence healthy() {
  evidence e;
  server_facts& f = e.facts;
  f.version = server_version{7, 0, 15};
  f.redis_mode = "standalone";
  f.role = server_role::master;
  f.connected_replicas = 0;
  f.maxmemory = 100U << 20U;
  f.used_memory = 10U << 20U;
  f.maxmemory_policy = "noeviction";
  f.evicted_keys = 0;
  f.aof_enabled = true;
  f.aof_last_write_ok = true;
  f.rdb_last_save_ok = true;
  f.config = {.appendfsync = "always",
              .no_appendfsync_on_rewrite = false,
              .save = "",
              .min_replicas_to_write = 0,
              .min_replicas_max_lag = 10s};
  e.clock = clock_offset{-1ms, 1ms};
  e.pings.assign(20, 200us);
  e.denied.emplace();
  return e;
}

purpose with(layout l) {
  purpose p;
  p.node = "db:6379";
  p.layout = l;
  p.user = "locks";
  return p;
}

finding look(const std::string& subject, layout l, const change& make) {
  evidence e = healthy();
  make(e);
  const auto all = diagnose(with(l), e);
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const finding& f) { return f.subject == subject; });
  if (found == all.end()) {
    ADD_FAILURE() << "no finding about " << subject;
    return {};
  }
  EXPECT_EQ(found->node, "db:6379");
  EXPECT_FALSE(found->reason.empty());
  return *found;
}

struct row {
  std::string what;
  std::string subject;
  change make;
  verdict on_record;
  verdict on_classic;
};

constexpr verdict good = verdict::good;
constexpr verdict untold = verdict::untold;
constexpr verdict warning = verdict::warning;
constexpr verdict bad = verdict::bad;

class RedisVerdict : public ::testing::TestWithParam<row> {};

TEST_P(RedisVerdict, IsAsTheTableSays) {
  const row& r = GetParam();
  EXPECT_EQ(look(r.subject, layout::record, r.make).verdict, r.on_record);
  EXPECT_EQ(look(r.subject, layout::classic, r.make).verdict, r.on_classic);
}

change policy(const std::string& name, std::uint64_t evicted = 0, std::uint64_t limit = 100U << 20U) {
  return [=](evidence& e) {
    e.facts.maxmemory_policy = name;
    e.facts.evicted_keys = evicted;
    e.facts.maxmemory = limit;
  };
}

change used(unsigned percent, const std::string& name = "noeviction") {
  return [=](evidence& e) {
    e.facts.maxmemory = 100'000'000;
    e.facts.used_memory = percent * 1'000'000ULL;
    e.facts.maxmemory_policy = name;
  };
}

change replicas(std::uint64_t there, std::optional<std::uint64_t> wanted, std::chrono::seconds lag = 10s) {
  return [=](evidence& e) {
    e.facts.connected_replicas = there;
    e.facts.config.min_replicas_to_write = wanted;
    e.facts.config.min_replicas_max_lag = lag;
  };
}

/// As INFO tells it to a user who may not ask for the configuration.
change replicas_by_info(std::uint64_t there, bool min_replicas_on) {
  return [=](evidence& e) {
    e.facts.connected_replicas = there;
    e.facts.config = {};
    e.facts.min_replicas_on = min_replicas_on;
  };
}

change fsync(const std::string& how, bool not_on_rewrite = false) {
  return [=](evidence& e) {
    e.facts.config.appendfsync = how;
    e.facts.config.no_appendfsync_on_rewrite = not_on_rewrite;
  };
}

change no_log(std::optional<std::string> save) {
  return [=](evidence& e) {
    e.facts.aof_enabled = false;
    e.facts.config.save = save;
  };
}

change failed_save(std::optional<std::string> save) {
  return [=](evidence& e) {
    e.facts.rdb_last_save_ok = false;
    e.facts.config.save = save;
  };
}

change clock_at(std::chrono::microseconds least, std::chrono::microseconds most) {
  return [=](evidence& e) { e.clock = clock_offset{least, most}; };
}

change slowest_ping(std::chrono::microseconds t) {
  return [=](evidence& e) { e.pings.back() = t; };
}

change version(std::uint32_t major, std::uint32_t minor) {
  return [=](evidence& e) { e.facts.version = server_version{major, minor, 0}; };
}

change no_config() {
  return [](evidence& e) {
    e.facts.config = {};
    e.config_told = false;
  };
}

void forget_all(evidence& e) {
  e = {};
  e.info_told = false;
  e.config_told = false;
}

void nothing(evidence& /*e*/) {}

const row rows[] = {
    {"Seven", "version", version(7, 0), good, good},
    {"SixTwo", "version", version(6, 2), bad, good},
    {"Five", "version", version(5, 0), bad, warning},
    {"Unknown", "version", forget_all, untold, untold},

    {"Standalone", "mode", nothing, good, good},
    {"Cluster", "mode", [](evidence& e) { e.facts.cluster = true; }, bad, bad},
    {"Sentinel", "mode", [](evidence& e) { e.facts.redis_mode = "sentinel"; }, bad, bad},
    {"Unknown", "mode", forget_all, untold, untold},

    {"Master", "role", nothing, good, good},
    {"Replica", "role", [](evidence& e) { e.facts.role = server_role::replica; }, bad, bad},
    {"Unknown", "role", forget_all, untold, untold},

    {"None", "eviction", policy("noeviction"), good, good},
    {"NoneNow", "eviction", policy("noeviction", 5), good, good},
    {"VolatileTtl", "eviction", policy("volatile-ttl"), warning, warning},
    {"VolatileAndAtIt", "eviction", policy("volatile-lru", 5), warning, bad},
    {"VolatileUnlimited", "eviction", policy("volatile-lru", 5, 0), warning, warning},
    {"AllKeys", "eviction", policy("allkeys-lru"), bad, bad},
    {"AllKeysUnlimited", "eviction", policy("allkeys-random", 0, 0), bad, bad},
    {"SomethingNew", "eviction", policy("everything"), bad, bad},
    {"Unknown", "eviction", forget_all, untold, untold},

    {"Room", "memory", used(50), good, good},
    {"NearlyFull", "memory", used(95), warning, warning},
    {"Full", "memory", used(101), bad, bad},
    {"FullAndEvicting", "memory", used(101, "volatile-ttl"), warning, warning},
    {"Unlimited", "memory", [](evidence& e) { e.facts.maxmemory = 0; }, good, good},
    {"Unknown", "memory", forget_all, untold, untold},

    {"Always", "persistence", fsync("always"), good, good},
    {"AlwaysButNotOnRewrite", "persistence", fsync("always", true), good, warning},
    {"Everysec", "persistence", fsync("everysec"), good, warning},
    {"Never", "persistence", fsync("no"), good, warning},
    {"Snapshots", "persistence", no_log("3600 1"), good, warning},
    {"None", "persistence", no_log(""), good, warning},
    {"NoLogRestUnknown", "persistence", no_log(std::nullopt), good, warning},
    {"FsyncUnknown", "persistence", no_config(), good, untold},
    {"LogFails", "persistence", [](evidence& e) { e.facts.aof_last_write_ok = false; }, bad, bad},
    {"SnapshotFails", "persistence", failed_save("3600 1"), bad, bad},
    {"SnapshotFailsMaybe", "persistence", failed_save(std::nullopt), bad, bad},
    {"SnapshotByHandFails", "persistence", failed_save(""), warning, warning},
    {"Unknown", "persistence", forget_all, untold, untold},

    {"None", "replicas", replicas(0, 0), good, good},
    {"NoneAndWanted", "replicas", replicas(0, 1), bad, bad},
    {"FewerThanWanted", "replicas", replicas(1, 2), bad, bad},
    {"WantedButSwitchedOff", "replicas", replicas(0, 1, 0s), good, good},
    {"NoneWanted", "replicas", replicas(1, 0), bad, bad},
    {"NotAllWanted", "replicas", replicas(2, 1), bad, bad},
    {"AllWanted", "replicas", replicas(2, 2), good, warning},
    {"AllWantedWithinLag", "replicas", replicas(2, 2, 29s), good, warning},
    {"AllWantedTooLate", "replicas", replicas(2, 2, 30s), warning, warning},
    {"AllWantedButSwitchedOff", "replicas", replicas(2, 2, 0s), bad, bad},
    {"WantedUnknown", "replicas", replicas(1, std::nullopt), untold, warning},
    {"NoneWantedByInfoAlone", "replicas", replicas_by_info(1, false), bad, bad},
    {"SomeWantedByInfoAlone", "replicas", replicas_by_info(1, true), untold, warning},
    {"Unknown", "replicas", forget_all, untold, untold},

    {"Near", "clock", clock_at(-400ms, 400ms), good, good},
    {"Ahead", "clock", clock_at(1001ms, 1002ms), warning, warning},
    {"Behind", "clock", clock_at(-1h, -59min), warning, warning},
    {"PerhapsAhead", "clock", clock_at(900ms, 1100ms), good, good},
    {"Blurred", "clock", clock_at(-2s, 2s), untold, untold},
    {"Unknown", "clock", forget_all, untold, untold},

    {"Fast", "latency", nothing, good, good},
    {"OneSlow", "latency", slowest_ping(300ms), warning, warning},
    {"OneTooSlow", "latency", slowest_ping(1100ms), bad, bad},
    {"OneLost", "latency", [](evidence& e) { e.unanswered = 1; }, bad, bad},
    {"Unknown", "latency", forget_all, untold, untold},

    {"Enough", "rights", nothing, good, good},
    {"Lacking", "rights", [](evidence& e) { e.denied = {"set"}; }, bad, bad},
    {"Unknown", "rights", forget_all, untold, untold},
};

INSTANTIATE_TEST_SUITE_P(Redis, RedisVerdict, ::testing::ValuesIn(rows),
                         [](const auto& i) { return i.param.subject + i.param.what; });

TEST(RedisDiagnosis, HasOneFindingPerSubjectInAFixedOrder) {
  std::vector<std::string> subjects;
  for (const finding& f : diagnose(with(layout::record), healthy())) {
    subjects.push_back(f.subject);
  }
  EXPECT_THAT(subjects, ElementsAre("version", "mode", "role", "eviction", "memory", "persistence",
                                    "replicas", "clock", "latency", "rights"));
}

TEST(RedisDiagnosis, OfWhatNobodyTellsIsNeverGood) {
  evidence e;
  forget_all(e);
  for (const layout l : {layout::record, layout::classic}) {
    for (const finding& f : diagnose(with(l), e)) {
      EXPECT_EQ(f.verdict, verdict::untold) << f.subject;
    }
  }
}

TEST(RedisDiagnosis, UnprotectedFailoverNamesTheSettingThatProtects) {
  const finding f = look("replicas", layout::record, replicas(2, 0));
  EXPECT_EQ(f.value, "2, min-replicas-to-write 0");
  EXPECT_THAT(f.reason,
              AllOf(HasSubstr("two masters"), HasSubstr("min-replicas-to-write to 2 (all replicas)")));
  EXPECT_EQ(look("replicas", layout::record, replicas(2, 2, 0s)).value, "2, min-replicas-max-lag 0");
  EXPECT_THAT(look("replicas", layout::record, replicas(2, 2, 30s)).reason,
              AllOf(HasSubstr("32 s more"), HasSubstr("at most 29 s")));
}

TEST(RedisDiagnosis, SentinelWithoutProtectionIsBadEvenWithoutReplicas) {
  purpose p = with(layout::record);
  p.sentinel = true;
  evidence e = healthy();
  const auto verdict_on_replicas = [&] { return diagnose(p, e)[6].verdict; };
  EXPECT_EQ(diagnose(p, e)[6].subject, "replicas");
  EXPECT_EQ(verdict_on_replicas(), bad) << "the replica may be the one that is cut off";
  replicas(1, 1)(e);
  EXPECT_EQ(verdict_on_replicas(), good);
}

/// INFO and CONFIG are not answered, for this reason.
change refused(bool by_acl, const std::string& why) {
  return [=](evidence& e) {
    forget_all(e);
    e.facts.aof_enabled = true;
    for (const char* command : {"INFO", "CONFIG", "TIME", "PING"}) {
      e.refused[command] = {by_acl, why};
    }
  };
}

TEST(RedisDiagnosis, SaysWhatItTakesToBeTold) {
  const change denied = refused(true, "db:6379: NOPERM");
  EXPECT_THAT(look("role", layout::record, denied).reason, HasSubstr("ACL SETUSER locks +info"));
  EXPECT_THAT(look("persistence", layout::classic, denied).reason,
              HasSubstr("ACL SETUSER locks +config|get"));
  EXPECT_THAT(look("clock", layout::record, denied).reason, HasSubstr("ACL SETUSER locks +time"));
  EXPECT_THAT(look("latency", layout::record, denied).reason, HasSubstr("ACL SETUSER locks +ping"));
  const change silent = [](evidence& e) { e.facts.role = server_role::untold; };
  EXPECT_THAT(look("role", layout::record, silent).reason, HasSubstr("does not say"));
}

TEST(RedisDiagnosis, BlamesTheRightsForNothingElse) {
  const change other = refused(false, "db:6379: it is still loading its data");
  for (const char* subject : {"role", "persistence", "clock", "latency"}) {
    EXPECT_THAT(look(subject, layout::classic, other).reason,
                AllOf(HasSubstr("still loading"), Not(HasSubstr("ACL"))));
    EXPECT_THAT(look(subject, layout::classic, forget_all).reason, Not(HasSubstr("ACL"))) << "nobody knows";
  }
  const change untried = [](evidence& e) { e.rights_untold = "db:6379: it is still loading its data"; };
  EXPECT_EQ(look("rights", layout::classic, untried).verdict, verdict::untold);
  EXPECT_THAT(look("rights", layout::classic, untried).reason, HasSubstr("still loading"));
}

TEST(RedisDiagnosis, SaysHowToMendTheRights) {
  const change lacking = [](evidence& e) { e.denied = {"set", "del"}; };
  const finding f = look("rights", layout::classic, lacking);
  EXPECT_EQ(f.value, "user locks lacks +set +del");
  EXPECT_THAT(f.reason, HasSubstr("ACL SETUSER locks +set +del"));
  const change shut_out = [](evidence& e) { e.denied = {"~", "&", "scan"}; };
  EXPECT_THAT(look("rights", layout::record, shut_out).reason,
              HasSubstr("ACL SETUSER locks ~cremone:* &cremone:wake:* +scan"));
}

TEST(RedisDiagnosis, TellsOfAQuarantineAsMuchAsIsKnown) {
  evidence e = healthy();
  const auto judged = [&] { return diagnose(with(layout::record), e).back(); };
  e.quarantine =
      quarantine_state{.node = "db:6379", .quarantined = true, .why = "it restarted", .length = 61s};
  EXPECT_EQ(judged().value, "61 s from when somebody asks for a lock");
  e.quarantine->left = 41s;
  EXPECT_EQ(judged().value, "41 s left");
  EXPECT_EQ(judged().verdict, verdict::warning);
  e.perhaps_unused = true;
  EXPECT_EQ(judged().verdict, verdict::untold) << "a server that is new gives out locks at once";
  e.quarantine->quarantined = false;
  EXPECT_EQ(judged().verdict, verdict::good);
}

TEST(RedisDiagnosis, SaysHowLongARestartCosts) {
  purpose p = with(layout::record);
  p.max_ttl = 5s;
  evidence e = healthy();
  no_log("")(e);
  const auto all = diagnose(p, e);
  EXPECT_THAT(all[5].reason, HasSubstr("for 6.0 s")) << "and a second for what is still on its way";
}

TEST(RedisDiagnosis, SaysHowMuchAPowerCutCostsAClassicLog) {
  EXPECT_THAT(look("persistence", layout::classic, fsync("everysec")).reason, HasSubstr("last second"));
  const finding kernel = look("persistence", layout::classic, fsync("no"));
  EXPECT_EQ(kernel.verdict, verdict::warning);
  EXPECT_THAT(kernel.reason, AllOf(HasSubstr("half a minute"), Not(HasSubstr("last second"))));
}

TEST(RedisDiagnosis, ShowsFiguresForPeople) {
  EXPECT_EQ(look("memory", layout::record, nothing).value, "10 MiB of 100 MiB");
  EXPECT_EQ(look("latency", layout::record, slowest_ping(12'340us)).value, "median 200 µs, p99 12 ms of 20");
  EXPECT_EQ(look("clock", layout::record, clock_at(-3s, -2'998ms)).value, "3.0 s behind ours (± 1.0 ms)");
  EXPECT_EQ(look("clock", layout::record, clock_at(-1ms, 3ms)).value, "as ours (± 2.0 ms)");
  EXPECT_EQ(look("eviction", layout::record, policy("volatile-ttl", 7)).value,
            "volatile-ttl, 7 evicted so far");
}

TEST(RedisDiagnosis, ShowsNoControlCharacterOfAUserOrServer) {
  purpose p = with(layout::classic);
  p.user = "a\x1b[2J";
  evidence e = healthy();
  e.denied = {"s\x1bt"};
  for (const finding& f : diagnose(p, e)) {
    EXPECT_EQ((f.value + f.reason).find('\x1b'), std::string::npos) << f.subject;
  }
}

TEST(RedisDiagnosis, OfShortLeasesWantsAFastServer) {
  purpose p = with(layout::record);
  p.ttl = 300ms;
  evidence e = healthy();
  e.pings.back() = 20ms;
  EXPECT_EQ(diagnose(p, e)[8].verdict, verdict::warning);
  e.pings.back() = 110ms;
  EXPECT_EQ(diagnose(p, e)[8].verdict, verdict::bad);
}

TEST(RedisDiagnosis, TellsAQuarantine) {
  const auto told = [](const quarantine_state& q) {
    evidence e = healthy();
    e.quarantine = q;
    return diagnose(with(layout::record), e).back();
  };
  EXPECT_EQ(told({.node = "", .quarantined = false, .why = ""}).verdict, verdict::good);
  const finding f = told({.node = "", .quarantined = true, .why = "it restarted", .left = 41s});
  EXPECT_EQ(f.subject, "quarantine");
  EXPECT_EQ(f.verdict, verdict::warning);
  EXPECT_EQ(f.value, "41 s left");
  EXPECT_THAT(f.reason, HasSubstr("it restarted"));
  EXPECT_EQ(told({.node = "", .quarantined = true, .why = "it restarted"}).verdict, verdict::warning);
}

struct refusal_row {
  std::string what;
  change make;
  bool on_record;
  bool on_classic;
};

TEST(RedisFitness, RefusesWhatCannotBeSafe) {
  const refusal_row table[] = {
      {"healthy", nothing, false, false},
      {"allkeys", policy("allkeys-lfu"), true, true},
      {"volatile", policy("volatile-lru", 5), false, false},
      {"unknown policy", policy("everything"), false, false},
      {"cluster", [](evidence& e) { e.facts.cluster = true; }, true, true},
      {"sentinel", [](evidence& e) { e.facts.redis_mode = "sentinel"; }, true, true},
      {"replica", [](evidence& e) { e.facts.role = server_role::replica; }, true, true},
      {"6.2", version(6, 2), true, false},
      {"untold", forget_all, false, false},
  };
  for (const refusal_row& r : table) {
    evidence e = healthy();
    r.make(e);
    for (const layout l : {layout::record, layout::classic}) {
      const auto why = fit_for_use(with(l), e.facts);
      EXPECT_EQ(why.has_value(), l == layout::record ? r.on_record : r.on_classic) << r.what;
      if (why) {
        EXPECT_EQ(why->code(), errc::misconfigured);
        EXPECT_THAT(why->detail(), HasSubstr("db:6379"));
      }
    }
  }
}

std::vector<std::string> told(layout l, const server_facts& facts) {
  std::vector<std::string> lines;
  for (const risk& r : warnings(with(l), facts)) {
    lines.push_back(r.text);
  }
  return lines;
}

TEST(RedisFitness, WarnsOfWhatMayCostLocks) {
  EXPECT_THAT(told(layout::record, healthy().facts), IsEmpty());
  evidence e = healthy();
  policy("volatile-ttl")(e);
  fsync("everysec")(e);
  replicas(2, 1)(e);
  EXPECT_THAT(told(layout::record, e.facts),
              ElementsAre(AllOf(HasSubstr("db:6379"), HasSubstr("volatile-ttl")), HasSubstr("replicas")));
  EXPECT_THAT(told(layout::classic, e.facts),
              ElementsAre(HasSubstr("volatile-ttl"), HasSubstr("everysec"), HasSubstr("replicas")));
  EXPECT_THAT(told(layout::classic, {}), IsEmpty()) << "what is not told is no reason to warn";
  EXPECT_FALSE(fit_for_use(with(layout::record), e.facts)) << "an unprotected failover refuses no client";
}

TEST(RedisPurpose, IsOfTheSettings) {
  node_settings to;
  to.node = "db:6379";
  to.layout = layout::classic;
  to.user = "ann";
  to.max_ttl = 2s;
  const purpose p = purpose_of(to);
  EXPECT_EQ(p.node, "db:6379");
  EXPECT_EQ(p.layout, layout::classic);
  EXPECT_EQ(p.user, "ann");
  EXPECT_EQ(p.ttl, 2s) << "no lease there is longer";
  EXPECT_FALSE(p.sentinel);
  to.sentinels.emplace();
  EXPECT_TRUE(purpose_of(to).sentinel);
}

TEST(RedisDiagnosis, OfOneOfSeveralKnowsWhereTokensGoOnAndThatNoneVotesTwice) {
  purpose p = with(layout::record);
  evidence e = healthy();
  e.facts.aof_enabled = false;
  const auto reasons = [&] {
    std::string all;
    for (const finding& f : diagnose(p, e)) {
      all += f.subject + " " + std::string(to_string(f.verdict)) + ": " + f.value + ": " + f.reason + "\n";
    }
    return all;
  };
  EXPECT_THAT(reasons(), HasSubstr("go on from its clock"));
  p.voters = 5;
  EXPECT_THAT(reasons(), AllOf(HasSubstr("a majority of the others"), Not(HasSubstr("go on from its clock")),
                               Not(HasSubstr("identity"))));
  e.twin = "localhost:6379";
  EXPECT_THAT(reasons(), HasSubstr("identity bad: the same server as localhost:6379: "));
}

}  // namespace
}  // namespace cremone::redis
