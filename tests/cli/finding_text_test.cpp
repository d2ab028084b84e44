// SPDX-License-Identifier: Apache-2.0
//
// What `doctor` and `quarantine` print: tables that fit the terminal, lines and JSON for programs, and the sum of it all.
#include "cli/finding_text.hpp"

#include "cli/record_json.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <sstream>

namespace cremone::cli {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

finding about(const std::string& subject, verdict v, const std::string& value = "as found",
              const std::string& reason = "for a reason") {
  return {"db:6379", subject, v, value, reason};
}

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) {
    lines.push_back(line);
  }
  return lines;
}

const std::vector<finding> mixed = {
    about("version", verdict::good, "7.0.15", "new enough"),
    about("eviction", verdict::warning, "volatile-ttl",
          "locks have an expiry, so that one that is held goes when memory is full, and the next gets it"),
    about("role", verdict::bad, "replica", "it takes no writes; name its master"),
    about("memory", verdict::untold, "", "INFO was not answered")};

TEST(Wrapping, BreaksAtBlanksAndWithinWordsThatAreTooLong) {
  EXPECT_THAT(wrapped("one two three", 7), ElementsAre("one two", "three"));
  EXPECT_THAT(wrapped("one two three", 100), ElementsAre("one two three"));
  EXPECT_THAT(wrapped("one two three", 4), ElementsAre("one", "two", "thre", "e"));
  EXPECT_THAT(wrapped("", 5), ElementsAre(""));
  EXPECT_THAT(wrapped("abcdef", 3), ElementsAre("abc", "def"));
  EXPECT_THAT(wrapped("µµµµ µµ", 4), ElementsAre("µµµµ", "µµ"));
  EXPECT_THAT(wrapped("abc", 0), ElementsAre("a", "b", "c"));
}

TEST(Wrapping, LosesNothing) {
  const std::string text = "a rather long sentence, with words of several lengths, and ends in a full stop.";
  for (std::size_t columns = 1; columns < 90; ++columns) {
    std::string joined;
    for (const std::string& line : wrapped(text, columns)) {
      EXPECT_LE(width(line), columns);
      joined += line;
    }
    std::string without_blanks = text;
    std::erase(without_blanks, ' ');
    std::erase(joined, ' ');
    EXPECT_EQ(joined, without_blanks) << columns;
  }
}

TEST(Overall, IsTheWorst) {
  EXPECT_EQ(overall({}), verdict::good);
  EXPECT_EQ(overall({about("a", verdict::good), about("b", verdict::untold)}), verdict::untold);
  EXPECT_EQ(overall({about("a", verdict::warning), about("b", verdict::untold)}), verdict::warning);
  EXPECT_EQ(overall(mixed), verdict::bad);
}

TEST(Summary, SaysWhatItAmountsTo) {
  EXPECT_EQ(summary({about("a", verdict::good)}), "A good place for locks.");
  EXPECT_EQ(summary({about("a", verdict::warning), about("b", verdict::good)}),
            "Locks work here, with 1 warning.");
  EXPECT_EQ(summary({about("quarantine", verdict::warning), about("b", verdict::good)}),
            "No lock is given out here until the quarantine is over.");
  EXPECT_EQ(summary({about("quarantine", verdict::warning), about("b", verdict::warning)}),
            "No lock is given out here until the quarantine is over; there is more to be warned of.");
  EXPECT_EQ(summary({about("quarantine", verdict::good), about("b", verdict::warning)}),
            "Locks work here, with 1 warning.");
  EXPECT_EQ(summary({about("a", verdict::untold), about("b", verdict::good)}),
            "Nothing is wrong as far as can be told; 1 of 2 could not be found out.");
  EXPECT_EQ(summary(mixed),
            "1 of 4 is bad: locks here are not safe, or do not work; 1 of 4 could not be found out.");
}

TEST(Summary, OfSeveralServersCountsThoseThatGiveOutLocks) {
  std::vector<finding> all = {about("quarantine", verdict::warning), about("role", verdict::good),
                              about("connection", verdict::warning)};
  all[1].node = "b:1";
  all[2].node = "c:1";
  EXPECT_EQ(summary(all),
            "No lock is given out here until the quarantine is over; there is more to be warned of.");
  all[2].subject = "role";
  EXPECT_EQ(summary(all), "Locks work here, with 2 warnings.");
}

