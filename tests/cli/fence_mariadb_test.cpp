// SPDX-License-Identifier: Apache-2.0
//
// `fence` on a real MariaDB server: as in fence_database_test.cpp, and as whom it comes.
#include "cli/fence_database.hpp"
#include "cli/fence_fixture.hpp"
#include "support/mariadb_server.hpp"
#include "support/raw_server.hpp"

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
  void signal(int number) const { ::kill(server_.pid(), number); }

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

/// A stopped server accepts requests and answers nothing.
TEST_F(FenceMariadb, StatementOnStoppedServerFailsAtDeadline) {
  EXPECT_EQ(fence({"init", base.url()}).code, 0);
  EXPECT_EQ(fence({"check", "--url", base.url(), "x"}, {.token = "41"}).code, 0);
  const auto other = base.connect();
  ASSERT_EQ(::mysql_query(other.get(), "BEGIN"), 0);
  ASSERT_EQ(::mysql_query(other.get(), "UPDATE cremone_fence SET token = 57"), 0);
  process tool(fence_words({"check", "--url", base.url(), "x"}, {.token = "42"}), here());
  const auto watch = base.connect();
  EXPECT_TRUE(wait_for([&] {
    if (::mysql_query(watch.get(),
                      "SELECT 1 FROM information_schema.processlist WHERE id <> CONNECTION_ID() "
                      "AND command = 'Query' AND info LIKE '%cremone_fence%'") != 0) {
      return false;
    }
    const std::unique_ptr<MYSQL_RES, void (*)(MYSQL_RES*)> rows(::mysql_store_result(watch.get()),
                                                                ::mysql_free_result);
    return rows && ::mysql_num_rows(rows.get()) == 1;
  }));
  base.signal(SIGSTOP);
  const auto end = tool.wait(9 * generous);  // it waits for 20 s itself
  base.signal(SIGCONT);
  EXPECT_EQ(end.code, 69) << end.err;
  EXPECT_THAT(end.err, AllOf(HasSubstr("'shop' on 127.0.0.1:"), HasSubstr("within 20 s")));
}

/// The kernel accepts connections for a stopped server, and anything may listen at a wrong address.
TEST(FenceMariadbConnect, UnansweredConnectFailsAtDeadlineAndNamesHostAndPort) {
  const raw_server silent(stay_silent);
  const raw_server slow(trickle(std::string("\0\x20\0\0\x0a", 5)));
  const reserved_port nobody;
  const auto show = [](const std::string& node) {
    return std::make_unique<process>(std::vector<std::string>{CREMONE_TOOL, "fence", "show", "--url",
                                                              "mariadb://ann@" + node + "/shop", "x"});
  };
  const auto begun = std::chrono::steady_clock::now();
  const std::string nodes[] = {silent.node(), slow.node(), "127.0.0.1:" + nobody.text()};
  const std::unique_ptr<process> tools[] = {show(nodes[0]), show(nodes[1]), show(nodes[2])};
  for (std::size_t i = 0; i < std::size(nodes); ++i) {
    const auto end = tools[i]->wait();
    EXPECT_EQ(end.code, 69) << end.err;
    EXPECT_THAT(end.err, HasSubstr("MariaDB at " + nodes[i]));
    EXPECT_EQ(end.err.find("within 5 s") != std::string::npos, i < 2) << end.err;
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begun, generous);
}

}  // namespace

std::unique_ptr<fence_database> make_fence_database() { return std::make_unique<mariadb_database>(); }

}  // namespace cremone::test
