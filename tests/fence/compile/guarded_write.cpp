// SPDX-License-Identifier: Apache-2.0
//
// A guarded write of each kind. As it stands it must compile; with one of the cases it must not: what a write is let pass by is a
// fence token, and nothing that merely looks like one. compile_test.cmake compiles it, and never links or runs it.
#include <cremone/cremone.hpp>
#include <cremone/fence_redis.hpp>
#include <cremone/fence_sql.hpp>
#include <cremone/fenced_file.hpp>

#include <span>
#include <string>

#if defined(WITH_A_READ_TOKEN)
#define TOKEN cremone::read_token(41),
#elif defined(WITH_A_NUMBER)
#define TOKEN 41U,
#elif defined(WITH_AN_OWNER)
#define TOKEN lease.owner(),
#elif defined(WITH_THE_NAME_OF_THE_LOCK)
#define TOKEN lease.name(),
#elif defined(WITHOUT_A_TOKEN)
#define TOKEN
#else
#define TOKEN lease.token(),
#endif

bool guarded_writes(const cremone::lease& lease, cremone::fence::sql_gate& gate,
                    cremone::fence::redis_gate& cache, const cremone::fenced_file& file,
                    const cremone::fence::sql_row& row, std::span<const cremone::fence::sql_column> set,
                    std::span<const std::string> keys) {
  (void)lease;
  bool done = false;
#if defined(SQL_TRANSACT)
  done = gate.transact(
                 "ledger", TOKEN[] { return cremone::result<void>(); })
             .has_value();
#elif defined(SQL_UPDATE)
  done = gate.update(row, "token", TOKEN set, cremone::fence::writes::once).has_value();
#elif defined(REDIS_SET)
  done = cache.set("prices", TOKEN "price:42", "17.50").has_value();
#elif defined(REDIS_DEL)
  done = cache.del("prices", TOKEN keys).has_value();
#elif defined(FILE_WRITE)
  done = file.write(TOKEN std::string_view("a;b;c\n")).has_value();
#elif defined(FILE_APPEND)
  done = file.append(TOKEN std::string_view("a;b;c\n")).has_value();
#else
#error "which write?"
#endif
  return done;
}