TEST(FindingsTable, FitsTheTerminal) {
  for (const std::size_t columns : {20U, 40U, 60U, 80U, 100U, 200U}) {
    const auto lines = lines_of(findings_table(mixed, "redis://db", columns, {}));
    for (std::size_t i = 0; i + 1 < lines.size();
         ++i) {  // the last is the summary, which the terminal may break
      EXPECT_LE(width(lines[i]), columns) << lines[i];
    }
  }
}

TEST(FindingsTable, HasAColumnForEachPart) {
  const auto lines = lines_of(findings_table(mixed, "redis://db", 80, {}));
  ASSERT_GE(lines.size(), 8U);
  EXPECT_EQ(lines[0], "redis://db");
  EXPECT_EQ(lines[2], "VERDICT  SUBJECT   FOUND         WHY");
  EXPECT_EQ(lines[3], "good     version   7.0.15        new enough");
  EXPECT_EQ(lines[4], "warning  eviction  volatile-ttl  locks have an expiry, so that one that is held");
  EXPECT_EQ(lines[5], "                                 goes when memory is full, and the next gets it");
}

TEST(FindingsTable, ColoursVerdictsAndNothingThatWraps) {
  const palette colours{"<strong>", "<good>", "<bad>", "<dim>", "<plain>", "<warning>"};
  const std::string text = findings_table(mixed, "redis://db", 100, colours);
  EXPECT_THAT(
      text, AllOf(HasSubstr("<good>good   <plain>  version"), HasSubstr("<warning>warning<plain>  eviction"),
                  HasSubstr("<bad>bad    <plain>  role"), HasSubstr("<dim>untold <plain>  memory")));
  EXPECT_THAT(text, HasSubstr("<bad>1 of 4 is bad"));
}

TEST(FindingsTable, HasOnePartPerServer) {
  std::vector<finding> all = {about("role", verdict::good), about("role", verdict::bad)};
  all[1].node = "db2:6379";
  EXPECT_THAT(findings_table(all, "redlock://", 80, {}),
              AllOf(HasSubstr("db:6379\nVERDICT"), HasSubstr("db2:6379\nVERDICT")));
}

TEST(FindingsTable, ShowsNoControlCharacter) {
  finding nasty = about("a\x1b[2J", verdict::good, "b\tc\x1b[2J", "d\n\x1b[2J");
  nasty.node = "\x1b[2J";
  for (const std::string& text :
       {findings_table({nasty}, "\x1b[2J", 80, {}), findings_lines({nasty}, "\x1b[2J")}) {
    EXPECT_EQ(text.find('\x1b'), std::string::npos);
  }
  EXPECT_EQ(lines_of(findings_lines({nasty}, "")).size(), 2U);
}

TEST(FindingsLines, HaveTabsBetweenTheColumns) {
  EXPECT_THAT(lines_of(findings_lines(mixed, "redis://db")),
              ElementsAre("good\tversion\t7.0.15\tnew enough\tdb:6379",
                          StartsWith("warning\teviction\tvolatile-ttl\t"), StartsWith("bad\trole\treplica\t"),
                          StartsWith("untold\tmemory\t\tINFO"),
                          AllOf(StartsWith("bad\toverall\t\t1 of 4 is bad"), HasSubstr("\tredis://db"))));
}

TEST(FindingsJson, HasEveryKey) {
  const json j = json::parse(findings_json(mixed, "redis://db"));
  EXPECT_EQ(j["store"], "redis://db");
  EXPECT_EQ(j["overall"], "bad");
  ASSERT_EQ(j["findings"].size(), 4U);
  EXPECT_EQ(j["findings"][0], json({{"node", "db:6379"},
                                    {"subject", "version"},
                                    {"verdict", "good"},
                                    {"value", "7.0.15"},
                                    {"reason", "new enough"}}));
  EXPECT_TRUE(j["findings"][3]["value"].is_null());
}

