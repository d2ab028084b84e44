// SPDX-License-Identifier: Apache-2.0
//
// A user's program that fences writes into every kind of database. It asks each without a connection, which is refused: that it links, and that
// the right library answers, is all there is to see.
#include <cremone/fence_mariadb.hpp>
#include <cremone/fence_postgres.hpp>
#include <cremone/fence_redis.hpp>
#include <cremone/fence_sqlite.hpp>

#include <iostream>

int main() {
  namespace fence = cremone::fence;
  const cremone::fence_token token(41);
  int refused = 0;
  refused += fence::sql_gate(fence::sqlite(nullptr)).check("ledger", token).has_error() ? 1 : 0;
  refused += fence::sql_gate(fence::postgres(nullptr)).check("ledger", token).has_error() ? 1 : 0;
  refused += fence::sql_gate(fence::mariadb(nullptr)).check("ledger", token).has_error() ? 1 : 0;
  refused += fence::redis_gate(nullptr).check("ledger", token).has_error() ? 1 : 0;
  std::cout << "refused " << refused << '\n';
}
