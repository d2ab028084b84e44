// SPDX-License-Identifier: Apache-2.0
//
// A ledger in PostgreSQL that refuses entries of those who have lost their lock. PGHOST, PGPORT, PGDATABASE and so on say which
// database, as for psql.
#include <cremone/cremone.hpp>
#include <cremone/fence_postgres.hpp>

#include <libpq-fe.h>

#include <iostream>
#include <memory>

namespace fence = cremone::fence;

int main() {
  const std::unique_ptr<PGconn, decltype(&PQfinish)> database(PQconnectdb(""), PQfinish);
  if (PQstatus(database.get()) != CONNECTION_OK) {
    std::cout << PQerrorMessage(database.get());
    return 1;
  }
  const auto run = [&](const char* sql) -> cremone::result<void> {
    const std::unique_ptr<PGresult, decltype(&PQclear)> done(PQexec(database.get(), sql), PQclear);
    if (PQresultStatus(done.get()) == PGRES_COMMAND_OK) return {};
    return cremone::error(cremone::errc::storage_error, PQerrorMessage(database.get()));
  };
  run("CREATE TABLE IF NOT EXISTS ledger (entry text NOT NULL, cents bigint NOT NULL)").value();
  fence::sql_gate gate(fence::postgres(database.get()));
  gate.create().value();  // once; or: cremone fence init postgres://…

  auto locks = cremone::open().value();
  const auto lease = locks.acquire("ledger").value();

  // One transaction: the token is checked and kept together with the entries, or none of it happens.
  const auto post = [&](cremone::fence_token token, const char* sql) {
    return gate.transact("ledger", token, [&] { return run(sql); });
  };
  post(lease.token(), "INSERT INTO ledger VALUES ('rent', -90000), ('salary', 210000)").value();

  // Somebody who held the lock before us, was stopped, and wakes up only now.
  const cremone::fence_token earlier(lease.token().value() - 1);
  const auto late = post(earlier, "INSERT INTO ledger VALUES ('rent', -90000)");
  std::cout << (late ? "the rent is paid twice" : late.error().message()) << '\n';
  return !late && late.error() == cremone::errc::stale_token ? 0 : 1;
}