const quarantine_state well{.node = "a:1", .quarantined = false, .why = ""};
const quarantine_state waits{.node = "b:2", .quarantined = true, .why = "it restarted", .left = 41s};
const quarantine_state unwatched{.node = "c:3", .quarantined = true, .why = "it was emptied"};

TEST(Quarantine, IsToldForEachServer) {
  EXPECT_EQ(quarantine_sentences({well, waits, unwatched}, "redlock://", {}),
            "a:1: gives out locks\n"
            "b:2: in quarantine, 41s left. Why: it restarted\n"
            "c:3: in quarantine, how long still is not known: nobody on this machine has watched it yet. "
            "Why: it was "
            "emptied\n");
  EXPECT_EQ(quarantine_lines({well, waits, unwatched}),
            "a:1\topen\t\t\n"
            "b:2\tquarantined\t41000\tit restarted\n"
            "c:3\tquarantined\t\tit was emptied\n");
}

const quarantine_state away{.node = "d:4", .reachable = false, .why = "connection refused"};

TEST(Quarantine, EndsWithZeroOnlyWhenAllGiveOutLocks) {
  EXPECT_EQ(quarantine_status({}), 0);
  EXPECT_EQ(quarantine_status({well, well}), 0);
  EXPECT_EQ(quarantine_status({well, waits}), 1);
  EXPECT_EQ(quarantine_status({well, well, away}), 1);
  EXPECT_EQ(quarantine_status({well, away}), 69) << "two must agree";
  EXPECT_EQ(quarantine_status({waits, away, away}), 69);
  EXPECT_EQ(not_reached({well, away, waits}), "d:4 (connection refused)");
}

TEST(Quarantine, IsWhyThereIsNoLockWhenTooFewGiveThemOut) {
  using states = std::vector<quarantine_state>;
  EXPECT_THAT(why_no_lock(states{well, well, waits}), ElementsAre());
  EXPECT_THAT(why_no_lock(states{waits}),
              ElementsAre("b:2 grants no lock, since it may have lost the record of who "
                          "holds what (it restarted); it grants again in 41s"));
  quarantine_state later = waits;
  later.node = "e:5";
  later.left = 50s;
  EXPECT_THAT(why_no_lock(states{waits, well, later, unwatched}),
              ElementsAre("b:2 and e:5 grant no lock, since they may have lost the record of who holds "
                          "what (it restarted); the last one grants again in 50s",
                          StartsWith("c:3 grants no lock")));
}

TEST(Quarantine, WithoutAnEndOfItsOwnShowsNoTimeLeft) {
  quarantine_state strict = unwatched;
  strict.until_ordered = true;
  EXPECT_EQ(quarantine_sentences({strict}, "redlock://", {}),
            "c:3: in quarantine, it does not end by itself; once no lock from before is held, run `cremone "
            "quarantine --end`. Why: it was emptied\n");
}

TEST(Quarantine, OfAStoreWithoutOneIsASentence) {
  EXPECT_EQ(quarantine_sentences({}, "sqlite:///x", {}), without_quarantine("sqlite:///x") + "\n");
  EXPECT_THAT(without_quarantine("sqlite:///x"), StartsWith("sqlite:///x knows no quarantine"));
  EXPECT_EQ(quarantine_lines({}), "");
}

TEST(Quarantine, OfOneServerIsOneOfTheStore) {
  EXPECT_FALSE(any_quarantined({}));
  EXPECT_FALSE(any_quarantined({well}));
  EXPECT_TRUE(any_quarantined({well, waits}));
}

TEST(Quarantine, AsJsonHasEveryKey) {
  const json j = json::parse(quarantine_json({well, waits}, "redlock://", true));
  EXPECT_EQ(j["store"], "redlock://");
  EXPECT_EQ(j["quarantined"], true);
  EXPECT_EQ(j["ended"], true);
  EXPECT_EQ(j["servers"][0], json({{"node", "a:1"},
                                   {"reachable", true},
                                   {"quarantined", false},
                                   {"left_ms", nullptr},
                                   {"until_ordered", false},
                                   {"why", nullptr}}));
  EXPECT_EQ(j["servers"][1]["left_ms"], 41000);
}

}  // namespace
}  // namespace cremone::cli
