// SPDX-License-Identifier: Apache-2.0
//
// sqlite:// and its file: where it may lie, who may use it, what happens to a file that is not ours, damaged, deleted
// or on a disk that is full. Each refusal names the culprit, and nothing is ever replaced in silence.
#include "backends/sqlite/backend.hpp"
#include "backends/sqlite/location.hpp"
#include "engine/asio_env.hpp"
#include "support/namespaces.hpp"
#include "support/temp_directory.hpp"
#include "support/wait_for.hpp"

#include <cremone/cremone.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace cremone {

namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class SqliteFile : public ::testing::Test {
 protected:
  [[nodiscard]] std::string path() const { return directory_.file("locks.db"); }
  [[nodiscard]] std::string url() const { return "sqlite://" + path(); }

  /// Why the store at this URL cannot be opened.
  [[nodiscard]] static std::string refusal(const std::string& url) {
    const auto opened = open(url);
    return opened ? "it was opened" : opened.error().message();
  }

  /// As the user of the database's own tools would.
  static void edit(const std::string& file, const char* sql) {
    sqlite3* db = nullptr;
    ASSERT_EQ(sqlite3_open(file.c_str(), &db), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(db, sql, nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(db);
    EXPECT_EQ(sqlite3_close(db), SQLITE_OK);
  }

  [[nodiscard]] static std::string content(const std::string& file) {
    std::ostringstream all;
    all << std::ifstream(file, std::ios::binary).rdbuf();
    return all.str();
  }

  [[nodiscard]] static unsigned mode(const std::string& file) {
    struct stat seen {};
    EXPECT_EQ(::stat(file.c_str(), &seen), 0) << file;
    return seen.st_mode & 0777U;
  }

  test::temp_directory directory_;
};

TEST_F(SqliteFile, IsMadeWhereThereIsNone) {
  auto locks = open(url()).value();
  EXPECT_TRUE(locks.acquire("lock").has_value());
  EXPECT_EQ(locks.store(), url());
  EXPECT_EQ(mode(path()), 0600U);
  EXPECT_EQ(mode(path() + ".live"), 0600U);
  EXPECT_EQ(mode(path() + "-wal"), 0600U);
}

TEST_F(SqliteFile, IsNamedByAUrlThatLeadsBackToIt) {
  const std::string odd = directory_.file("my locks%41 #1?.db");
  sqlite::store_settings settings;
  settings.path = odd;
  const auto outside = std::make_shared<detail::asio_env>();
  const std::string name = sqlite::open_backend(outside, settings).value()->describe().store;
  EXPECT_EQ(open(name).value().store(), name);
  EXPECT_TRUE(std::filesystem::exists(odd + ".live"));
}

TEST_F(SqliteFile, IsForThoseWhoMayWriteToItsDirectory) {
  ASSERT_EQ(::chmod(directory_.path().c_str(), 0770), 0);
  (void)open(url()).value();
  EXPECT_EQ(mode(path()), 0660U);
  EXPECT_EQ(mode(path() + ".live"), 0660U);
  ASSERT_EQ(::chmod(directory_.path().c_str(), 01777), 0);  // as /tmp
  (void)open("sqlite://" + directory_.file("sticky.db")).value();
  EXPECT_EQ(mode(directory_.file("sticky.db")), 0600U);
}

TEST_F(SqliteFile, NeedsADirectory) {
  EXPECT_THAT(
      refusal("sqlite://" + directory_.file("no/such/locks.db")),
      AllOf(StartsWith("misconfigured"), HasSubstr(directory_.file("no/such")), HasSubstr("mkdir -p")));
  std::ofstream(directory_.file("plain")) << "text";
  EXPECT_THAT(refusal("sqlite://" + directory_.file("plain/locks.db")), StartsWith("misconfigured"));
}

TEST_F(SqliteFile, IsNotADirectoryNorOneOfSeveralNames) {
  EXPECT_THAT(refusal("sqlite://" + directory_.path()), HasSubstr("not a regular file"));
  (void)open(url()).value();
  std::filesystem::create_hard_link(path(), directory_.file("second.db"));
  EXPECT_THAT(refusal(url()), AllOf(StartsWith("misconfigured"), HasSubstr("hard links")));
}

TEST_F(SqliteFile, IsTheSameByWhateverLink) {
  auto locks = open(url()).value();
  std::filesystem::create_symlink(path(), directory_.file("link.db"));
  auto linked = open("sqlite://" + directory_.file("link.db")).value();
  const auto held = locks.acquire("lock").value();
  EXPECT_EQ(linked.acquire("lock", {.wait = no_wait}).error().code(), errc::busy);
  EXPECT_EQ(linked.inspect("lock")->holders.at(0).liveness, liveness::alive) << "one live file";
}

TEST_F(SqliteFile, OfAnotherUserIsDenied) {
  (void)open(url()).value();
  // In a child: who gives root away cannot take it back.
  ASSERT_EQ(::chmod(directory_.path().c_str(), 0755), 0);
  test::on_small_disk(directory_.file(""), "1m", [&](const std::string& on) -> std::string {
    (void)open("sqlite://" + on + "locks.db").value();
    if (::setgid(65534) != 0 || ::setuid(65534) != 0) {
      return "cannot become nobody";
    }
    const std::string why = refusal("sqlite://" + on + "locks.db");
    return why.starts_with("access_denied") && why.find("locks.db") != std::string::npos ? "" : why;
  });
}

TEST_F(SqliteFile, ThatIsNoDatabaseIsLeftAlone) {
  const std::string text =
      "these are my notes, and they are longer than a page header. " + std::string(5000, 'x');
  std::ofstream(path()) << text;
  EXPECT_THAT(refusal(url()),
              AllOf(StartsWith("storage_error"), HasSubstr(path()), HasSubstr("not a SQLite")));
  EXPECT_EQ(content(path()), text);
}

TEST_F(SqliteFile, OfAnotherProgramIsLeftAlone) {
  edit(path(), "CREATE TABLE invoices (id INTEGER); INSERT INTO invoices VALUES (7)");
  const std::string before = content(path());
  EXPECT_THAT(refusal(url()),
              AllOf(StartsWith("misconfigured"), HasSubstr(path()), HasSubstr("another program")));
  EXPECT_EQ(content(path()), before);
}

TEST_F(SqliteFile, OfANewerVersionIsLeftAlone) {
  (void)open(url()).value();
  edit(path(), "PRAGMA user_version=2");
  EXPECT_THAT(refusal(url()), AllOf(StartsWith("misconfigured"), HasSubstr("newer cremone (format 2")));
}

TEST_F(SqliteFile, ThatIsDamagedIsSaidToBeAndKept) {
  {
    auto locks = open(url()).value();
    EXPECT_TRUE(locks.acquire("lock").has_value());
  }
  edit(path(), "PRAGMA journal_mode=DELETE");  // all of it in the one file
  {
    std::fstream file(path(), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(4096);  // the second page, the table of the store
    file << std::string(4096, '\xFF');
  }
  const std::string before = content(path());
  EXPECT_THAT(refusal(url()), AllOf(StartsWith("storage_error"), HasSubstr(path()), HasSubstr("damaged")));
  EXPECT_EQ(content(path()).size(), before.size());
}

TEST_F(SqliteFile, OnAFullDiskSaysSoAndLosesNothing) {
  test::on_small_disk(directory_.file(""), "512k", [&](const std::string& on) -> std::string {
    auto locks = open("sqlite://" + on + "locks.db").value();
    auto held = locks.acquire("held").value();
    {
      std::ofstream filler(on + "filler");
      while (filler << std::string(4096, 'x') << std::flush) {
      }
    }
    std::string why;
    for (int i = 0; i < 2000 && why.empty(); ++i) {  // what is left of the journal has room for some
      auto got = locks.acquire("lock-" + std::to_string(i), {.wait = no_wait});
      why = got ? "" : got.error().message();
    }
    if (!why.starts_with("storage_error") || why.find("full") == std::string::npos) {
      return "on a full disk: " + why;
    }
    const std::string second = refusal("sqlite://" + on + "other.db");
    if (!second.starts_with("storage_error")) {
      return "a new file on a full disk: " + second;
    }
    std::filesystem::remove(on + "filler");
    if (!held.held() || !held.release() || !locks.acquire("again", {.wait = no_wait}).has_value()) {
      return "it did not go on when there was room again";
    }
    return "";
  });
}

TEST_F(SqliteFile, OnAReadOnlyFileSystemSaysSo) {
  test::on_small_disk(directory_.file(""), "1m", [&](const std::string& on) -> std::string {
    (void)open("sqlite://" + on + "locks.db").value();
    if (::mount("none", on.c_str(), nullptr, MS_REMOUNT | MS_RDONLY, nullptr) != 0) {
      return std::string("remount: ") + std::strerror(errno);
    }
    for (const char* name : {"locks.db", "new.db"}) {
      const std::string why = refusal("sqlite://" + on + name);
      if (!why.starts_with("storage_error") || why.find("Read-only") == std::string::npos) {
        return why;
      }
    }
    return "";
  });
}

TEST_F(SqliteFile, ThatIsDeletedTakesItsLeasesWithItAndIsMadeAnewWithHigherTokens) {
  auto locks = open(url()).value();
  auto lease = locks.acquire("lock", {.ttl = 300ms}).value();
  const fence_token before = lease.token();
  for (const char* suffix : {"", "-wal", "-shm", ".live"}) {
    std::filesystem::remove(path() + suffix);
  }
  auto other = open(url()).value();
  const auto theirs = other.acquire("lock", {.wait = no_wait}).value();
  EXPECT_GT(theirs.token(), before);
  EXPECT_EQ(locks.acquire("lock", {.wait = no_wait}).error().code(), errc::busy)
      << "it looks at the new file";
  const std::stop_token told = lease.get_stop_token();
  EXPECT_TRUE(test::wait_for([&] { return told.stop_requested(); }));
  EXPECT_FALSE(lease.held());
}

TEST_F(SqliteFile, WhoseJournalIsDeletedTakesItsLeasesWithIt) {
  auto locks = open(url()).value();
  auto lease = locks.acquire("lock", {.ttl = 300ms}).value();
  for (const char* suffix : {"-wal", "-shm"}) {
    std::filesystem::remove(path() + suffix);
  }
  const std::stop_token told = lease.get_stop_token();
  EXPECT_TRUE(test::wait_for([&] { return told.stop_requested(); }))
      << "it went on renewing where nobody reads";
  EXPECT_TRUE(locks.acquire("other", {.wait = 5s}).has_value()) << "and the client goes on in the new files";
}

TEST_F(SqliteFile, LockedBySomebodyDelaysTheEndOfAClientOnceAndNotPerLease) {
  auto locks = open(url()).value();
  std::vector<lease> leases;
  for (int i = 0; i < 8; ++i) {
    leases.push_back(locks.acquire("lock-" + std::to_string(i)).value());
  }
  sqlite3* db = nullptr;
  ASSERT_EQ(sqlite3_open(path().c_str(), &db), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(db, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr), SQLITE_OK);
  const auto began = std::chrono::steady_clock::now();
  locks.close();
  EXPECT_LT(std::chrono::steady_clock::now() - began, 6s)
      << "8 leases, each waiting by itself, would take 8 s and more";
  ASSERT_EQ(sqlite3_exec(db, "ROLLBACK", nullptr, nullptr, nullptr), SQLITE_OK);
  EXPECT_EQ(sqlite3_close(db), SQLITE_OK);
  auto others = open(url()).value();
  EXPECT_TRUE(others.acquire("lock-7", {.wait = 5s}).has_value()) << "its process let go of it";
}

TEST_F(SqliteFile, MayBeReadByTheUsersOwnSqliteInTheSameProcess) {
  auto locks = open(url()).value();
  const auto held = locks.acquire("lock").value();
  edit(path(), "SELECT count(*) FROM lock");  // opens and closes the file: POSIX locks would be gone
  auto other = open(url()).value();
  for (int i = 0; i < 50; ++i) {
    EXPECT_TRUE(locks.acquire("a").has_value());
    EXPECT_TRUE(other.acquire("a").has_value());
  }
  EXPECT_EQ(other.acquire("lock", {.wait = no_wait}).error().code(), errc::busy);
  edit(path(), "PRAGMA integrity_check");
}

TEST_F(SqliteFile, ByDefaultLiesInTheStateDirectory) {
  ASSERT_EQ(::setenv("CREMONE_STATE_DIR", directory_.file("state").c_str(), 1), 0);
  auto locks = open();
  ASSERT_EQ(::unsetenv("CREMONE_STATE_DIR"), 0);
  ASSERT_TRUE(locks) << locks.error().message();
  EXPECT_EQ(locks->store(), "sqlite://" + directory_.file("state/locks.db"));
  EXPECT_EQ(mode(directory_.file("state")), 0700U);
}

TEST_F(SqliteFile, OnANetworkFileSystemIsRefusedByName) {
  EXPECT_EQ(sqlite::distant_file_system(0x6969), "NFS");
  EXPECT_EQ(sqlite::distant_file_system(static_cast<int>(0xFF534D42)), "CIFS")
      << "also where f_type is signed";
  EXPECT_EQ(sqlite::distant_file_system(0x65735546), "FUSE");
  EXPECT_EQ(sqlite::distant_file_system(0xEF53), std::nullopt) << "ext4";
  EXPECT_EQ(sqlite::distant_file_system(0x01021994), std::nullopt) << "tmpfs";
}

TEST_F(SqliteFile, UrlsThatMeanSomethingElseAreExplained) {
  EXPECT_THAT(refusal("sqlite://locks.db"),
              AllOf(StartsWith("invalid_argument"), HasSubstr("absolute path")));
  EXPECT_THAT(refusal("sqlite:///x/y?mode=ro"), AllOf(StartsWith("invalid_argument"), HasSubstr("mode")));
}

TEST_F(SqliteFile, ForgetsNamesThatAreUsedOnceButNotHowHighTheirTokensWere) {
  sqlite::store_settings settings;
  settings.path = path();
  const auto locks = sqlite::store::open(settings);
  const wall_time wall = wall_time(std::chrono::microseconds(1'800'000'000'000'000));
  sqlite::store_time time{instant(1h), wall};
  acquire_request request{.name = "once", .owner = owner_id({1}), .ttl = 10s};
  const auto first = locks->take(request, time);
  bool freed = false;
  (void)(first ? acquire_answer(*first) : locks->try_acquire(request, time, freed));
  (void)locks->release({"once", owner_id({1})}, time, freed);
  const fence_token before = locks->inspect("once", time).last;
  EXPECT_GT(before.value(), 0U);
  time.now += 2min;
  locks->sweep(time);
  EXPECT_EQ(locks->inspect("once", time).last.value(), 0U) << "forgotten";
  time.wall -= 1h;
  request.owner = owner_id({2});
  const auto again = locks->take(request, time);
  ASSERT_TRUE(again);
  EXPECT_GT(again->token, before);
}

}  // namespace

}  // namespace cremone
