// SPDX-License-Identifier: Apache-2.0
//
// Disk blocks that are allocated before they are needed, so that locks are renewed on a full disk.
#include "backends/sqlite/database.hpp"

#include <sqlite3.h>

#include <algorithm>
#include <string>

namespace cremone::sqlite {

namespace {

// The format of the log, in bytes.
constexpr std::int64_t log_header = 32;
constexpr std::int64_t frame_header = 24;

/// A commit writes each page of the database at most once. The log has room for that, and for this
/// many pages more: with few pages the log would be copied back at every other renewal.
constexpr std::int64_t spare_frames = 32;

/// The database grows by this many pages at a time, some 250 locks: growing costs a commit.
constexpr std::int64_t growth = 16;

/// An insertion needs a new page for each level of a tree, and for its index. With fewer free pages
/// than this the database grows.
constexpr std::int64_t spare_pages = 8;

}  // namespace

sqlite3_file* database::file(int which) const noexcept {
  sqlite3_file* found = nullptr;
  sqlite3_file_control(connection_, "main", which, &found);
  return found;
}

std::int64_t database::size_of(int which) const noexcept {
  sqlite3_file* of = file(which);
  sqlite3_int64 size = 0;
  return of->pMethods->xFileSize(of, &size) == SQLITE_OK ? size : 0;
}

void database::limit_growth() {
  page_size_ = number("PRAGMA page_size");
  // With a chunk size SQLite allocates blocks when a checkpoint extends the file, also for pages
  // that the log does not contain. A chunk of one page leaves the length of the file as it is.
  int chunk = static_cast<int>(page_size_);
  sqlite3_file_control(connection_, "main", SQLITE_FCNTL_CHUNK_SIZE, &chunk);
  execute("PRAGMA max_page_count=1");  // SQLite raises this to the present number
}

void database::reserve_blocks() {
  if (reserved_) {
    return;
  }
  const std::int64_t pages = number("PRAGMA page_count");
  if (size_of(SQLITE_FCNTL_FILE_POINTER) < pages * page_size_) {
    const int code =
        sqlite3_wal_checkpoint_v2(connection_, "main", SQLITE_CHECKPOINT_PASSIVE, nullptr, nullptr);
    if ((code & 0xFF) != SQLITE_BUSY) {  // then another process copies the log at this moment
      check(code);
    }
  }
  if (size_of(SQLITE_FCNTL_JOURNAL_POINTER) < log_size_for(pages)) {
    const transaction alone(*this);
    extend_log(pages);
  }
  reserved_ = true;
}

std::int64_t database::log_size_for(std::int64_t pages) const noexcept {
  return std::min(log_size_limit, log_header + (pages + spare_frames) * (page_size_ + frame_header));
}

/// Only inside a write transaction: nobody else then writes to the log. SQLite tells its frames
/// from zeros, as it tells them from frames of earlier rounds.
void database::extend_log(std::int64_t pages) {
  sqlite3_file* log = file(SQLITE_FCNTL_JOURNAL_POINTER);
  const std::string zeros(static_cast<std::size_t>(page_size_), '\0');
  const std::int64_t end = log_size_for(pages);
  for (std::int64_t at = size_of(SQLITE_FCNTL_JOURNAL_POINTER); at < end; at += page_size_) {
    const int code = log->pMethods->xWrite(log, zeros.data(), static_cast<int>(page_size_), at);
    if (code != SQLITE_OK) {
      throw failed(code);
    }
  }
}

/// Lets the database grow. First the blocks, then the pages: on a full disk a page without a block
/// would keep the log from being copied back. False: enough pages are free.
bool database::add_pages() {
  transaction step(*this);
  if (number("PRAGMA freelist_count") >= spare_pages) {
    return false;
  }
  const std::int64_t pages = number("PRAGMA page_count");
  const std::int64_t more = pages + growth;
  extend_log(more);
  sqlite3_int64 size = more * page_size_;
  const auto allocate = [&] {
    return sqlite3_file_control(connection_, "main", SQLITE_FCNTL_SIZE_HINT, &size);
  };
  // Where the file system cannot allocate, the C library writes zeros. They must not meet a
  // checkpoint of another process, which writes up to `pages`.
  const bool complete = size_of(SQLITE_FCNTL_FILE_POINTER) >= pages * page_size_;
  if (complete && allocate() != SQLITE_OK) {
    throw failed(SQLITE_FULL);
  }
  execute(("PRAGMA max_page_count=" + std::to_string(more)).c_str());
  const std::string size_of_value = std::to_string((growth - 2) * page_size_);
  execute(("CREATE TABLE spare (pages BLOB); INSERT INTO spare VALUES (zeroblob(" + size_of_value +
           ")); DROP TABLE spare")
              .c_str());
  step.commit();
  if (complete) {
    (void)allocate();  // again: a checkpoint that began before the commit may have cut the file
  }
  return true;
}

void database::make_room() {
  bool grown = false;
  try {
    grown = add_pages();
  } catch (const failure& f) {
    if (!f.disk_full) {
      throw;
    }
  }
  execute("PRAGMA max_page_count=1");
  if (!grown) {
    restart_log();
  }
}

/// Best effort: a reader that is stopped keeps the log as it is.
void database::restart_log() noexcept {
  const auto checkpoint = [&] {
    return sqlite3_wal_checkpoint_v2(connection_, "main", SQLITE_CHECKPOINT_RESTART, nullptr, nullptr) & 0xFF;
  };
  // SQLite does not call the busy handler for a checkpoint that another process makes.
  for (int tries = 0; checkpoint() == SQLITE_BUSY && patience_.wait(tries); ++tries) {
  }
}

}  // namespace cremone::sqlite
