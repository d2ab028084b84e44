// SPDX-License-Identifier: Apache-2.0
//
// What a fenced write costs beside the same write without a fence, in the same kind of transaction, on PostgreSQL and MariaDB with their usual
// durability: each commit waits for the disk. One connection; both sides take turns, a transaction each.
#include "bench/redis_server.hpp"
#include "bench/scratch.hpp"
#include "support/mariadb_server.hpp"
#include "support/postgres_server.hpp"

#include <cremone/fence_mariadb.hpp>
#include <cremone/fence_postgres.hpp>

#include <benchmark/benchmark.h>

#include <libpq-fe.h>
#include <mysql.h>

#include <chrono>
#include <exception>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace cremone::bench {
namespace {

using clock = std::chrono::steady_clock;

constexpr int transactions = 2000;

/// One connection, and a way to say something on it.
class postgres_line {
 public:
  postgres_line() : open_(::PQconnectdb(server_.conninfo().c_str()), ::PQfinish) {}

  [[nodiscard]] std::unique_ptr<fence::sql_connection> fenced() { return fence::postgres(open_.get()); }
  void run(const char* sql) {
    const std::unique_ptr<PGresult, decltype(&::PQclear)> done(::PQexec(open_.get(), sql), ::PQclear);
    if (::PQresultStatus(done.get()) != PGRES_COMMAND_OK) {
      throw std::runtime_error(::PQerrorMessage(open_.get()));
    }
  }

 private:
  test::postgres_server server_;
  std::unique_ptr<PGconn, decltype(&::PQfinish)> open_;
};

class mariadb_line {
 public:
  mariadb_line() : open_(::mysql_init(nullptr), ::mysql_close) {
    if (::mysql_real_connect(open_.get(), "127.0.0.1", "root", nullptr, "shop", server_.port(), nullptr, 0) ==
        nullptr) {
      throw std::runtime_error(::mysql_error(open_.get()));
    }
  }

  [[nodiscard]] std::unique_ptr<fence::sql_connection> fenced() { return fence::mariadb(open_.get()); }
  void run(const char* sql) {
    if (::mysql_query(open_.get(), sql) != 0) {
      throw std::runtime_error(::mysql_error(open_.get()));
    }
  }

 private:
  test::mariadb_server server_;
  std::unique_ptr<MYSQL, decltype(&::mysql_close)> open_;
};

double microseconds_of(const std::function<void()>& what) {
  const auto began = clock::now();
  what();
  return std::chrono::duration<double, std::micro>(clock::now() - began).count();
}

template <class Line>
void fence_sql(benchmark::State& state) {
  try {
    const pinned here;
    Line line;
    line.run("CREATE TABLE account (id INTEGER PRIMARY KEY, balance BIGINT NOT NULL, token BIGINT NOT NULL)");
    line.run("INSERT INTO account VALUES (1, 0, 0), (2, 0, 0), (3, 0, 0), (4, 0, 0)");
    fence::sql_gate gate(line.fenced());
    gate.create().value();
    std::uint64_t token = 1;
    const auto transaction = [&](const std::function<void()>& fence, const char* write) {
      line.run("BEGIN");
      fence();
      line.run(write);
      line.run("COMMIT");
    };
    const std::vector<fence::sql_column> set = {{"balance", std::int64_t{7}}};
    const std::vector<std::function<void()>> sides = {
        [&] { transaction([] {}, "UPDATE account SET balance = balance + 1 WHERE id = 1"); },
        [&] {
          transaction([&] { gate.check("same", fence_token(1)).value(); },
                      "UPDATE account SET balance = balance + 1 WHERE id = 2");
        },
        [&] {
          gate.transact("new", fence_token(++token),
                        [&]() -> result<void> {
                          line.run("UPDATE account SET balance = balance + 1 WHERE id = 3");
                          return {};
                        })
              .value();
        },
        [&] {
          line.run("BEGIN");
          gate.update({.table = "account", .key_column = "id", .key = std::int64_t{4}}, "token",
                      fence_token(++token), set)
              .value();
          line.run("COMMIT");
        }};
    std::vector<std::vector<double>> times(sides.size());
    for (auto _ : state) {
      const auto began = clock::now();
      for (int i = 0; i < transactions; ++i) {
        for (std::size_t s = 0; s < sides.size(); ++s) {
          times[s].push_back(microseconds_of(sides[s]));
        }
      }
      state.SetIterationTime(std::chrono::duration<double>(clock::now() - began).count());
    }
    const double plain = median(times[0]);
    state.counters["plain_us"] = plain;
    state.counters["check_ratio"] = median(times[1]) / plain;
    state.counters["transact_ratio"] = median(times[2]) / plain;
    state.counters["row_ratio"] = median(times[3]) / plain;
  } catch (const std::exception& failed) {
    state.SkipWithError(failed.what());
  }
}

BENCHMARK(fence_sql<postgres_line>)
    ->Name("fence_postgres")
    ->Iterations(1)
    ->UseManualTime()
    ->Unit(benchmark::kSecond);
BENCHMARK(fence_sql<mariadb_line>)
    ->Name("fence_mariadb")
    ->Iterations(1)
    ->UseManualTime()
    ->Unit(benchmark::kSecond);

}  // namespace
}  // namespace cremone::bench
