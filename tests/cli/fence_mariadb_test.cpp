// SPDX-License-Identifier: Apache-2.0
//
// `fence` on a real MariaDB server: as in fence_database_test.cpp, and as whom it comes.
#include "cli/fence_database.hpp"
#include "cli/fence_fixture.hpp"
#include "support/mariadb_server.hpp"

#include <mysql.h>

#include <stdexcept>

namespace cremone::test {

namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class mariadb_database final : public fence_database {
 public:
  [[nodiscard]] std::string url() const override { return url_as("root"); }
  [[nodiscard]] std::string url_as(const std::string& who, const std::string& database = "shop") const {
    return "mariadb://" + who + "@127.0.0.1:" + std::to_string(server_.port()) + "/" + database;
  }
  [[nodiscard]] std::string kind() const override { return "MariaDB"; }
  void execute(const std::string& statement) override {
    const auto link = connect();
    if (::mysql_query(link.get(), statement.c_str()) != 0) {
      throw std::runtime_error(statement + ": " + ::mysql_error(link.get()));
    }
  }
  void stop() override { server_.kill(); }

  [[nodiscard]] std::unique_ptr<MYSQL, void (*)(MYSQL*)> connect() const {
    std::unique_ptr<MYSQL, void (*)(MYSQL*)> link(::mysql_init(nullptr), ::mysql_close);
    if (::mysql_real_connect(link.get(), "127.0.0.1", "root", "", "shop", server_.port(), nullptr, 0) ==
        nullptr) {
      throw std::runtime_error(::mysql_error(link.get()));
    }
    return link;
  }

 private:
  mariadb_server server_{{.synced = false}};
};

class FenceMariadb : public FenceTool {
 protected:
  mariadb_database base;
};

TEST_F(FenceMariadb, TakesThePasswordFromTheUrlAFileOrTheEnvironment) {
  base.execute("CREATE USER ann@'127.0.0.1' IDENTIFIED BY 'opensesame'");
  EXPECT_EQ(fence({"init", base.url()}).code, 0);
  const std::string url = base.url_as("ann");
  EXPECT_EQ(fence({"show", "--url", base.url_as("ann:opensesame"), "x"}).code, 77)
      << "no right to that database";
  base.execute("GRANT SELECT, INSERT, UPDATE ON shop.cremone_fence TO ann@'127.0.0.1'");
  for (const auto& end :
       {fence({"check", "--url", url, "x"}, {.token = "41"}),
        fence({"check", "--url", url, "x"}, {.token = "41", .variables = {"MYSQL_PWD=opensezame"}}),
        fence({"check", "--url", base.url_as("ann:opensezame"), "x"}, {.token = "41"})}) {
    EXPECT_EQ(end.code, 77) << end.err;
    EXPECT_THAT(end.err, AllOf(HasSubstr("ann"), Not(HasSubstr("opensezame"))));
  }
  EXPECT_EQ(fence({"check", "--url", url, "x"}, {.token = "41", .variables = {"MYSQL_PWD=opensesame"}}).code,
            0);
  EXPECT_EQ(fence({"check", "--url", base.url_as("ann:opensesame"), "x"}, {.token = "42"}).code, 0);
  const auto file = write_file(dir.file("pass"), "opensesame\n", 0600);
  EXPECT_EQ(fence({"show", "--url", url + "?password_file=" + file, "x"}).out, "42\n");
  EXPECT_EQ(fence({"show", "--url", url + "?password_env=WORD", "x"}, {.variables = {"WORD=opensesame"}}).out,
            "42\n");
}

TEST_F(FenceMariadb, ADatabaseThatIsNotThereIsAnotherMatterThanAServer) {
  const auto end = fence({"init", base.url_as("root", "nowhere")});
  EXPECT_EQ(end.code, 78) << end.err;
  EXPECT_THAT(end.err, HasSubstr("nowhere"));
  EXPECT_EQ(fence({"init", "mysql" + base.url().substr(7)}).code, 0) << "both names of the scheme";
  const auto socket = fence({"init", "mariadb://root@localhost/shop?socket=" + dir.file("none")});
  EXPECT_EQ(socket.code, 69) << socket.err;
}

TEST_F(FenceMariadb, WaitsForAnothersTransactionAndNotForEver) {
  EXPECT_EQ(fence({"init", base.url()}).code, 0);
  EXPECT_EQ(fence({"check", "--url", base.url(), "x"}, {.token = "41"}).code, 0);
  const auto other = base.connect();
  ASSERT_EQ(::mysql_query(other.get(), "BEGIN"), 0);
  ASSERT_EQ(::mysql_query(other.get(), "UPDATE cremone_fence SET token = 57"), 0);
  const auto end = fence({"check", "--url", base.url(), "x"}, {.token = "42"});
  EXPECT_EQ(end.code, 75) << end.err;
  ASSERT_EQ(::mysql_query(other.get(), "ROLLBACK"), 0);
  EXPECT_EQ(fence({"check", "--url", base.url(), "x"}, {.token = "42"}).code, 0);
}

}  // namespace

std::unique_ptr<fence_database> make_fence_database() { return std::make_unique<mariadb_database>(); }

}  // namespace cremone::test
