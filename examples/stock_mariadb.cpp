// SPDX-License-Identifier: Apache-2.0
//
// A stock count in MariaDB whose rows carry the token themselves: no other table, one statement for each write. MYSQL_HOST, MYSQL_TCP_PORT,
// MYSQL_USER, MYSQL_PWD and MYSQL_DATABASE say which database.
#include <cremone/cremone.hpp>
#include <cremone/fence_mariadb.hpp>

#include <mysql.h>

#include <cstdlib>
#include <iostream>
#include <memory>
#include <vector>

namespace fence = cremone::fence;

int main() {
  const std::unique_ptr<MYSQL, decltype(&mysql_close)> database(mysql_init(nullptr), mysql_close);
  const char* const port = std::getenv("MYSQL_TCP_PORT");
  if (mysql_real_connect(database.get(), std::getenv("MYSQL_HOST"), std::getenv("MYSQL_USER"),
                         std::getenv("MYSQL_PWD"), std::getenv("MYSQL_DATABASE"),
                         port == nullptr ? 0U : static_cast<unsigned>(std::atoi(port)), nullptr,
                         0) == nullptr) {
    std::cout << mysql_error(database.get()) << '\n';
    return 1;
  }
  for (const char* const sql :
       {"CREATE TABLE IF NOT EXISTS stock (item VARCHAR(64) PRIMARY KEY, pieces INT NOT NULL, "
        "token BIGINT NOT NULL DEFAULT 0) ENGINE=InnoDB",
        "INSERT IGNORE INTO stock (item, pieces) VALUES ('bolt', 12)"}) {
    if (mysql_query(database.get(), sql) != 0) {
      std::cout << mysql_error(database.get()) << '\n';
      return 1;
    }
  }

  auto locks = cremone::open().value();
  const auto lease = locks.acquire("stock of bolts").value();

  // UPDATE stock SET pieces = …, token = … WHERE item = 'bolt' AND token <= …
  fence::sql_gate gate(fence::mariadb(database.get()));
  const fence::sql_row bolt{.table = "stock", .key_column = "item", .key = "bolt"};
  const auto count = [&](cremone::fence_token token, std::int64_t pieces) {
    return gate.update(bolt, "token", token, std::vector<fence::sql_column>{{"pieces", pieces}});
  };
  count(lease.token(), 11).value();
  count(lease.token(), 10).value();  // one holder writes as often as it likes

  // Somebody who held the lock before us, was stopped, and wakes up only now.
  const auto late = count(cremone::fence_token(lease.token().value() - 1), 12);
  std::cout << (late ? "two bolts came from nowhere" : late.error().message()) << '\n';
  return !late && late.error() == cremone::errc::stale_token ? 0 : 1;
}
