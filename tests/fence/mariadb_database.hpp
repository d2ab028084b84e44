// SPDX-License-Identifier: Apache-2.0
//
// MariaDB in the words of databases.hpp.
#pragma once

#include "fence/databases.hpp"
#include "support/mariadb_server.hpp"

namespace cremone::test {

class mariadb_database final : public database {
 public:
  explicit mariadb_database(bool synced) : server_({.synced = synced}) {}

  [[nodiscard]] std::unique_ptr<database_session> connect(const std::string& user = "") override;
  void kill() override { server_.kill(); }
  void start_again() override { server_.start_again(); }

  [[nodiscard]] std::string how_many_wait() const override {
    return "SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS "
           "WHERE VARIABLE_NAME = 'Innodb_row_lock_current_waits'";
  }
  [[nodiscard]] std::string end_of(const std::string& session) const override { return "KILL " + session; }
  [[nodiscard]] std::string waits_at_most_a_second() const override {
    return "SET innodb_lock_wait_timeout = 1";
  }
  [[nodiscard]] std::string read_only_begin() const override { return "START TRANSACTION READ ONLY"; }
  [[nodiscard]] std::vector<std::string> user_who_may_read() const override {
    return {"CREATE USER ann@'127.0.0.1'", "GRANT SELECT ON shop.* TO ann@'127.0.0.1'"};
  }

 private:
  mariadb_server server_;
};

/// As a pool does to see whether a connection is still good: the last error is forgotten.
void ping(database_session& session);

}  // namespace cremone::test
