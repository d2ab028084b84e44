// SPDX-License-Identifier: Apache-2.0
//
// PostgreSQL in the words of databases.hpp.
#pragma once

#include "fence/databases.hpp"
#include "support/postgres_server.hpp"

namespace cremone::test {

class postgres_database final : public database {
 public:
  explicit postgres_database(bool synced) : server_({.synced = synced}) {}

  [[nodiscard]] std::unique_ptr<database_session> connect(const std::string& user = "") override;
  void kill() override { server_.kill(); }
  void start_again() override { server_.start_again(); }

  [[nodiscard]] std::string how_many_wait() const override {
    return "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'";
  }
  [[nodiscard]] std::string end_of(const std::string& session) const override {
    return "SELECT pg_terminate_backend(" + session + ", 10000)";
  }
  [[nodiscard]] std::string waits_at_most_a_second() const override { return "SET lock_timeout = '1s'"; }
  [[nodiscard]] std::string read_only_begin() const override { return "BEGIN READ ONLY"; }
  [[nodiscard]] std::vector<std::string> user_who_may_read() const override {
    return {"CREATE ROLE ann LOGIN", "GRANT SELECT ON ALL TABLES IN SCHEMA public TO ann"};
  }

 private:
  postgres_server server_;
};

}  // namespace cremone::test
