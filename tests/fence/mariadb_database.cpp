// SPDX-License-Identifier: Apache-2.0
#include "fence/mariadb_database.hpp"

#include <cremone/fence_mariadb.hpp>

#include <mysql.h>

namespace cremone::test {

namespace {

class mariadb_session final : public database_session {
 public:
  mariadb_session(std::uint16_t port, const std::string& user) : link_(mysql_init(nullptr), &mysql_close) {
    EXPECT_NE(mysql_real_connect(link_.get(), "127.0.0.1", user.c_str(), "", "shop", port, nullptr, 0),
              nullptr)
        << mysql_error(link_.get());
  }

  [[nodiscard]] std::string refusal_of(const std::string& statement) override {
    (void)ask(statement);
    return mysql_error(link_.get());
  }

  [[nodiscard]] std::vector<std::string> column(const std::string& query) override {
    const rows_of_server rows = ask(query);
    EXPECT_STREQ(mysql_error(link_.get()), "") << query;
    std::vector<std::string> all;
    while (MYSQL_ROW row = rows == nullptr ? nullptr : mysql_fetch_row(rows.get())) {
      all.emplace_back(row[0] == nullptr ? "" : row[0]);
    }
    return all;
  }

  [[nodiscard]] std::unique_ptr<fence::sql_connection> connection() override {
    return fence::mariadb(link_.get());
  }

  void begin(const std::string& level) override {
    if (!level.empty()) {
      run("SET TRANSACTION ISOLATION LEVEL " + level);
    }
    run("START TRANSACTION");
  }
  void isolate(const std::string& level) override { run("SET SESSION TRANSACTION ISOLATION LEVEL " + level); }
  [[nodiscard]] std::string id() override { return std::to_string(mysql_thread_id(link_.get())); }

  void ping() { EXPECT_EQ(mysql_ping(link_.get()), 0) << mysql_error(link_.get()); }

 private:
  using rows_of_server = std::unique_ptr<MYSQL_RES, decltype(&mysql_free_result)>;

  rows_of_server ask(const std::string& text) {
    const bool failed = mysql_real_query(link_.get(), text.data(), text.size()) != 0;
    return {failed ? nullptr : mysql_store_result(link_.get()), &mysql_free_result};
  }

  std::unique_ptr<MYSQL, decltype(&mysql_close)> link_;
};

}  // namespace

void ping(database_session& session) { dynamic_cast<mariadb_session&>(session).ping(); }

std::unique_ptr<database_session> mariadb_database::connect(const std::string& user) {
  return std::make_unique<mariadb_session>(server_.port(), user.empty() ? "root" : user);
}

std::vector<database_kind> tested_databases() {
  return {{"mariadb", [](bool synced) -> std::unique_ptr<database> {
             return std::make_unique<mariadb_database>(synced);
           }}};
}

}  // namespace cremone::test
