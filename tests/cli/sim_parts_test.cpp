// SPDX-License-Identifier: Apache-2.0
//
// `sim`: its words, and what it prints of a swarm that never was.
#include "cli/sim_json.hpp"
#include "cli/sim_options.hpp"
#include "cli/sim_text.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace cremone::cli {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;
using sim::fault;
using sim::store_kind;
using sim::violation_kind;
using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

const palette marks{"<strong>", "<good>", "<bad>", "<dim>", "<plain>", "<warning>"};

template <class Counts, class Kind>
auto& of(Counts& counts, Kind kind) {
  return counts[static_cast<std::size_t>(kind)];
}

sim::schedule_options classic_with_jumps() {
  sim::schedule_options what;
  what.store = store_kind::classic;
  what.faults = sim::fault_set::none().add(fault::jump);
  what.clients = 3;
  return what;
}

sim::schedule_result failed_schedule(std::uint64_t seed) {
  sim::schedule_result one;
  one.seed = seed;
  one.mix = "3 clients, ttl 500ms, jump";
  one.length = 61'500ms;
  one.steps = 12'345;
  one.acquisitions = 60;
  of(one.faults, fault::jump) = 2;
  one.expected[static_cast<std::size_t>(violation_kind::token)] = 1;
  one.unexpected[static_cast<std::size_t>(violation_kind::exclusion)] = 1;
  one.unexpected[static_cast<std::size_t>(violation_kind::token)] = 1;
  one.violations = {{violation_kind::token, "token 3 after 9", 11s, "a reason"},
                    {violation_kind::exclusion, "'a': c1 and c2", 12'001'234us, ""},
                    {violation_kind::token, "token 7 twice", 12'002ms, ""}};
  return one;
}

swarm_report quiet_swarm() {
  swarm_report r;
  r.order.first = 1;
  r.order.last = 2000;
  r.order.jobs = 4;
  r.cores = 2;
  r.took = 4s;
  r.totals.schedules = 2000;
  r.totals.virtual_time = 150h;
  r.totals.steps = 1'234'567;
  r.totals.acquisitions = 100'000;
  r.totals.losses = 77;
  r.totals.evictions = 66;
  r.totals.quarantines = 55;
  r.totals.writes = 9000;
  r.totals.refused_writes = 44;
  r.totals.lost_without_fence = 33;
  of(r.totals.faults, fault::delay) = 11'000;
  of(r.totals.faults, fault::flush) = 7;
  return r;
}

swarm_report failed_swarm() {
  swarm_report r = quiet_swarm();
  r.order.what = classic_with_jumps();
  r.totals.failed_schedules = 12;
  r.totals.failures = {failed_schedule(4711), failed_schedule(4713)};
  of(r.totals.unexpected, violation_kind::exclusion) = 12;
  of(r.totals.unexpected, violation_kind::token) = 1200;
  return r;
}

// ---- words

TEST(SimOptions, SeedsAreARangeOrANumber) {
  EXPECT_EQ(*parse_seeds("100"), (seed_range{1, 100}));
  EXPECT_EQ(*parse_seeds("5..9"), (seed_range{5, 9}));
  EXPECT_EQ(*parse_seeds("7..7"), (seed_range{7, 7}));
  EXPECT_EQ(*parse_seeds("0..9223372036854775808"), (seed_range{0, std::uint64_t{1} << 63U}));
}

TEST(SimOptions, SeedsThatAreNoneAreRefusedWithTheirText) {
  for (const std::string text : {"", "x", "0", "-1", "5..3", "..", "1..", "..5", "1...5", "1..2..3", "1.5",
                                 "9223372036854775809", "1..9223372036854775809", " 1", "1,2"}) {
    const auto parsed = parse_seeds(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_EQ(parsed.error().code(), errc::invalid_argument);
    EXPECT_THAT(parsed.error().detail(), HasSubstr("'" + text + "'"));
  }
}

TEST(SimOptions, AWrongLayoutGetsASuggestion) {
  for (const store_kind kind : {store_kind::record, store_kind::classic, store_kind::memory}) {
    EXPECT_EQ(*parse_layout(name_of(kind)), kind);
  }
  EXPECT_THAT(parse_layout("clasic").error().detail(), HasSubstr("did you mean classic?"));
  EXPECT_THAT(parse_layout("").error().detail(), HasSubstr("record, classic and memory"));
}

TEST(SimOptions, NumbersHaveBounds) {
  EXPECT_EQ(*parse_number("--jobs", "1", 8), 1);
  EXPECT_EQ(*parse_number("--jobs", "8", 8), 8);
  for (const auto* const text : {"", "0", "9", "-1", "1.0", "two"}) {
    const auto parsed = parse_number("--jobs", text, 8);
    ASSERT_FALSE(parsed) << text;
    EXPECT_THAT(parsed.error().detail(), AllOf(StartsWith("--jobs: '"), EndsWith("from 1 to 8")));
  }
}

TEST(SimOptions, AReplaySaysWhatIsNotSoByDefault) {
  EXPECT_EQ(replay_command(42, {}), "cremone sim replay 42");
  EXPECT_EQ(replay_command(4711, classic_with_jumps()),
            "cremone sim replay 4711 --layout classic --faults jump --clients 3");
  sim::schedule_options all;
  all.store = store_kind::memory;
  all.faults = sim::fault_set::none();
  all.every_fault = true;
  all.acquisitions = 5;
  EXPECT_EQ(replay_command(0, all),
            "cremone sim replay 0 --layout memory --faults none --every-fault --acquisitions 5");
}

TEST(SimOptions, TheHelpNamesEveryFault) {
  const std::string help = with_faults("  cremone sim");
  EXPECT_THAT(help, StartsWith("  cremone sim\n\nFaults:\n  "));
  for (std::size_t i = 0; i < sim::fault_count; ++i) {
    EXPECT_THAT(help, HasSubstr("\n  " + std::string(name_of(static_cast<fault>(i))) + " "));
  }
}

// ---- progress

TEST(SimProgress, SaysHowFarHowFastAndHowLong) {
  EXPECT_EQ(progress_line({1200, 10'000, 0}, 4s, 80, {}),
            "1200 of 10000 schedules, 12 %, 300/s, 29s left, 0 failed");
  EXPECT_EQ(progress_line({1200, 10'000, 2}, 4s, 80, marks),
            "1200 of 10000 schedules, 12 %, 300/s, 29s left, <bad>2 failed<plain>");
}

TEST(SimProgress, KnowsNoRateBeforeTheFirstIsDone) {
  EXPECT_EQ(progress_line({0, 10, 0}, 4s, 80, {}), "0 of 10 schedules, 0 %, 0 failed");
  EXPECT_EQ(progress_line({0, 10, 0}, 0s, 80, {}), "0 of 10 schedules, 0 %, 0 failed");
}

TEST(SimProgress, OfAnEternityIsInYears) {
  EXPECT_THAT(progress_line({10, std::uint64_t{1} << 63U, 0}, 1s, 80, {}), HasSubstr(", years left"));
}

TEST(SimProgress, EstimateIsForAllSchedules) {
  EXPECT_THAT(duration_line({300, 10'000, 0}, 1s), StartsWith("10000 schedules take about 33s here"));
  EXPECT_THAT(duration_line({1, std::uint64_t{1} << 63U, 0}, 1s), HasSubstr("about years"));
}

TEST(SimProgress, IsNeverWiderThanTheTerminal) {
  for (std::size_t columns = 1; columns < 80; ++columns) {
    EXPECT_LE(width(progress_line({1200, 10'000, 2}, 4s, columns, {})), columns);
  }
  EXPECT_THAT(progress_line({1200, 10'000, 2}, 4s, 30, marks), Not(HasSubstr("<")));
}

// ---- the table

TEST(SimTable, HasTheFigures) {
  EXPECT_THAT(swarm_text(quiet_swarm(), {}),
              StartsWith("schedules         2,000  --seeds 1..2000\n"
                         "virtual time        150  hours\n"
                         "real time          4.00  seconds\n"
                         "rate                500  per second, 250 per second and core\n"
                         "steps         1,234,567\n"
                         "acquisitions    100,000\n"
                         "leases lost          77\n"
                         "takeovers            66  silent holders removed\n"
                         "quarantines          55  lives of a node that began with doubt\n"
                         "\nFAULTS\n"));
}

TEST(SimTable, HasOnlyTheFaultsThatStruck) {
  const std::string text = swarm_text(quiet_swarm(), {});
  EXPECT_THAT(text, HasSubstr("\nFAULTS\ndelay  11,000  " + std::string(describe(fault::delay)) +
                              "\nflush       7  " + std::string(describe(fault::flush)) + "\n\n"));
  swarm_report none = quiet_swarm();
  none.totals.faults = {};
  EXPECT_THAT(swarm_text(none, {}), HasSubstr("\nFAULTS\nnone\n\n"));
}

TEST(SimTable, CountsWrites) {
  EXPECT_THAT(swarm_text(quiet_swarm(), {}),
              AllOf(HasSubstr("accepted              9,000\n"), HasSubstr("refused as stale         44  "),
                    HasSubstr("lost without a fence     33  ")));
}

TEST(SimTable, OfASwarmWithoutViolationsIsGreen) {
  const std::string text = swarm_text(quiet_swarm(), marks);
  EXPECT_THAT(text, HasSubstr("exclusion   <good>         0<plain>         0\n"));
  EXPECT_THAT(text, EndsWith("\n<good>No unexpected violation in 2,000 schedules.<plain>\n"));
  EXPECT_THAT(text, AllOf(Not(HasSubstr("<bad>")), Not(HasSubstr("Expected")), Not(HasSubstr("replay"))));
}

TEST(SimTable, ExplainsWhatIsExpected) {
  swarm_report r = quiet_swarm();
  of(r.totals.expected, violation_kind::token) = 5;
  r.totals.schedules_beyond = 9;
  r.totals.schedules_with_expected = 4;
  r.totals.first_expected = failed_schedule(168);
  r.totals.first_expected->beyond = "memory loss and a clock set back";
  const std::string text = swarm_text(r, {});
  EXPECT_THAT(text, HasSubstr("token                0         5\n"));
  EXPECT_THAT(
      text,
      HasSubstr("Expected: in 9 schedules more went wrong than is promised for (memory loss and a clock "
                "set back), and in 4 of them it showed, first with seed 168.\n"));
  EXPECT_THAT(text, EndsWith("No unexpected violation in 2,000 schedules.\n"));
}

TEST(SimTable, ShowsFailuresWithTheCommandThatReplaysThem) {
  const std::string text = swarm_text(failed_swarm(), {});
  EXPECT_THAT(text, HasSubstr("\nseed 4711\n"
                              "  mix     3 clients, ttl 500ms, jump\n"
                              "  at      12.001234 s  exclusion: 'a': c1 and c2\n"
                              "  at      12.002000 s  token: token 7 twice\n"
                              "  replay  cremone sim replay 4711 --layout classic --faults jump --clients 3\n"
                              "\nseed 4713\n"));
  EXPECT_THAT(text, EndsWith("\nand 10 more schedules that failed\n\n12 of 2,000 schedules failed.\n"));
  EXPECT_THAT(swarm_text(failed_swarm(), marks), HasSubstr("token       <bad>     1,200<plain>         0\n"));
}

TEST(SimTable, ShowsTheFirstOfManyViolations) {
  swarm_report r = failed_swarm();
  r.totals.failures[0].violations.resize(1);
  for (int i = 0; i < 5; ++i) {
    r.totals.failures[0].violations.push_back({violation_kind::order, "number " + std::to_string(i), 1s, ""});
  }
  EXPECT_THAT(swarm_text(r, {}), HasSubstr("number 2\n          and 2 more\n  replay"));
}

TEST(SimTable, SaysThatTheFailuresOfClassicAreItsOwnAndStillFailures) {
  const std::string sentence =
      "The layout classic is the published algorithm, which allows such violations. They count as failures "
      "all the "
      "same.\n";
  EXPECT_THAT(swarm_text(failed_swarm(), {}), HasSubstr(sentence));
  swarm_report record = failed_swarm();
  record.order.what.store = store_kind::record;
  EXPECT_THAT(swarm_text(record, {}), Not(HasSubstr(sentence)));
  swarm_report fine = quiet_swarm();
  fine.order.what.store = store_kind::classic;
  EXPECT_THAT(swarm_text(fine, {}), Not(HasSubstr(sentence)));
}

TEST(SimTable, SaysFirstOfAllThatItEndedEarly) {
  swarm_report r = quiet_swarm();
  r.totals.schedules = 1500;
  r.totals.stopped = true;
  EXPECT_THAT(swarm_text(r, {}),
              StartsWith("ended at the first schedule that failed: 1,500 of 2,000 schedules were run\n\n"));
  r.interrupted_by = "SIGINT";
  EXPECT_THAT(swarm_text(r, {}), StartsWith("ended early, by SIGINT: 1,500 of 2,000 schedules were run\n\n"));
}

TEST(SimTable, OfNothingIsATable) {
  EXPECT_THAT(swarm_text({}, {}),
              AllOf(HasSubstr("schedules"), HasSubstr("rate          0.00  per second, 0.00 per")));
}

TEST(SimTable, ShowsNoControlCharacter) {
  swarm_report r = failed_swarm();
  r.totals.failures[0].mix = "\x1b[2J";
  r.totals.failures[0].violations[1].what = "\x1b[2J\n";
  EXPECT_EQ(swarm_text(r, {}).find('\x1b'), std::string::npos);
  EXPECT_EQ(replay_text(r.totals.failures[0], {}, {}).find('\x1b'), std::string::npos);
}

// ---- a replay

TEST(SimReplay, ColoursFaultsAndViolations) {
  EXPECT_EQ(trace_line("1.5 s  c1 asks", marks), "1.5 s  c1 asks\n");
  EXPECT_EQ(trace_line("1.5 s  FAULT jump", marks), "<warning>1.5 s  FAULT jump<plain>\n");
  EXPECT_EQ(trace_line("VIOLATION after FAULT", marks), "<bad>VIOLATION after FAULT<plain>\n");
  EXPECT_EQ(trace_line("VIOLATION", {}), "VIOLATION\n");
}

TEST(SimReplay, SumsUpOneSchedule) {
  const std::string text = replay_text(failed_schedule(4711), classic_with_jumps(), {});
  EXPECT_THAT(text, StartsWith("cremone sim replay 4711 --layout classic --faults jump --clients 3\n"
                               "3 clients, ttl 500ms, jump\n\n"
                               "virtual time  61.500  seconds\n"
                               "steps         12,345\n"
                               "acquisitions      60\n"));
  EXPECT_THAT(text, HasSubstr("\nVIOLATIONS\n"
                              "11.000000 s  token (expected): token 3 after 9\n"
                              "12.001234 s  exclusion: 'a': c1 and c2\n"
                              "12.002000 s  token: token 7 twice\n"));
  EXPECT_THAT(text, AllOf(HasSubstr("count as failures all the same"), EndsWith("This schedule failed.\n")));
}

TEST(SimReplay, DistinguishesNoViolationFromExpectedOnes) {
  sim::schedule_result one = failed_schedule(1);
  one.violations.resize(1);
  one.unexpected = {};
  one.beyond = "clock rates without bound";
  EXPECT_THAT(
      replay_text(one, {}, {}),
      EndsWith(
          "More went wrong than is promised for: clock rates without bound. A violation that comes of it is "
          "expected.\nNone that is unexpected.\n"));
  one.violations.clear();
  one.expected = {};
  one.beyond.clear();
  EXPECT_THAT(replay_text(one, {}, {}), EndsWith("\nVIOLATIONS\nNone.\n"));
}

// ---- JSON

TEST(SimJson, HasEveryKey) {
  const auto j = nlohmann::ordered_json::parse(swarm_json(quiet_swarm()));
  std::vector<std::string> keys;
  for (const auto& [key, value] : j.items()) {
    keys.push_back(key);
  }
  EXPECT_THAT(keys,
              ::testing::ElementsAre(
                  "order", "schedules", "failed_schedules", "stopped", "interrupted_by", "virtual_time_s",
                  "real_time_s", "schedules_per_s", "schedules_per_s_and_core", "steps", "acquisitions",
                  "losses", "takeovers", "quarantines", "faults", "writes", "violations", "schedules_beyond",
                  "schedules_with_expected", "first_violation_seed", "first_expected", "failures"));
  EXPECT_EQ(j["schedules"], 2000);
  EXPECT_EQ(j["virtual_time_s"], 540'000);
  EXPECT_EQ(j["schedules_per_s"], 500);
  EXPECT_EQ(j["schedules_per_s_and_core"], 250);
  EXPECT_EQ(j["faults"].size(), sim::fault_count);
  EXPECT_EQ(j["faults"]["delay"], 11'000);
  EXPECT_EQ(j["writes"].dump(), R"({"accepted":9000,"refused_as_stale":44,"lost_without_fence":33})");
  EXPECT_EQ(j["violations"]["unexpected"].size(), sim::violation_kind_count);
  EXPECT_TRUE(j["failures"].is_array() && j["failures"].empty());
  for (const auto* const key : {"interrupted_by", "first_violation_seed", "first_expected"}) {
    EXPECT_TRUE(j[key].is_null()) << key;
  }
}

TEST(SimJson, RepeatsTheOrder) {
  const json order = json::parse(swarm_json(failed_swarm()))["order"];
  EXPECT_EQ(order, json({{"seeds", {{"first", 1}, {"last", 2000}}},
                         {"layout", "classic"},
                         {"faults", {"jump"}},
                         {"every_fault", false},
                         {"clients", 3},
                         {"acquisitions", nullptr},
                         {"jobs", 4},
                         {"stop_at_first", false}}));
}

TEST(SimJson, TellsFailuresAndTheFirstOfThem) {
  swarm_report r = failed_swarm();
  r.interrupted_by = "SIGINT";
  r.totals.first_expected = failed_schedule(99);
  r.totals.first_expected->beyond = "clock rates without bound";
  const json j = json::parse(swarm_json(r));
  EXPECT_EQ(j["first_violation_seed"], 4711);
  EXPECT_EQ(j["interrupted_by"], "SIGINT");
  EXPECT_EQ(j["violations"]["unexpected"]["token"], 1200);
  EXPECT_EQ(j["first_expected"]["seed"], 99);
  EXPECT_EQ(j["first_expected"]["beyond"], "clock rates without bound");
  ASSERT_EQ(j["failures"].size(), 2U);
  const json first = j["failures"][0];
  EXPECT_EQ(first["seed"], 4711);
  EXPECT_EQ(first["mix"], "3 clients, ttl 500ms, jump");
  EXPECT_EQ(first["replay"], "cremone sim replay 4711 --layout classic --faults jump --clients 3");
  EXPECT_EQ(
      first["violations"][1],
      json({{"kind", "exclusion"}, {"what", "'a': c1 and c2"}, {"at_s", 12.001234}, {"expected", false}}));
}

TEST(SimJson, OfAnythingIsJson) {
  swarm_report r = failed_swarm();
  r.totals.failures[0].violations[0].what = "\xff\"\n";
  EXPECT_FALSE(json::parse(swarm_json(r), nullptr, false).is_discarded());
  EXPECT_FALSE(json::parse(swarm_json({}), nullptr, false).is_discarded());
}

}  // namespace
}  // namespace cremone::cli
