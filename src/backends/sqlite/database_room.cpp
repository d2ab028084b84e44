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

sqlite3_file* file_of(sqlite3* connection, int which) noexcept {
  sqlite3_file* found = nullptr;
  sqlite3_file_control(connection, "main", which, &found);
  return found;
}

std::int64_t size_of(sqlite3_file* file) noexcept {
  sqlite3_int64 size = 0;
  return file->pMethods->xFileSize(file, &size) == SQLITE_OK ? size : 0;
}

}  // namespace

void database::limit_growth() {
  page_size_ = number("PRAGMA page_size");
  execute("PRAGMA max_page_count=1");  // SQLite raises this to the present number
}

/// Zeros are written, and not fallocate() called: not every file system has it, and its replacement
/// in the C library races with other processes.
void database::fill(int which, std::int64_t from, std::int64_t to) {
  sqlite3_file* file = file_of(connection_, which);
  const std::string zeros(static_cast<std::size_t>(page_size_), '\0');
  for (std::int64_t at = from; at < to; at += page_size_) {
    const int code = file->pMethods->xWrite(file, zeros.data(), static_cast<int>(page_size_), at);
    if (code != SQLITE_OK) {
      throw failed(code);
    }
  }
}

bool database::file_has(std::int64_t pages) const noexcept {
  return size_of(file_of(connection_, SQLITE_FCNTL_FILE_POINTER)) >= pages * page_size_;
}

/// The end of the log, and where the end must be for a database of this many pages.
std::pair<std::int64_t, std::int64_t> database::missing_log(std::int64_t pages) const noexcept {
  const std::int64_t wanted = log_header + (pages + spare_frames) * (page_size_ + frame_header);
  return {size_of(file_of(connection_, SQLITE_FCNTL_JOURNAL_POINTER)), std::min(log_size_limit, wanted)};
}

/// Only inside a write transaction: no other process then writes to the log. SQLite tells its frames
/// from zeros by salt and checksum, as it tells them from frames of earlier rounds.
void database::extend_log(std::int64_t pages) {
  const auto [from, to] = missing_log(pages);
  fill(SQLITE_FCNTL_JOURNAL_POINTER, from, to);
}

void database::reserve_blocks() {
  if (reserved_) {
    return;
  }
  const std::int64_t pages = number("PRAGMA page_count");
  if (!file_has(pages)) {
    if (const int code = copy_log(SQLITE_CHECKPOINT_PASSIVE); code == SQLITE_FULL) {
      throw failed(code);
    }
  }
  if (const auto [from, to] = missing_log(pages); from < to) {
    const transaction alone(*this);
    extend_log(pages);
  }
  reserved_ = true;
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
  // A checkpoint of another process may run at this time. It writes only pages up to `pages`.
  const bool had_all = file_has(pages);
  fill(SQLITE_FCNTL_FILE_POINTER, pages * page_size_, more * page_size_);
  execute(("PRAGMA max_page_count=" + std::to_string(more)).c_str());
  const std::string size = std::to_string((growth - 2) * page_size_);
  execute(
      ("CREATE TABLE spare (pages BLOB); INSERT INTO spare VALUES (zeroblob(" + size + ")); DROP TABLE spare")
          .c_str());
  step.commit();
  if (!had_all || !file_has(more)) {  // a checkpoint that began before the commit has cut the file
    (void)copy_log(SQLITE_CHECKPOINT_PASSIVE);
  }
  return true;
}

bool database::make_room() {
  bool grown = false;
  try {
    grown = add_pages();
  } catch (const failure& f) {
    if (!f.disk_full) {
      throw;
    }
  }
  execute("PRAGMA max_page_count=1");
  return grown || copy_log(SQLITE_CHECKPOINT_RESTART) == SQLITE_OK;
}

/// The result code of a checkpoint of this kind. SQLITE_BUSY: another process is in the way for long.
int database::copy_log(int kind) noexcept {
  for (int tries = 0;; ++tries) {
    const int code = sqlite3_wal_checkpoint_v2(connection_, "main", kind, nullptr, nullptr) & 0xFF;
    // SQLite does not call the busy handler while another process makes a checkpoint.
    if (code != SQLITE_BUSY || !patience_.wait(tries)) {
      return code;
    }
  }
}

}  // namespace cremone::sqlite
