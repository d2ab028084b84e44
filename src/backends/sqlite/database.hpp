// SPDX-License-Identifier: Apache-2.0
//
// A connection to SQLite, its statements and its transactions, as values that clean up behind themselves. Knows no
// locks. What goes wrong is thrown as `failure` inside this folder, so that no step of a transaction can go
// unchecked, and becomes an answer at the seam.
#pragma once

#include "backends/sqlite/patience.hpp"

#include <cremone/result.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>

struct sqlite3;
struct sqlite3_stmt;

namespace cremone::sqlite {

/// Why SQLite did not do it, in the words of our errors.
struct failure {
  error why;
  bool in_doubt = false;   ///< it may have been done all the same
  bool disk_full = false;  ///< nothing was changed; see database::make_room()
};

using bytes = std::span<const std::uint8_t>;

/// The rows that one execution yields. One at a time per statement; the end resets the statement. An execution that
/// changes something has done so for certain only when next() has said that there is no more.
class rows {
 public:
  rows(sqlite3* connection, sqlite3_stmt* statement) noexcept
      : connection_(connection), statement_(statement) {}
  rows(const rows&) = delete;
  rows& operator=(const rows&) = delete;
  ~rows();

  [[nodiscard]] bool next();

  // Columns of the present row, from 0. Views live until next().
  [[nodiscard]] std::int64_t number(int column) const noexcept;
  [[nodiscard]] bool is_null(int column) const noexcept;
  [[nodiscard]] std::string_view text(int column) const noexcept;
  [[nodiscard]] bytes blob(int column) const noexcept;

 private:
  sqlite3* connection_;
  sqlite3_stmt* statement_;
};

/// A prepared statement, prepared when first used.
class statement {
 public:
  explicit statement(const char* sql) noexcept : sql_(sql) {}

 private:
  friend class database;
  const char* sql_;
  sqlite3_stmt* prepared_ = nullptr;  // the connection's, gone with it
};

/// Threads: one at a time, with mutex() locked. A fork waits for that mutex, so that the child inherits connections
/// at rest: see close_inherited().
class database {
 public:
  /// Opens the file, made if there is none (see prepare_location), by the VFS of this name. *misconfigured* if the
  /// program has switched SQLite's threading off.
  database(const std::string& given, const char* vfs);
  database(const database&) = delete;
  database& operator=(const database&) = delete;
  ~database();

  [[nodiscard]] std::mutex& mutex() noexcept { return mutex_; }
  [[nodiscard]] const std::string& path() const noexcept { return path_; }  ///< without symbolic links

  /// Binds the arguments to ?1, ?2, … and executes. What is bound must live until the rows are gone.
  template <class... Args>
  [[nodiscard]] rows query(statement& s, const Args&... args) {
    prepare(s);
    int index = 0;
    (bind(s, ++index, args), ...);
    return {connection_, s.prepared_};
  }

  /// The same for what yields no rows. Returns how many it has changed.
  template <class... Args>
  std::int64_t run(statement& s, const Args&... args) {
    {
      rows none = query(s, args...);
      while (none.next()) {
      }
    }
    return changes();
  }

  /// What the last execution told by the SQL function tell(i, x, y).
  [[nodiscard]] std::int64_t told(std::size_t i) const noexcept { return told_[i]; }

  /// SQL text that is used once; several statements at a time.
  void execute(const char* sql);
  [[nodiscard]] std::int64_t number(const char* sql);
  [[nodiscard]] std::string text(const char* sql);

  // A full disk must not end leases, so a renewal must need no new disk block.
  // - Every page of the database has a block in the file. So the log can always be copied back, and
  //   written from its start again.
  // - The log has blocks for a renewal of all locks of a client: each acquisition wrote at least
  //   one page to the log, a renewal writes at most one per lock, and the log is not cut
  //   below 4 MB.
  // A file system that allocates a block for each write (Btrfs, ZFS) defeats this.

  /// Forbids the database to grow except by make_room(). Call once, when the tables are there.
  void limit_growth();

  /// Gives each page a block in the file, once. Call before a lock is granted, outside a
  /// transaction. Throws `disk_full`.
  void reserve_blocks();

  /// The remedy for `disk_full`. Call outside a transaction. Either gives the database more pages,
  /// or starts the log from its beginning. True: try again.
  [[nodiscard]] bool make_room();

  /// To be called when the tables are there: from now on moved() knows all files.
  void note_files();

  /// Somebody deleted or replaced the file, or one of SQLite's beside it, since it was opened.
  [[nodiscard]] bool moved() const noexcept;

  /// In a forked child: closes what was inherited, before the same file may be opened again. SQLite keeps one account
  /// of file locks per process, and the child's copy of it speaks of locks that only the parent has. The connections
  /// are at rest, and closing one in this state touches nothing that the parent sees.
  static void close_inherited() noexcept;

 private:
  void prepare(statement& s);
  [[nodiscard]] std::int64_t changes() const noexcept;
  void bind(statement& s, int index, std::int64_t value);
  void bind(statement& s, int index, std::string_view value);
  void bind(statement& s, int index, bytes value);
  void check(int code);
  [[nodiscard]] failure failed(int code) const;
  void shorten_log(int frames) noexcept;
  void allocate(std::int64_t from_page, std::int64_t to_page);
  [[nodiscard]] bool file_has(std::int64_t pages) const noexcept;
  [[nodiscard]] bool add_pages();
  [[nodiscard]] int copy_log(int kind) noexcept;

  // Lengths of the log, in pages. The first is SQLite's own choice.
  static constexpr int copy_log_from = 1000;
  static constexpr int long_log = 4000;

  std::string path_;
  std::mutex mutex_;
  sqlite3* connection_ = nullptr;
  std::array<std::int64_t, 2> told_{};
  struct neighbour {  // what SQLite keeps beside the file
    std::string path;
    std::uint64_t inode = 0;
  };
  std::array<neighbour, 2> beside_{};
  patience patience_;
  int begin_log_anew_from_ = long_log;
  std::int64_t page_size_ = 0;
  bool reserved_ = false;
};

/// BEGIN IMMEDIATE … commit(), or it never was.
class transaction {
 public:
  explicit transaction(database& d) : database_(d) { database_.execute("BEGIN IMMEDIATE"); }
  transaction(const transaction&) = delete;
  transaction& operator=(const transaction&) = delete;
  ~transaction();

  void commit();

 private:
  database& database_;
  bool over_ = false;
};

}  // namespace cremone::sqlite
