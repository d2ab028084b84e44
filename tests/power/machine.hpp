// SPDX-License-Identifier: Apache-2.0
//
// A machine that keeps its locks in a database on a disk that can lose power: it boots, its programs take and free
// locks as a seed draws it, and the power goes. It checks each token against all that were handed out before.
#pragma once

#include "backends/sqlite/store.hpp"
#include "power/disk.hpp"
#include "power/vfs.hpp"
#include "support/temp_directory.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace cremone::test {

class machine {
 public:
  explicit machine(std::uint64_t seed) : random_(seed) {}

  /// When the power shall go; see disk::cut_at.
  void cut_at(std::uint64_t call) { disk_.cut_at(call); }
  void cut_in_checkpoint(std::uint64_t call) { disk_.cut_at(call, path_); }
  [[nodiscard]] bool has_power() const noexcept { return disk_.on(); }

  /// Opens the database for two clients. What fails while there is power fails the test, here and below.
  void open();

  /// So many operations, or fewer if the power goes. Each takes up to `step`.
  void work(int operations, std::chrono::microseconds step);

  /// All programs end. Then either the machine starts again with what the disk has kept and, perhaps, a wall clock
  /// that went back; or the disk goes on as if nothing had been, because only the programs were killed.
  void lose_power();
  void kill_programs();
  void set_clock_back(std::chrono::microseconds by) { wall_ -= by; }

  /// The file is sound, and each lock can be had, with a token above all from before the power cut.
  void expect_all_is_well();

  /// A number below `bound`.
  [[nodiscard]] std::uint64_t draw(std::uint64_t bound) { return random_() % bound; }

 private:
  template <class F>
  void guarded(F&& what);
  void one_operation();
  void acquire(sqlite::store& by, const std::string& name);
  void renew(sqlite::store& by, const std::string& name);
  void release(sqlite::store& by, const std::string& name);
  void evict(sqlite::store& by, const std::string& name);
  void expect_sound_file();
  [[nodiscard]] owner_id fresh_owner();
  [[nodiscard]] std::string some_name();
  [[nodiscard]] sqlite::store_time time() const;

  std::mt19937_64 random_;
  const temp_directory directory_;
  const std::string path_ = directory_.file("locks.db");
  disk disk_;
  const power_vfs vfs_{disk_};
  std::uint8_t boot_ = 1;
  std::chrono::nanoseconds now_{std::chrono::seconds(10)};
  std::chrono::microseconds wall_{std::chrono::hours(24 * 365 * 56)};
  std::vector<std::shared_ptr<sqlite::store>> clients_;
  std::map<std::string, owner_id> held_;
  std::map<std::string, std::uint64_t> last_;  // the highest token of each lock
  std::uint64_t highest_ = 0;                  // of all locks
  std::uint64_t floor_ = 0;                    // the highest when the power went
};

}  // namespace cremone::test
