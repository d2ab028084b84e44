// SPDX-License-Identifier: Apache-2.0
#include "fence/postgres_database.hpp"

#include <cremone/fence_postgres.hpp>

#include <libpq-fe.h>

namespace cremone::test {

namespace {

class postgres_session final : public database_session {
 public:
  explicit postgres_session(const std::string& conninfo) : link_(PQconnectdb(conninfo.c_str()), &PQfinish) {
    EXPECT_EQ(PQstatus(link_.get()), CONNECTION_OK) << PQerrorMessage(link_.get());
    PQsetNoticeProcessor(
        link_.get(), [](void*, const char*) {}, nullptr);
  }

  [[nodiscard]] std::string refusal_of(const std::string& statement) override {
    const answer rows(PQexec(link_.get(), statement.c_str()), &PQclear);
    return PQresultErrorMessage(rows.get());
  }

  [[nodiscard]] std::vector<std::string> column(const std::string& query) override {
    const answer rows(PQexec(link_.get(), query.c_str()), &PQclear);
    EXPECT_STREQ(PQresultErrorMessage(rows.get()), "") << query;
    std::vector<std::string> all;
    for (int i = 0; i < PQntuples(rows.get()); ++i) {
      all.emplace_back(PQgetvalue(rows.get(), i, 0));
    }
    return all;
  }

  [[nodiscard]] std::unique_ptr<fence::sql_connection> connection() override {
    return fence::postgres(link_.get());
  }

  void begin(const std::string& level) override {
    run(level.empty() ? "BEGIN" : "BEGIN ISOLATION LEVEL " + level);
  }
  void isolate(const std::string& level) override {
    run("SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL " + level);
  }
  [[nodiscard]] std::string id() override { return std::to_string(PQbackendPID(link_.get())); }

 private:
  using answer = std::unique_ptr<PGresult, decltype(&PQclear)>;

  std::unique_ptr<PGconn, decltype(&PQfinish)> link_;
};

}  // namespace

std::unique_ptr<database_session> postgres_database::connect(const std::string& user) {
  return std::make_unique<postgres_session>(server_.conninfo(user.empty() ? "postgres" : user));
}

std::vector<database_kind> tested_databases() {
  return {{"postgres", [](bool synced) -> std::unique_ptr<database> {
             return std::make_unique<postgres_database>(synced);
           }}};
}

}  // namespace cremone::test
