// SPDX-License-Identifier: Apache-2.0
//
// Disk blocks that are allocated before they are needed, so that locks are renewed on a full disk.
#include "backends/sqlite/database.hpp"

#include <sqlite3.h>

#include <string>

namespace cremone::sqlite {

namespace {

/// The database grows by this many pages at a time, some 200 locks: growing costs a commit. With 16
/// pages or more, SQLite would create a temporary file for the commit.
constexpr std::int64_t growth = 12;

/// An insertion needs a new page for each level of a tree, and for its index. With fewer free pages
/// than this the database grows.
constexpr std::int64_t spare_pages = 8;

sqlite3_file* file_of(sqlite3* connection) noexcept {
  sqlite3_file* found = nullptr;
  sqlite3_file_control(connection, "main", SQLITE_FCNTL_FILE_POINTER, &found);
  return found;
}

}  // namespace

void database::limit_growth() {
  page_size_ = number("PRAGMA page_size");
  execute("PRAGMA max_page_count=1");  // SQLite raises this to the current number
}

bool database::file_has(std::int64_t pages) const noexcept {
  sqlite3_file* file = file_of(connection_);
  sqlite3_int64 size = 0;
  return file->pMethods->xFileSize(file, &size) == SQLITE_OK && size >= pages * page_size_;
}

void database::reserve_blocks() {
  if (!reserved_ && !file_has(number("PRAGMA page_count"))) {
    if (const int code = copy_log(SQLITE_CHECKPOINT_PASSIVE); code == SQLITE_FULL) {
      throw failed(code);
    }
  }
  reserved_ = true;
}

/// Allocates blocks behind the last page. Only inside a write transaction: no page is added
/// meanwhile, and a checkpoint of another process writes only up to the last page. Zeros are
/// written, because not every file system has fallocate(), and the C library's substitute races
/// with other processes.
void database::allocate(std::int64_t from_page, std::int64_t to_page) {
  sqlite3_file* file = file_of(connection_);
  const std::string zeros(static_cast<std::size_t>(page_size_), '\0');
  for (std::int64_t page = from_page; page < to_page; ++page) {
    const int code =
        file->pMethods->xWrite(file, zeros.data(), static_cast<int>(page_size_), page * page_size_);
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
  const bool had_all = file_has(pages);
  allocate(pages, more);
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

/// The result code of a checkpoint of this kind. SQLITE_BUSY: another process has blocked it for
/// too long.
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
