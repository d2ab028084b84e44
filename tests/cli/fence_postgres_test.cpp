// SPDX-License-Identifier: Apache-2.0
//
// `fence` on a real PostgreSQL server: as in fence_database_test.cpp, and as whom it comes.
#include "cli/fence_database.hpp"
#include "cli/fence_fixture.hpp"
#include "support/postgres_server.hpp"
#include "support/raw_server.hpp"

#include <libpq-fe.h>
#include <signal.h>

#include <stdexcept>

namespace cremone::test {

namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class postgres_database final : public fence_database {
 public:
  [[nodiscard]] std::string url() const override { return url_as("postgres"); }
  [[nodiscard]] std::string url_as(const std::string& who, const std::string& database = "shop") const {
    return "postgres://" + who + "@127.0.0.1:" + std::to_string(server_.port()) + "/" + database;
  }
  [[nodiscard]] std::string kind() const override { return "PostgreSQL"; }
  void execute(const std::string& statement) override {
    const std::unique_ptr<PGconn, void (*)(PGconn*)> link(::PQconnectdb(server_.conninfo().c_str()),
                                                          ::PQfinish);
    const std::unique_ptr<PGresult, void (*)(PGresult*)> answer(::PQexec(link.get(), statement.c_str()),
                                                                ::PQclear);
    const auto status = ::PQresultStatus(answer.get());
    if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK) {
      throw std::runtime_error(statement + ": " + ::PQerrorMessage(link.get()));
    }
  }
  void stop() override { server_.kill(); }

 private:
  postgres_server server_{{.synced = false}};
};

class FencePostgres : public FenceTool {
 protected:
  /// From now on ann needs a password.
  void protect() {
    base.execute("CREATE ROLE ann LOGIN PASSWORD 'opensesame'");
    base.execute(
        "DO $$ BEGIN EXECUTE format('COPY (VALUES (%L), (%L)) TO %L', "
        "'host all ann 127.0.0.1/32 scram-sha-256', 'host all all 127.0.0.1/32 trust', "
        "current_setting('hba_file')); END $$");
    base.execute("SELECT pg_reload_conf()");
    ASSERT_TRUE(wait_for([&] { return fence({"show", "--url", base.url_as("ann"), "x"}).code == 77; }));
  }

  postgres_database base;
};

TEST_F(FencePostgres, TakesThePasswordFromWhereLibpqFindsIt) {
  protect();
  EXPECT_EQ(fence({"init", base.url()}).code, 0);
  const std::string url = base.url_as("ann");
  const auto none = fence({"check", "--url", url, "x"}, {.token = "41"});
  EXPECT_EQ(none.code, 77);
  EXPECT_THAT(none.err, HasSubstr("PostgreSQL"));
  const auto wrong =
      fence({"check", "--url", url, "x"}, {.token = "41", .variables = {"PGPASSWORD=opensezame"}});
  EXPECT_EQ(wrong.code, 77) << wrong.err;
  EXPECT_THAT(wrong.err, AllOf(HasSubstr("ann"), Not(HasSubstr("opensezame"))));
  const auto in_url = fence({"check", "--url", base.url_as("ann:opensezame"), "x"}, {.token = "41"});
  EXPECT_EQ(in_url.code, 77) << in_url.err;
  EXPECT_THAT(in_url.err, Not(HasSubstr("opensezame")));
  const auto not_allowed =
      fence({"check", "--url", url, "x"}, {.token = "41", .variables = {"PGPASSWORD=opensesame"}});
  EXPECT_EQ(not_allowed.code, 77) << not_allowed.err;
  EXPECT_THAT(not_allowed.err, HasSubstr("permission denied"));
  base.execute("GRANT SELECT, INSERT, UPDATE ON cremone_fence TO ann");
  EXPECT_EQ(fence({"check", "--url", url, "x"}, {.token = "41", .variables = {"PGPASSWORD=opensesame"}}).code,
            0);
  EXPECT_EQ(fence({"check", "--url", base.url_as("ann:opensesame"), "x"}, {.token = "42"}).code, 0);
  const auto file = write_file(dir.file("pass"), "*:*:*:ann:opensesame\n", 0600);
  EXPECT_EQ(fence({"show", "--url", url + "?passfile=" + file, "x"}).out, "42\n");
}

