// SPDX-License-Identifier: Apache-2.0
//
// What a pair of acquire and release costs on sqlite://, beside the least that SQLite can do for it: two prepared
// statements on a table of the same shape, in a file of its own beside the other. Asserts nothing; figures only.
#include "bench/cpu.hpp"
#include "bench/scratch.hpp"

#include "backends/sqlite/sql.hpp"

#include <cremone/cremone.hpp>

#include <benchmark/benchmark.h>

#include <sched.h>
#include <sqlite3.h>
#include <time.h>

#include <array>
#include <chrono>
#include <string>
#include <string_view>
#include <vector>

namespace cremone::bench {
namespace {

/// The writing alone: no token, no queue, no check of anything.
class bare_loop {
 public:
  explicit bare_loop(const std::string& path) {
    sqlite3_open_v2(path.c_str(), &connection_,
                    SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_FULLMUTEX, "unix");
    sqlite3_exec(connection_, "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL", nullptr, nullptr,
                 nullptr);
    sqlite3_exec(connection_, sqlite::sql::schema, nullptr, nullptr, nullptr);
    take_ = prepared(
        "INSERT INTO lock VALUES (?1, ?3, 1, ?2, 0, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, 0, x'', x'') "
        "ON CONFLICT (name) DO UPDATE SET token = excluded.token, tickets = tickets + 1, owner = "
        "excluded.owner, "
        "seq = 0, ttl = excluded.ttl, host = excluded.host, pid = excluded.pid, user = excluded.user, "
        "label = excluded.label, since = excluded.since, life = excluded.life, place = excluded.place");
    free_ = prepared("UPDATE lock SET owner = NULL, freed = ?3, dead = ?4 WHERE name = ?1 AND owner = ?2");
  }
  bare_loop(const bare_loop&) = delete;
  bare_loop& operator=(const bare_loop&) = delete;
  ~bare_loop() {
    sqlite3_finalize(take_);
    sqlite3_finalize(free_);
    sqlite3_close(connection_);
  }

  [[nodiscard]] bool pair() {
    owner_[0] = static_cast<char>(++n_);
    text(take_, 1, "bench");
    blob(take_, 2, {owner_.data(), owner_.size()});
    number(take_, 3, first_token + n_);
    number(take_, 4, 30'000);
    text(take_, 5, "a-host.example");
    number(take_, 6, 12'345);
    text(take_, 7, "somebody");
    text(take_, 8, "");
    number(take_, 9, first_token + n_);
    number(take_, 10, std::int64_t{1} << 60U);
    blob(take_, 11, {dead_.data(), 24});
    const bool taken = done(take_);
    text(free_, 1, "bench");
    blob(free_, 2, {owner_.data(), owner_.size()});
    number(free_, 3, first_token + n_);
    blob(free_, 4, {dead_.data(), dead_.size()});
    return done(free_) && taken;
  }

 private:
  static constexpr std::int64_t first_token = 1'700'000'000'000'000;

  sqlite3_stmt* prepared(const char* sql) {
    sqlite3_stmt* made = nullptr;
    sqlite3_prepare_v3(connection_, sql, -1, SQLITE_PREPARE_PERSISTENT, &made, nullptr);
    return made;
  }
  static void text(sqlite3_stmt* s, int i, std::string_view v) {
    sqlite3_bind_text(s, i, v.data(), static_cast<int>(v.size()), SQLITE_STATIC);
  }
  static void blob(sqlite3_stmt* s, int i, std::string_view v) {
    sqlite3_bind_blob(s, i, v.data(), static_cast<int>(v.size()), SQLITE_STATIC);
  }
  static void number(sqlite3_stmt* s, int i, std::int64_t v) { sqlite3_bind_int64(s, i, v); }
  [[nodiscard]] bool done(sqlite3_stmt* s) {
    const bool fine = sqlite3_step(s) == SQLITE_DONE && sqlite3_changes(connection_) == 1;
    sqlite3_reset(s);
    return fine;
  }

  sqlite3* connection_ = nullptr;
  sqlite3_stmt* take_ = nullptr;
  sqlite3_stmt* free_ = nullptr;
  std::array<char, 20> owner_{};
  std::array<char, 160> dead_{};  // as long as the tombstones of eight owners
  std::int64_t n_ = 0;
};

/// Both loops on one core, whichever this thread is on; given back at the end.
class pinned {
 public:
  pinned() {
    sched_getaffinity(0, sizeof before_, &before_);
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(static_cast<unsigned>(::sched_getcpu()), &one);
    sched_setaffinity(0, sizeof one, &one);
  }
  pinned(const pinned&) = delete;
  pinned& operator=(const pinned&) = delete;
  ~pinned() { sched_setaffinity(0, sizeof before_, &before_); }

 private:
  cpu_set_t before_{};
};

/// What the pairs of one kind take, in batches: short, so that most are not interrupted by others on the machine, and
/// as long as the store's own round of clearing away.
class stopwatch {
 public:
  static constexpr int batch = 32;

  template <class F>
  void time(F&& pair) {
    const double cpu = cpu_seconds();
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < batch; ++i) {
      pair();
    }
    took_.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / batch);
    cpu_ += cpu_seconds() - cpu;
  }

  [[nodiscard]] double typical() const { return median(took_); }
  [[nodiscard]] double cpu() const { return cpu_; }

 private:
  std::vector<double> took_;
  double cpu_ = 0;
};

/// Batches that take turns, because both share the machine with others, and the disk. `ratio` is of medians of wall
/// time; `cpu_ratio` of all CPU time, with every thread and every checkpoint in it.
void sqlite_pairs(benchmark::State& state) {
  const pinned here;
  const scratch directory;
  auto locks = open("sqlite://" + directory.file("locks.db")).value();
  bare_loop bare(directory.file("bare.db"));
  bool fine = true;
  stopwatch with;
  stopwatch without;
  for (auto _ : state) {
    without.time([&] { fine = bare.pair() && fine; });
    with.time([&] { fine = locks.acquire("bench").has_value() && fine; });
  }
  if (!fine) {
    state.SkipWithError("a pair failed");
  }
  state.counters["pairs/s"] = 1 / with.typical();
  state.counters["bare/s"] = 1 / without.typical();
  state.counters["ratio"] = without.typical() / with.typical();
  state.counters["cpu_ratio"] = without.cpu() / with.cpu();
}

BENCHMARK(sqlite_pairs)
    ->Iterations(500)
    ->Repetitions(5)
    ->DisplayAggregatesOnly()
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace cremone::bench
