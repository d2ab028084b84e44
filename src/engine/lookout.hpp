// SPDX-License-Identifier: Apache-2.0
//
// What one client knows of the holders that were in its way: the table of core::observations, one thread at a time,
// and, where the store outlives the process, what it recalls from earlier processes of this machine and leaves for
// later ones. Without that a job that tries once and exits would never live long enough to take over from a holder
// that crashed.
#pragma once

#include "core/observation.hpp"
#include "engine/seen_notes.hpp"

#include <cremone/backend.hpp>
#include <cremone/record.hpp>
#include <cremone/types.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <span>

namespace cremone::detail {

/// Threads: all members from any thread. Reads and writes a small file where it says so, and never waits for one.
class lookout {
 public:
  /// A client whose acquires give up all the time writes no more often than this; the rest when it closes.
  static constexpr std::chrono::seconds least_pause{1};

  /// `file` may be null: then all is forgotten with the process, as it is where the store has no identity.
  lookout(const traits& store, std::unique_ptr<seen_notes> file);

  /// Calls `fn` with the table.
  template <class F>
  decltype(auto) with_table(F&& fn) {
    const std::lock_guard lock(table_mutex_);
    return fn(table_);
  }

  /// Takes over what others saw of these holders, who are in the way now. May read the file.
  void recall(const lock_name& name, std::span<const hold_record> holders, instant now);

  /// An acquire of this lock gives up: what was seen of its holders is for the next who comes. May write the file.
  void leave(const lock_name& name, instant now) { leave(name, now, false); }

  /// The store has given out a lock: should it one day have forgotten that, it has forgotten something. May read and write
  /// the file.
  void saw_open(instant now);

  /// Has any process of this machine ever seen that, as far as is known?
  [[nodiscard]] bool ever_open();

  /// Can what is seen be kept for the next process? False where nothing needs to be.
  [[nodiscard]] bool cannot_keep_notes();

  /// Where the next who sweeps the store goes on.
  [[nodiscard]] std::uint64_t sweep_cursor();
  void set_sweep_cursor(std::uint64_t cursor, instant now);

  /// The client closes: from now on leave() only notes, and this writes what is left.
  void closing() noexcept;
  void leave_the_rest(instant now) noexcept;

 private:
  void leave(const lock_name& name, instant now, bool at_once);
  void write(instant now);
  void keep_note(const lock_name& name, const owner_id& content, instant now, bool at_once);

  std::mutex table_mutex_;
  core::observations table_;

  std::mutex file_mutex_;  // taken before the other where both are needed
  std::unique_ptr<seen_notes> file_;
  const std::string store_;
  std::set<lock_name> unwritten_;  // locks of which more was seen than the file has
  instant last_try_ = instant::min();
  bool closing_ = false;
  bool failed_ = false;  // the last write
  bool open_ = false;    // this client has seen it give out locks
};

}  // namespace cremone::detail
