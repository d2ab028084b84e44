// SPDX-License-Identifier: Apache-2.0
//
// `doctor`, `quarantine` and `--verbose` on the SQLite store: a good place, a bad one, and none at all.
#include "cli/fixture.hpp"
#include "cli/shell.hpp"

#include <sqlite3.h>
#include <sys/stat.h>

#include <fstream>

namespace cremone::test {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

using Doctor = Tool;

json finding_about(const json& all, const std::string& subject) {
  for (const json& f : all["findings"]) {
    if (f["subject"] == subject) {
      return f;
    }
  }
  return {};
}

TEST_F(Doctor, FindsNothingWrongWithAFileOfOurOwn) {
  const auto end = cremone({"doctor"});
  EXPECT_EQ(end.code, 0) << end.out << end.err;
  EXPECT_EQ(end.err, "");
  EXPECT_THAT(end.out, AllOf(StartsWith("good\tlocation\t"), HasSubstr("good\tintegrity\tok\t"),
                             HasSubstr("good\toverall\t\tA good place for locks.\t" + url())));
}

TEST_F(Doctor, TakesTheUrlAsAWordOrAsAnOption) {
  const std::string other = "sqlite://" + dir.file("other.db");
  EXPECT_THAT(cremone({"doctor", other}).out, HasSubstr(other));
  EXPECT_THAT(cremone({"doctor", "--url", other}).out, HasSubstr(other));
  EXPECT_THAT(cremone({"--url", other, "doctor"}).out, HasSubstr(other));
  const auto both = cremone({"doctor", "--url", other, other});
  EXPECT_EQ(both.code, 64);
  EXPECT_THAT(both.err, HasSubstr("one URL only"));
  const auto empty = cremone({"doctor", ""});
  EXPECT_EQ(empty.code, 64) << "a script's variable was not set";
  EXPECT_THAT(empty.err, HasSubstr("the URL is empty"));
  EXPECT_EQ(cremone({"doctor", other, "more"}).code, 64);
}

TEST_F(Doctor, GivesJsonToPrograms) {
  const auto end = cremone({"doctor", "--json"});
  EXPECT_EQ(end.code, 0) << end.err;
  const json j = json::parse(end.out);
  EXPECT_EQ(j["store"], url());
  EXPECT_EQ(j["overall"], "good");
  EXPECT_EQ(j["findings"].size(), 11U);
  EXPECT_EQ(finding_about(j, "outage")["value"], "run 22.4s, library 19.9s");
  EXPECT_EQ(finding_about(j, "journal")["value"], "wal, synchronous normal");
  EXPECT_EQ(finding_about(j, "journal")["node"], dir.file("locks.db"));
}

TEST_F(Doctor, ShowsATableAtATerminal) {
  small_shell shell({CREMONE_TOOL, "doctor"}, here().environment);
  EXPECT_TRUE(shell.shows("A good place for locks."));
  EXPECT_EQ(shell.report(), "exited 0");
  EXPECT_THAT(shell.screen(), AllOf(HasSubstr("VERDICT  SUBJECT      FOUND"), HasSubstr("integrity")));
}

TEST_F(Doctor, WarnsOfAFileThatEverybodyMayWrite) {
  ASSERT_EQ(cremone({"doctor"}).code, 0);
  ASSERT_EQ(::chmod(dir.file("locks.db").c_str(), 0666), 0);
  const auto end = cremone({"doctor", "--json"});
  EXPECT_EQ(end.code, 0) << "a warning is no failure";
  const json j = json::parse(end.out);
  EXPECT_EQ(j["overall"], "warning");
  EXPECT_EQ(finding_about(j, "permissions")["verdict"], "warning");
}

TEST_F(Doctor, TellsDefaultFileFromNamedFile) {
  const json own = finding_about(json::parse(cremone({"doctor", "--json"}).out), "location");
  EXPECT_EQ(own["value"], dir.file("locks.db"));
  EXPECT_THAT(own["reason"].get<std::string>(),
              AllOf(HasSubstr("default file of this user"), HasSubstr("Root and every other user"),
                    HasSubstr("CREMONE_STATE_DIR")));
  const std::string other = "sqlite://" + dir.file("other.db");
  const json named = finding_about(json::parse(cremone({"doctor", "--json", other}).out), "location");
  EXPECT_EQ(named["value"], dir.file("other.db"));
  EXPECT_THAT(named["reason"].get<std::string>(), HasSubstr("names this file"));
}

TEST_F(Doctor, WarnsOfTokensFarAheadOfTheClock) {
  ASSERT_EQ(cremone({"run", "x", "--", "true"}).code, 0);
  EXPECT_EQ(finding_about(json::parse(cremone({"doctor", "--json"}).out), "tokens")["verdict"], "good");
  sqlite3* db = nullptr;
  ASSERT_EQ(sqlite3_open(dir.file("locks.db").c_str(), &db), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(db, "UPDATE lock SET token = token + 86400000000", nullptr, nullptr, nullptr),
            SQLITE_OK);
  sqlite3_close(db);
  const auto end = cremone({"doctor", "--json"});
  EXPECT_EQ(end.code, 0) << "a warning is no failure";
  const json tokens = finding_about(json::parse(end.out), "tokens");
  EXPECT_EQ(tokens["verdict"], "warning");
  EXPECT_THAT(tokens["value"].get<std::string>(), AllOf(StartsWith("86"), HasSubstr("ahead of the clock")));
  EXPECT_THAT(tokens["reason"].get<std::string>(), HasSubstr("Keep this file"));
}

/// Overwrites the last page of a database, behind SQLite's back and while nobody has the file open.
void damage(const std::string& file) {
  sqlite3* db = nullptr;
  ASSERT_EQ(sqlite3_open(file.c_str(), &db), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(db, "PRAGMA wal_checkpoint(TRUNCATE)", nullptr, nullptr, nullptr), SQLITE_OK);
  sqlite3_close(db);
  const std::string garbage(4096, 'x');
  std::fstream out(file, std::ios::in | std::ios::out | std::ios::binary);
  out.seekp(-static_cast<std::streamoff>(garbage.size()), std::ios::end);
  out << garbage;
  ASSERT_TRUE(out.good());
}

TEST_F(Doctor, CallsADamagedFileBad) {
  ASSERT_EQ(cremone({"run", "x", "--", "true"}).code, 0);
  damage(dir.file("locks.db"));
  const auto end = cremone({"doctor", "--json"});
  EXPECT_EQ(end.code, 1) << end.out << end.err;
  const json j = json::parse(end.out, nullptr, false);
  EXPECT_EQ(j["overall"], "bad");
  EXPECT_EQ(finding_about(j, "integrity")["verdict"], "bad");
}

TEST_F(Doctor, SaysWhyAStoreCannotEvenBeOpened) {
  const auto nowhere = cremone({"doctor", "sqlite://" + dir.file("no/such/locks.db")});
  EXPECT_EQ(nowhere.code, 78);
  EXPECT_THAT(nowhere.err, HasSubstr(dir.file("no/such")));
  EXPECT_EQ(cremone({"doctor", "memory://"}).code, 78);
}

TEST_F(Doctor, SaysWhyAReadOnlyDirectoryWillNotDo) {
  const std::string where = dir.file("shut");
  ASSERT_EQ(::mkdir(where.c_str(), 0755), 0);
  // Nothing stops root from writing to a directory but a file system that cannot be written.
  const std::string script = "mount --bind " + where + " " + where + " && mount -o remount,ro,bind " + where +
                             " && exec " + CREMONE_TOOL + " doctor sqlite://" + where + "/locks.db";
  const auto end = run({"unshare", "-m", "sh", "-c", script}, here());
  EXPECT_EQ(end.code, 74) << end.err;
  EXPECT_THAT(end.err, AllOf(HasSubstr(where), HasSubstr("Read-only")));
}

TEST_F(Doctor, OfAQuarantineKnowsNothingWhereThereIsNone) {
  const auto end = cremone({"quarantine"});
  EXPECT_EQ(end.code, 0);
  EXPECT_EQ(end.out, "");
  EXPECT_THAT(end.err, HasSubstr("knows no quarantine"));
  EXPECT_EQ(json::parse(cremone({"quarantine", "--json", url()}).out)["servers"], json::array());
  const auto order = cremone({"quarantine", "--end"});
  EXPECT_EQ(order.code, 70);
  EXPECT_THAT(order.err, HasSubstr("knows no quarantine"));
}

TEST_F(Doctor, EveryCommandHasVerbose) {
  EXPECT_EQ(cremone({"who", "-v", "x"}).code, 1);
  EXPECT_EQ(cremone({"list", "--verbose"}).code, 0);
  EXPECT_EQ(cremone({"doctor", "--verbose"}).code, 0);
  EXPECT_EQ(cremone({"quarantine", "-v"}).code, 0);
  EXPECT_EQ(cremone({"release", "-v", "--force", "x"}).code, 1);
  EXPECT_EQ(cremone({"-v", "run", "x", "--", "true"}).code, 0);
  EXPECT_THAT(cremone({"watch", "--help"}).out, HasSubstr("--verbose"));
}

}  // namespace
}  // namespace cremone::test
