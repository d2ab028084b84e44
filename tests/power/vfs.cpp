// SPDX-License-Identifier: Apache-2.0
#include "power/vfs.hpp"

#include "base/check.hpp"

#include <sqlite3.h>

#include <cstddef>

namespace cremone::test {

namespace {

struct wrapped {
  sqlite3_vfs* real;
  disk* on;
};

/// What SQLite allocates for a file: ours, and behind it that of the "unix" VFS. Never constructed nor destroyed.
struct file {
  sqlite3_file base;
  disk* on;
  image* content;    // null: a temporary file, of which nothing has to be left
  const char* path;  // SQLite's, which lives as long
};

file& ours(sqlite3_file* f) { return *reinterpret_cast<file*>(f); }

constexpr std::size_t our_size = (sizeof(file) + 15) / 16 * 16;

sqlite3_file* real_of(sqlite3_file* f) {
  return reinterpret_cast<sqlite3_file*>(reinterpret_cast<char*>(f) + our_size);
}

int close(sqlite3_file* f) { return real_of(f)->pMethods->xClose(real_of(f)); }

int read(sqlite3_file* f, void* to, int size, sqlite3_int64 at) {
  return real_of(f)->pMethods->xRead(real_of(f), to, size, at);
}

int write(sqlite3_file* f, const void* from, int size, sqlite3_int64 at) {
  file& mine = ours(f);
  if (mine.content == nullptr) {
    return real_of(f)->pMethods->xWrite(real_of(f), from, size, at);
  }
  if (!mine.on->on()) {
    return SQLITE_IOERR_WRITE;
  }
  const bool stays = mine.on->write(mine.path, *mine.content, static_cast<std::size_t>(at),
                                    {static_cast<const char*>(from), static_cast<std::size_t>(size)});
  const int code = real_of(f)->pMethods->xWrite(real_of(f), from, size, at);
  return stays ? code : SQLITE_IOERR_WRITE;
}

int truncate(sqlite3_file* f, sqlite3_int64 size) {
  file& mine = ours(f);
  if (mine.content == nullptr) {
    return real_of(f)->pMethods->xTruncate(real_of(f), size);
  }
  if (!mine.on->on()) {
    return SQLITE_IOERR_TRUNCATE;
  }
  const bool stays = mine.on->truncate(mine.path, *mine.content, static_cast<std::size_t>(size));
  const int code = real_of(f)->pMethods->xTruncate(real_of(f), size);
  return stays ? code : SQLITE_IOERR_TRUNCATE;
}

int sync(sqlite3_file* f, int /*how*/) {
  file& mine = ours(f);
  if (mine.content != nullptr && (!mine.on->on() || !mine.on->sync(mine.path, *mine.content))) {
    return SQLITE_IOERR_FSYNC;
  }
  return SQLITE_OK;
}

int size_of(sqlite3_file* f, sqlite3_int64* size) {
  return real_of(f)->pMethods->xFileSize(real_of(f), size);
}

int lock(sqlite3_file* f, int level) { return real_of(f)->pMethods->xLock(real_of(f), level); }

int unlock(sqlite3_file* f, int level) { return real_of(f)->pMethods->xUnlock(real_of(f), level); }

int is_reserved(sqlite3_file* f, int* answer) {
  return real_of(f)->pMethods->xCheckReservedLock(real_of(f), answer);
}

int control(sqlite3_file* f, int operation, void* argument) {
  return real_of(f)->pMethods->xFileControl(real_of(f), operation, argument);
}

int sector_size(sqlite3_file* f) { return real_of(f)->pMethods->xSectorSize(real_of(f)); }

int traits_of(sqlite3_file* f) { return real_of(f)->pMethods->xDeviceCharacteristics(real_of(f)); }

int map_shared(sqlite3_file* f, int page, int size, int extend, void volatile** at) {
  return real_of(f)->pMethods->xShmMap(real_of(f), page, size, extend, at);
}

int lock_shared(sqlite3_file* f, int offset, int count, int flags) {
  return real_of(f)->pMethods->xShmLock(real_of(f), offset, count, flags);
}

void shared_barrier(sqlite3_file* f) { real_of(f)->pMethods->xShmBarrier(real_of(f)); }

int unmap_shared(sqlite3_file* f, int also_delete) {
  return real_of(f)->pMethods->xShmUnmap(real_of(f), also_delete);
}

/// Version 2: with shared memory for the write-ahead log, without mapped files, whose writes nobody sees.
const sqlite3_io_methods& methods() {
  static const sqlite3_io_methods table = [] {
    sqlite3_io_methods m{};
    m.iVersion = 2;
    m.xClose = close;
    m.xRead = read;
    m.xWrite = write;
    m.xTruncate = truncate;
    m.xSync = sync;
    m.xFileSize = size_of;
    m.xLock = lock;
    m.xUnlock = unlock;
    m.xCheckReservedLock = is_reserved;
    m.xFileControl = control;
    m.xSectorSize = sector_size;
    m.xDeviceCharacteristics = traits_of;
    m.xShmMap = map_shared;
    m.xShmLock = lock_shared;
    m.xShmBarrier = shared_barrier;
    m.xShmUnmap = unmap_shared;
    return m;
  }();
  return table;
}

int open(sqlite3_vfs* v, const char* path, sqlite3_file* f, int flags, int* given) {
  constexpr int lasting =
      SQLITE_OPEN_MAIN_DB | SQLITE_OPEN_MAIN_JOURNAL | SQLITE_OPEN_SUPER_JOURNAL | SQLITE_OPEN_WAL;
  auto& to = *static_cast<wrapped*>(v->pAppData);
  file& mine = ours(f);
  mine = {};
  mine.on = to.on;
  if (path != nullptr && (flags & lasting) != 0) {
    mine.path = path;
    mine.content = mine.on->open(path, (flags & SQLITE_OPEN_CREATE) != 0);
    if (mine.content == nullptr) {
      return SQLITE_CANTOPEN;
    }
  }
  const int code = to.real->xOpen(to.real, path, real_of(f), flags, given);
  if (code == SQLITE_OK) {
    mine.base.pMethods = &methods();
  }
  return code;
}

int remove(sqlite3_vfs* v, const char* path, int sync_directory) {
  auto& to = *static_cast<wrapped*>(v->pAppData);
  if (!to.on->on()) {
    return SQLITE_IOERR_DELETE;
  }
  const bool stays = to.on->remove(path, sync_directory != 0);
  const int code = to.real->xDelete(to.real, path, 0);
  return stays ? code : SQLITE_IOERR_DELETE;
}

}  // namespace

struct power_vfs::registered {
  wrapped to;
  sqlite3_vfs base;
};

power_vfs::power_vfs(disk& d) {
  sqlite3_vfs* real = sqlite3_vfs_find("unix");
  CREMONE_CHECK(real != nullptr);
  // What is not replaced takes nothing from the struct that it is called with, and may stay.
  registered_ = std::make_unique<registered>(registered{{real, &d}, *real});
  sqlite3_vfs& base = registered_->base;
  base.pNext = nullptr;
  base.zName = "power-cut";
  base.pAppData = &registered_->to;
  base.szOsFile = static_cast<int>(our_size) + real->szOsFile;
  base.xOpen = open;
  base.xDelete = remove;
  CREMONE_CHECK(sqlite3_vfs_register(&base, 0) == SQLITE_OK);
}

power_vfs::~power_vfs() { sqlite3_vfs_unregister(&registered_->base); }

const char* power_vfs::name() const noexcept { return registered_->base.zName; }

}  // namespace cremone::test
