// SPDX-License-Identifier: Apache-2.0
//
// The locks of one database file: each operation of the seam as a statement or a transaction. The rules are those of
// the store in memory; what SQL cannot say in one statement is decided here, inside a transaction. It knows the
// kernel's word on who lives, and no lease, no watchdog and no policy.
#pragma once

#include "backends/sqlite/database.hpp"
#include "backends/sqlite/live_file.hpp"

#include <cremone/backend.hpp>

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace cremone::sqlite {

/// What a test may want otherwise.
struct store_settings {
  std::string path;          ///< as given; links are followed
  const char* vfs = "unix";  ///< never the program's default, which may be anything
  std::array<std::uint8_t, 16> boot = this_boot();
  std::chrono::milliseconds claim_time{500};       ///< the head's time to take a free lock
  std::chrono::milliseconds waiter_lease{10'000};  ///< a waiter that has not asked for this long has left
};

/// The time as the store sees it.
struct store_time {
  instant now;
  wall_time wall;
};

/// One waiter to be woken: its client's byte, and the owner it waits as.
struct next_in_line {
  std::int64_t life = 0;
  owner_id owner{};
};

/// Members throw `failure`.
/// Threads: all members from any thread; they take turns.
class store {
 public:
  [[nodiscard]] static std::shared_ptr<store> open(const store_settings& settings);
  store(const store&) = delete;
  store& operator=(const store&) = delete;
  ~store();

  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  [[nodiscard]] const std::string& identity() const noexcept { return identity_; }
  [[nodiscard]] const live_file& live() const noexcept { return *live_; }
  [[nodiscard]] const store_settings& settings() const noexcept { return settings_; }

  /// Takes a lock that is free and that nobody waits for, in one statement; empty when it is not as simple as that.
  [[nodiscard]] std::optional<grant> take(const acquire_request& request, const store_time& time);

  // `freed`: it may be somebody's turn, see next_waiter().
  [[nodiscard]] acquire_answer try_acquire(const acquire_request& request, const store_time& time,
                                           bool& freed);
  [[nodiscard]] std::vector<answer> renew(std::span<const renewal> items, const store_time& time);
  [[nodiscard]] answer release(const release_request& request, const store_time& time, bool& freed);
  [[nodiscard]] answer evict(const lock_name& name, const hold_version& version, const store_time& time,
                             bool& freed);
  [[nodiscard]] answer force(const lock_name& name, const owner_id& holder, const store_time& time,
                             bool& freed);
  [[nodiscard]] lock_record inspect(const lock_name& name, const store_time& time);
  [[nodiscard]] std::vector<lock_record> list(const store_time& time);

  /// Who is the first in the queue that can be woken; drops those whose process is gone.
  [[nodiscard]] std::optional<next_in_line> next_waiter(const lock_name& name);

  /// The byte of whoever holds this lock, if its life can be told.
  [[nodiscard]] std::optional<std::int64_t> life_of_holder(const lock_name& name);

  /// Takes one off the list of those who can be woken; it counts again when it asks again.
  void pass_over(const lock_name& name, const owner_id& owner);

  /// Forgets some locks that have been idle for a while. Seldom, so that names used once do not pile up.
  void sweep(const store_time& time);

  /// The remedy for a `failure` with `disk_full`: the disk is full, or the database must grow.
  /// True: try again. See with_room().
  [[nodiscard]] bool make_room();

  /// Somebody deleted or replaced the file.
  [[nodiscard]] bool moved();

  /// What SQLite says of the file. Reads all of it.
  struct settings_in_file {
    std::string journal;
    std::int64_t synchronous = 0;
    std::int64_t format = 0;
    std::string integrity;
    std::int64_t highest = 0;  ///< the highest token ever granted
  };
  [[nodiscard]] settings_in_file read_settings();

 private:
  struct row;
  struct statements;
  struct sweepings;

  explicit store(store_settings settings);
  void check_format();
  void create_tables();
  void settle_boot();
  void raise_mark(std::int64_t wanted);
  [[nodiscard]] grant told_grant() const noexcept;
  [[nodiscard]] std::optional<grant> take_free(const acquire_request& request, const store_time& time);
  [[nodiscard]] std::optional<acquire_answer> contend(const acquire_request& request, const store_time& time,
                                                      std::int64_t& wanted, bool& freed);
  [[nodiscard]] std::optional<row> look(const lock_name& name, bytes owner);
  void remove_holder(const lock_name& name, row& lock, const store_time& time);
  void free_dead_holder(const lock_name& name, row& lock, const store_time& time);
  void drop_dead_waiters(const lock_name& name, const owner_id& me, const store_time& time);
  [[nodiscard]] std::optional<grant> give(const acquire_request& request, std::int64_t ticket,
                                          const store_time& time);
  [[nodiscard]] static hold_record holder_at(const row& lock, const store_time& time);
  void keep_place(const acquire_request& request, bool queued, const store_time& time);
  [[nodiscard]] sweepings look_for_idle(std::int64_t before, std::int64_t ahead);
  [[nodiscard]] std::vector<waiter_record> queue_of(const lock_name& name, const store_time& time);
  [[nodiscard]] lock_record describe(const lock_name& name, const store_time& time);

  const store_settings settings_;
  database database_;
  const std::string& path_;
  std::unique_ptr<statements> sql_;
  std::unique_ptr<live_file> live_;
  std::string identity_;
};

/// Calls `step`, which calls a function of the store that writes. On a full disk, or when the
/// database must grow, calls it again as long as the store can make room.
template <class Step>
auto with_room(store& locks, Step step) {
  // Between make_room() and the next try other processes may fill the log again. With eight
  // processes that write without a pause three tries were sometimes too few; a failed try costs
  // microseconds.
  constexpr int most_tries = 16;
  for (int tries = 1;; ++tries) {
    try {
      return step();
    } catch (const failure& f) {
      if (!f.disk_full || tries == most_tries || !locks.make_room()) {
        throw;
      }
    }
  }
}

}  // namespace cremone::sqlite
