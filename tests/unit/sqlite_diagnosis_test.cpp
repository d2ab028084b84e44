// SPDX-License-Identifier: Apache-2.0
//
// Checks the verdict on every subject of a database file, and that what could not be looked at is never called good.
#include "backends/sqlite/diagnosis.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>

namespace cremone::sqlite {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using change = std::function<void(file_evidence&)>;

constexpr long ext4 = 0xEF53;
constexpr long nfs = 0x6969;
constexpr long tmpfs = 0x01021994;
constexpr long overlay = 0x794C7630;

/// A file about which there is nothing to say.
file_evidence healthy() {
  file_evidence e;
  e.path = "/srv/locks/team.db";
  e.file_system = ext4;
  e.file = belonging{0100660, 0, 7};
  e.directory = belonging{0042770, 0, 7};
  e.room = 1ULL << 30U;
  e.size = 40'960;
  e.now = wall_time(1'000'000s);
  e.written = e.now - 1s;
  e.journal = "wal";
  e.synchronous = 1;
  e.format = 1;
  e.integrity = "ok";
  return e;
}

finding look(const std::string& subject, const change& make) {
  file_evidence e = healthy();
  make(e);
  const auto all = diagnose(e);
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const finding& f) { return f.subject == subject; });
  if (found == all.end()) {
    ADD_FAILURE() << "no finding about " << subject;
    return {};
  }
  EXPECT_EQ(found->node, "/srv/locks/team.db");
  EXPECT_FALSE(found->reason.empty());
  return *found;
}

struct row {
  std::string what;
  std::string subject;
  change make;
  verdict wanted;
};

change on(long magic) {
  return [=](file_evidence& e) { e.file_system = magic; };
}

change modes(std::uint32_t file, std::uint32_t directory) {
  return [=](file_evidence& e) {
    e.file->mode = 0100000U | file;
    e.directory->mode = 0040000U | directory;
  };
}

change room(std::uint64_t bytes) {
  return [=](file_evidence& e) { e.room = bytes; };
}

change journal(const std::string& mode, std::int64_t synchronous) {
  return [=](file_evidence& e) {
    e.journal = mode;
    e.synchronous = synchronous;
  };
}

change written(std::chrono::seconds ahead) {
  return [=](file_evidence& e) { e.written = e.now + ahead; };
}

change token(std::chrono::seconds ahead) {
  return [=](file_evidence& e) {
    e.highest = std::chrono::microseconds(e.now.time_since_epoch() + ahead).count();
  };
}

void see_nothing(file_evidence& e) {
  e.file_system.reset();
  e.file.reset();
  e.directory.reset();
  e.room.reset();
  e.size.reset();
  e.written.reset();
}

void nothing(file_evidence& /*e*/) {}

const row rows[] = {
    {"Local", "file system", on(ext4), verdict::good},
    {"Tmpfs", "file system", on(tmpfs), verdict::good},
    {"Strange", "file system", on(0x4711), verdict::good},
    {"Container", "file system", on(overlay), verdict::warning},
    {"Nfs", "file system", on(nfs), verdict::bad},
    {"Unseen", "file system", see_nothing, verdict::untold},

    {"Group", "permissions", nothing, verdict::good},
    {"Owner", "permissions", modes(0600, 0700), verdict::good},
    {"ReadableDirectory", "permissions", modes(0600, 0755), verdict::good},
    {"EverybodysFile", "permissions", modes(0666, 0755), verdict::warning},
    {"EverybodysDirectory", "permissions", modes(0600, 0777), verdict::warning},
    {"Sticky", "permissions", modes(0600, 01777), verdict::warning},
    {"Unseen", "permissions", see_nothing, verdict::untold},

    {"Enough", "room", nothing, verdict::good},
    {"Little", "room", room(5U << 20U), verdict::warning},
    {"None", "room", room(1000), verdict::bad},
    {"Unseen", "room", see_nothing, verdict::untold},

    {"Small", "size", nothing, verdict::good},
    {"Large", "size", [](file_evidence& e) { e.size = 1ULL << 30U; }, verdict::warning},
    {"LongLog", "size", [](file_evidence& e) { e.log_size = 1ULL << 30U; }, verdict::warning},
    {"Unseen", "size", see_nothing, verdict::untold},

    {"Wal", "journal", nothing, verdict::good},
    {"WalFull", "journal", journal("wal", 2), verdict::good},
    {"WalOff", "journal", journal("wal", 0), verdict::bad},
    {"Delete", "journal", journal("delete", 2), verdict::bad},
    {"Strange", "journal", journal("wal", 17), verdict::good},

    {"Ok", "integrity", nothing, verdict::good},
    {"Damaged", "integrity", [](file_evidence& e) { e.integrity = "page 3 is never used"; }, verdict::bad},

    {"Ours", "format", nothing, verdict::good},

    {"Past", "clock", nothing, verdict::good},
    {"JustNow", "clock", written(1s), verdict::good},
    {"Future", "clock", written(3600s), verdict::warning},
    {"Unseen", "clock", see_nothing, verdict::untold},

    {"None", "tokens", nothing, verdict::good},
    {"Past", "tokens", token(-3600s), verdict::good},
    {"AheadByTheMark", "tokens", token(10s), verdict::good},
    {"FarAhead", "tokens", token(61s), verdict::warning},
};

std::string test_name(const ::testing::TestParamInfo<row>& i) {
  std::string name = i.param.subject + i.param.what;
  name.erase(std::remove(name.begin(), name.end(), ' '), name.end());
  return name;
}

class SqliteVerdict : public ::testing::TestWithParam<row> {};

TEST_P(SqliteVerdict, IsAsTheTableSays) {
  EXPECT_EQ(look(GetParam().subject, GetParam().make).verdict, GetParam().wanted);
}

INSTANTIATE_TEST_SUITE_P(Sqlite, SqliteVerdict, ::testing::ValuesIn(rows), test_name);

TEST(SqliteDiagnosis, HasOneFindingPerSubjectInAFixedOrder) {
  std::vector<std::string> subjects;
  for (const finding& f : diagnose(healthy())) {
    subjects.push_back(f.subject);
  }
  EXPECT_THAT(subjects, ElementsAre("location", "file system", "permissions", "room", "size", "journal",
                                    "integrity", "format", "clock", "tokens"));
}

TEST(SqliteDiagnosis, ShowsFiguresForPeople) {
  EXPECT_EQ(look("permissions", nothing).value, "0660 of 0:7, directory 2770 of 0:7");
  EXPECT_EQ(look("room", room(5U << 20U)).value, "5.0 MiB free");
  EXPECT_EQ(look("size", nothing).value, "40 KiB, log 0 KiB");
  EXPECT_EQ(look("file system", on(nfs)).value, "NFS");
  EXPECT_EQ(look("file system", on(0x4711)).value, "0x4711");
  EXPECT_EQ(look("clock", written(3600s)).value, "last written 3600 s from now");
  EXPECT_EQ(look("tokens", token(3600s)).value, "3600 s ahead of the clock");
}

TEST(SqliteDiagnosis, ShowsNoControlCharacterOfTheFile) {
  file_evidence e = healthy();
  e.path = "/tmp/\x1b[2J";
  e.integrity = "\x1b[2J";
  e.journal = "\x1b[2J";
  for (const finding& f : diagnose(e)) {
    EXPECT_EQ((f.node + f.value + f.reason).find('\x1b'), std::string::npos) << f.subject;
  }
}

}  // namespace
}  // namespace cremone::sqlite