TEST_F(FencePostgres, ADatabaseThatIsNotThereIsAnotherMatterThanAServer) {
  const auto end = fence({"init", base.url_as("postgres", "nowhere")});
  EXPECT_EQ(end.code, 78) << end.err;
  EXPECT_THAT(end.err, HasSubstr("nowhere"));
  EXPECT_EQ(fence({"init", "postgresql" + base.url().substr(8)}).code, 0) << "both names of the scheme";
}

TEST_F(FencePostgres, WaitsForAnothersTransactionAndNotForEver) {
  EXPECT_EQ(fence({"init", base.url()}).code, 0);
  EXPECT_EQ(fence({"check", "--url", base.url(), "x"}, {.token = "41"}).code, 0);
  const std::unique_ptr<PGconn, void (*)(PGconn*)> other(::PQconnectdb(base.url().c_str()), ::PQfinish);
  ::PQclear(::PQexec(other.get(), "BEGIN"));
  ::PQclear(::PQexec(other.get(), "LOCK TABLE cremone_fence IN ACCESS EXCLUSIVE MODE"));
  process check(fence_words({"check", "--url", base.url(), "x"}, {.token = "42"}), here());
  process show(fence_words({"show", "--url", base.url(), "x"}), here());
  for (process* const tool : {&check, &show}) {
    const auto end = tool->wait();
    EXPECT_EQ(end.code, 75) << end.err;
  }
  ::PQclear(::PQexec(other.get(), "ROLLBACK"));
  EXPECT_EQ(fence({"check", "--url", base.url(), "x"}, {.token = "42"}).code, 0);
}

/// It takes what it is sent, and says nothing: the kernel of its machine is still there.
TEST_F(FencePostgres, DoesNotWaitForEverForAServerThatStandsStill) {
  EXPECT_EQ(fence({"init", base.url()}).code, 0);
  const std::unique_ptr<PGconn, void (*)(PGconn*)> other(::PQconnectdb(base.url().c_str()), ::PQfinish);
  ::PQclear(::PQexec(other.get(), "BEGIN"));
  ::PQclear(::PQexec(other.get(), "LOCK TABLE cremone_fence IN ACCESS EXCLUSIVE MODE"));
  process tool(fence_words({"check", "--url", base.url(), "x"}, {.token = "42"}), here());
  pid_t serves = 0;
  EXPECT_TRUE(wait_for([&] {
    const std::unique_ptr<PGresult, void (*)(PGresult*)> seen(
        ::PQexec(other.get(), "SELECT pid FROM pg_stat_activity WHERE wait_event_type = 'Lock'"), ::PQclear);
    serves = ::PQntuples(seen.get()) == 1 ? std::stoi(::PQgetvalue(seen.get(), 0, 0)) : 0;
    ::PQclear(::PQexec(other.get(), "SELECT pg_stat_clear_snapshot()"));
    return serves > 0;
  }));
  ASSERT_GT(serves, 0);
  ::kill(serves, SIGSTOP);
  const auto end = tool.wait(9 * generous);  // it waits for 20 s itself
  ::kill(serves, SIGCONT);
  EXPECT_EQ(end.code, 69) << end.err;
  EXPECT_THAT(end.err, AllOf(HasSubstr("'shop' on 127.0.0.1:"), HasSubstr("within 20 s")));
}

/// The kernel accepts connections for a stopped server, and anything may listen at a wrong address.
TEST(FencePostgresConnect, UnansweredConnectFailsAtDeadlineAndNamesHostAndPort) {
  const raw_server silent(stay_silent);
  const raw_server slow(trickle(std::string("E\x7f\xff\xff\xff", 5)));
  const auto begun = std::chrono::steady_clock::now();
  const auto show = [](const raw_server& at) {
    const std::string url = "postgres://ann@" + at.node() + "/shop?sslmode=disable";
    return std::make_unique<process>(
        std::vector<std::string>{CREMONE_TOOL, "fence", "show", "--url", url, "x"});
  };
  const auto first = show(silent);
  const auto second = show(slow);
  for (const auto& [at, tool] : {std::pair(&silent, first.get()), std::pair(&slow, second.get())}) {
    const auto end = tool->wait();
    EXPECT_EQ(end.code, 69) << end.err;
    const std::string port = at->node().substr(at->node().find(':') + 1);
    EXPECT_THAT(end.err, AllOf(HasSubstr("127.0.0.1"), HasSubstr("port " + port)));
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(9))
      << "5 s, and no second attempt";
}

}  // namespace

std::unique_ptr<fence_database> make_fence_database() { return std::make_unique<postgres_database>(); }

}  // namespace cremone::test
