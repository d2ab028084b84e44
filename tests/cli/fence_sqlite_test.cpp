// SPDX-License-Identifier: Apache-2.0
//
// `fence` on a SQLite database, and what no database is needed for: wrong words and wrong URLs.
#include "cli/fence_database.hpp"
#include "cli/fence_fixture.hpp"

#include <sqlite3.h>
#include <sys/stat.h>

#include <filesystem>
#include <stdexcept>

namespace cremone::test {

namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class sqlite_file final : public fence_database {
 public:
  [[nodiscard]] std::string url() const override { return "sqlite://" + dir_.file("shop.db"); }
  [[nodiscard]] std::string kind() const override { return "SQLite"; }
  void execute(const std::string& statement) override {
    sqlite3* raw = nullptr;
    const int opened = ::sqlite3_open(dir_.file("shop.db").c_str(), &raw);
    const std::unique_ptr<sqlite3, int (*)(sqlite3*)> database(raw, ::sqlite3_close);
    if (opened != SQLITE_OK ||
        ::sqlite3_exec(raw, statement.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) {
      throw std::runtime_error(::sqlite3_errmsg(raw));
    }
  }
  void stop() override { std::filesystem::remove(dir_.file("shop.db")); }
  [[nodiscard]] int code_when_gone() const override { return 78; }

 private:
  temp_directory dir_;
};

TEST_F(FenceTool, ASqliteDatabaseIsMadeByInitAlone) {
  const std::string url = "sqlite://" + dir.file("new.db");
  for (const auto& end :
       {fence({"check", "--url", url, "x"}, {.token = "41"}), fence({"show", "--url", url, "x"})}) {
    EXPECT_EQ(end.code, 78);
    EXPECT_THAT(end.err,
                AllOf(HasSubstr("new.db"), HasSubstr("`cremone fence init` with this URL creates it")));
  }
  EXPECT_FALSE(std::filesystem::exists(dir.file("new.db")));
  const auto mistyped = fence({"show", "--url", "sqlite:///:secret@host", "x"});
  EXPECT_THAT(mistyped.err, ::testing::Not(HasSubstr("secret"))) << "a slash too many, and a password";
  EXPECT_EQ(fence({"init", url}).code, 0);
  EXPECT_EQ(fence({"check", "--url", url, "x"}, {.token = "41"}).code, 0);
  EXPECT_EQ(fence({"init", "sqlite://" + dir.path()}).code, 64) << "a directory";
  EXPECT_EQ(fence({"init", "sqlite://" + dir.file("none/new.db")}).code, 78);
  const auto text = write_file(dir.file("text"), std::string(5000, 'x'));
  EXPECT_EQ(fence({"init", "sqlite://" + text}).code, 74) << "no database";
  EXPECT_EQ(contents(text), std::string(5000, 'x'));
}

TEST_F(FenceTool, AUrlThatIsNonesIsRefusedWithWhatThereIs) {
  struct mistake {
    std::string url;
    std::string said;
  };
  for (const mistake& m : {mistake{"postgers://db/shop", "did you mean postgres://?"},
                           {"oracle://db/shop", "sqlite://"},
                           {"redlock://a,b,c", "several servers"},
                           {"redis+sentinel://a/master", "Sentinels"},
                           {"rediss+sentinel://a/master", "Sentinels"},
                           {"redsis://cache", "did you mean redis://?"},
                           {"redis://cache?ca=/x", "'ca'"},
                           {"postgres:///ann:secret@db/shop", "two"},
                           {"sqlite://", "absolute path"},
                           {"sqlite://host/path", "absolute path"},
                           {"sqlite:///srv/shop.db?mode=ro", "takes none"},
                           {"shop", "scheme://"},
                           {"mariadb://localhost", "database"},
                           {"mariadb:///shop", "needs a host"},
                           {"mariadb://localhost:0/shop", "port"},
                           {"mariadb://localhost/shop?passwordfile=x", "did you mean 'password_file'?"},
                           {"mysql://db:3306/shop?socket=/run/x", "keep one"},
                           {"postgres://db:port/shop", "port"},
                           {"postgres://db/shop?sslmod=require", "sslmod"},
                           {"postgres://db/shop?password=secret", "PGPASSWORD"},
                           {"postgres://ann:sec%ret@db/shop", "hex digits"},
                           {"postgres://ann:s@ecret@db/shop", "%40"},
                           {"postgres://ann:secret/shop", "port"},
                           {"Postgres://ann:secret/shop", "port"},
                           {"postgres://db/shop?sslmode=often", "sslmode"},
                           {"redis://cache/x", "database 'x'"},
                           {"redis://ann:secret@cache?password_file=/x", "more than one password"},
                           {"redis://cache?prefix=a:fence", "prefix"}}) {
    const auto end = fence({"check", "--url", m.url, "x"}, {.token = "41"});
    EXPECT_EQ(end.code, 64) << m.url << " " << end.err;
    EXPECT_THAT(end.err, HasSubstr(m.said));
    EXPECT_EQ(end.err.find("cret"), std::string::npos) << end.err;
    const auto from_environment = fence({"show", "x"}, {.variables = {"CREMONE_FENCE_URL=" + m.url}});
    EXPECT_EQ(from_environment.code, 64) << m.url;
    EXPECT_THAT(from_environment.err, HasSubstr("(the URL is from CREMONE_FENCE_URL)"));
  }
  EXPECT_EQ(fence({"check", "--url", "", "x"}, {.token = "41"}).code, 64);
  EXPECT_EQ(fence({"show", "--url", "redis://cache", "--table", "t", "x"}).code, 64);
  EXPECT_EQ(fence({"show", "--table", "t", dir.file("f")}).code, 64);
}

TEST_F(FenceTool, APasswordFileThatIsNotThereIsNamed) {
  for (const std::string scheme : {"mariadb://ann@localhost/shop", "redis://ann@localhost/0"}) {
    const auto file = fence({"show", "--url", scheme + "?password_file=" + dir.file("none"), "x"});
    EXPECT_EQ(file.code, 78) << file.err;
    EXPECT_THAT(file.err, HasSubstr(dir.file("none")));
    const auto variable = fence({"show", "--url", scheme + "?password_env=CREMONE_TEST_NOT_SET", "x"});
    EXPECT_EQ(variable.code, 78) << variable.err;
    EXPECT_THAT(variable.err, HasSubstr("CREMONE_TEST_NOT_SET"));
  }
}

TEST_F(FenceTool, AFileCanBeMeantWhereTheEnvironmentNamesADatabase) {
  const auto file = write_file(dir.file("f"), "x");
  const fence_call call{.token = "41", .variables = {"CREMONE_FENCE_URL=sqlite://" + dir.file("none.db")}};
  EXPECT_EQ(fence({"check", file}, call).code, 78);
  EXPECT_EQ(fence({"check", "--file", file}, call).code, 0);
  EXPECT_EQ(fence({"show", "--file", file}, call).out, "41\n");
  EXPECT_EQ(fence({"check", file}, {.token = "42", .variables = {"CREMONE_FENCE_URL="}}).code, 0)
      << "not set";
}

TEST_F(FenceTool, FilesAndRedisNeedNoInit) {
  for (const std::string& what :
       {write_file(dir.file("report.csv"), "x"), std::string("redis://127.0.0.1:1")}) {
    for (const std::string option : {"--print", "--table=cremone_fence"}) {
      const auto end = fence({"init", option, what});
      EXPECT_EQ(end.code, 0) << end.err;
      EXPECT_THAT(end.out, StartsWith("Nothing is needed for "));
    }
    const auto as_json = nlohmann::json::parse(fence({"init", "--json", what}).out);
    EXPECT_EQ(as_json["needed"], false);
    EXPECT_TRUE(as_json["statement"].is_null() && as_json["table"].is_null());
  }
  EXPECT_EQ(fence({"init"}).code, 64);
  EXPECT_EQ(fence({"init", "--url", "redis://a", "redis://a"}).code, 64);
}

TEST_F(FenceTool, InitTakesNoMistakeForAFile) {
  const auto file = write_file(dir.file("shop.db"), "x");
  std::filesystem::create_directories(dir.file("postgres:/db"));
  write_file(dir.file("postgres:/db/shop"), "x");
  for (const std::string word : {"postgres:/db/shop", "localhost/shop", "shop.sqlite",
                                 "postgres:/u:s3cr3t@db/x", "u:s3cr3t@db/x", "s3cr3t@db", "."}) {
    for (const std::string option : {"--print", "--json"}) {
      const auto end = fence({"init", option, word});
      EXPECT_EQ(end.code, 64) << word << " " << end.out;
      EXPECT_THAT(end.err, HasSubstr("neither a URL nor a file"));
      EXPECT_EQ((end.out + end.err).find("s3cr3t"), std::string::npos) << end.err;
      const auto from_environment = fence({"init", option}, {.variables = {"CREMONE_FENCE_URL=" + word}});
      EXPECT_EQ(from_environment.code, 64) << word;
      EXPECT_THAT(from_environment.err, HasSubstr("(the URL is from CREMONE_FENCE_URL)"));
      EXPECT_EQ((from_environment.out + from_environment.err).find("s3cr3t"), std::string::npos);
    }
  }
  EXPECT_THAT(fence({"init", "localhost/shop"}).err, HasSubstr("'localhost/shop'"));
  EXPECT_EQ(fence({"init"}, {.variables = {"CREMONE_FENCE_URL=" + file}}).code, 64)
      << "no command takes that";
  EXPECT_EQ(fence({"init", file}).code, 0);
}

TEST_F(FenceTool, APasswordIsHiddenAlsoWhereASlashIsMissing) {
  for (const std::string command : {"check", "show", "write", "append"}) {
    const auto end = fence({command, "postgres:/u:s3cr3t@db/x"}, {.token = "41", .input = "x"});
    EXPECT_EQ(end.code, 64) << end.err;
    EXPECT_EQ((end.out + end.err).find("s3cr3t"), std::string::npos) << end.err;
  }
}

TEST_F(FenceTool, HelpTeachesEachCommand) {
  for (const std::string command : {"write", "append", "check", "show", "init"}) {
    const auto end = fence({command, "--help"});
    EXPECT_EQ(end.code, 0);
    EXPECT_THAT(end.out, AllOf(HasSubstr("Usage: cremone fence " + command), HasSubstr("Examples:\n  ")));
    EXPECT_EQ(end.out, cremone({"help", "fence", command}).out);
    EXPECT_THAT(cremone({"fence", "--help"}).out, HasSubstr("\n  " + command + " "));
  }
  EXPECT_THAT(fence({"check", "--help"}).out, HasSubstr("from then on lower ones are refused"));
  EXPECT_THAT(cremone({"help"}).out, HasSubstr("\n  fence "));
  EXPECT_THAT(cremone({"help", "exit-codes"}).out, HasSubstr("`fence show`"));
  EXPECT_EQ(cremone({"help", "fence"}).out, cremone({"fence", "-h"}).out);
  EXPECT_EQ(fence({}).code, 64);
  EXPECT_THAT(fence({"wirte", "f"}).err, HasSubstr("did you mean write?"));
  EXPECT_THAT(fence({"redis://me:secret@host"}).err, ::testing::Not(HasSubstr("secret")));
  EXPECT_EQ(fence({"--url", "sqlite://" + dir.file("none.db"), "show", "x"}).code, 78)
      << "options may come first";
}

}  // namespace

std::unique_ptr<fence_database> make_fence_database() { return std::make_unique<sqlite_file>(); }

}  // namespace cremone::test
