// SPDX-License-Identifier: Apache-2.0
#include "support/mariadb_server.hpp"

#include "support/wait_for.hpp"

#include <filesystem>
#include <memory>
#include <stdexcept>

#include <mysql.h>

namespace cremone::test {

namespace {

constexpr const char* package = "the package mariadb-server-core";

std::string first_of(const std::vector<std::string>& places, const std::string& what) {
  for (const std::string& place : places) {
    if (std::filesystem::exists(place)) {
      return place;
    }
  }
  throw std::runtime_error("there is no " + what + " on this machine: install " + package + " (./dev setup)");
}

std::string program() {
  return first_of({"/usr/sbin/mariadbd", "/usr/bin/mariadbd", "/usr/local/bin/mariadbd"}, "mariadbd");
}

/// Empty when it answers, else what the client's library says.
std::string asked(std::uint16_t port, const std::string& text) {
  const std::unique_ptr<MYSQL, decltype(&mysql_close)> link(mysql_init(nullptr), &mysql_close);
  if (mysql_real_connect(link.get(), "127.0.0.1", "root", "", nullptr, port, nullptr, 0) == nullptr ||
      mysql_query(link.get(), text.c_str()) != 0) {
    return mysql_error(link.get());
  }
  return {};
}

}  // namespace

mariadb_server::mariadb_server(mariadb_options options)
    : directory_(place_for_data(options.synced)), options_(options) {
  user_.own(directory_.path());
  make_tables();
  start_again();
  if (const std::string failed = asked(port(), "CREATE DATABASE shop"); !failed.empty()) {
    throw std::runtime_error("CREATE DATABASE: " + failed);
  }
}

std::vector<std::string> mariadb_server::arguments() const {
  return {program(),
          "--no-defaults",
          "--datadir=" + directory_.file("data"),
          "--socket=" + directory_.file("socket"),
          "--pid-file=" + directory_.file("pid"),
          "--tmpdir=" + directory_.file("tmp"),  // a server that starts removes what others have in theirs
          "--bind-address=127.0.0.1",
          "--port=" + port_.text(),
          "--innodb-log-file-size=8M",
          "--innodb-buffer-pool-size=16M",
          options_.synced ? "--innodb-flush-log-at-trx-commit=1" : "--debug-no-sync"};
}

/// What the installer would do, without its helper programs and its pages of help.
void mariadb_server::make_tables() {
  for (const char* const name : {"data", "tmp"}) {
    std::filesystem::create_directory(directory_.file(name));
    user_.own(directory_.file(name));
  }
  const std::string tables =
      first_of({"/usr/share/mariadb/mysql_system_tables.sql", "/usr/share/mysql/mysql_system_tables.sql"},
               "mysql_system_tables.sql");
  std::string command = "{ echo 'CREATE DATABASE mysql;'; echo 'USE mysql;'; cat " + tables +
                        "; echo \"INSERT INTO global_priv VALUES ('127.0.0.1', 'root', "
                        "'{\\\"access\\\":18446744073709551615}');\"; } |";
  for (const std::string& word : arguments()) {
    command += " '" + word + "'";
  }
  server_process made({"/bin/sh", "-c", command + " --bootstrap --silent-startup --debug-no-sync"}, user_,
                      directory_.file("bootstrap.log"), "a shell");
  if (!made.finish()) {
    throw std::runtime_error("mariadbd --bootstrap fails: " + made.log());
  }
}

void mariadb_server::start_again() {
  process_ = {};
  process_ = server_process(arguments(), user_, directory_.file("log"), package);
  const bool ready =
      wait_for([&] { return process_.has_ended() || asked(port(), "DO 0").empty(); }, 3 * generous);
  if (!ready || process_.has_ended()) {
    throw std::runtime_error("mariadbd does not " + std::string(ready ? "start: " : "answer: ") + log());
  }
}

}  // namespace cremone::test
