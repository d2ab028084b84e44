// SPDX-License-Identifier: Apache-2.0
#include "backends/sqlite/database.hpp"

#include "backends/sqlite/location.hpp"
#include "base/process.hpp"

#include <pthread.h>
#include <sqlite3.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <vector>

namespace cremone::sqlite {

namespace {

/// Called by SQLite between its tries to get the write lock.
int wait_for_writer(void* left, int tries) noexcept {
  return static_cast<patience*>(left)->wait(tries) ? 1 : 0;
}

errc kind_of(int code) noexcept {
  switch (code & 0xFF) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED: return errc::unreachable;
    case SQLITE_PERM:
    case SQLITE_AUTH: return errc::access_denied;
    case SQLITE_CANTOPEN: return errc::misconfigured;
    default: return errc::storage_error;
  }
}

std::string advice_for(int code, const std::string& path) {
  switch (code & 0xFF) {
    case SQLITE_BUSY:
      return "another process has kept the database locked for " + std::to_string(longest_busy.count()) +
             " ms (one that was stopped, or a backup?)";
    case SQLITE_FULL: return "the disk is full; make room, nothing was changed";
    case SQLITE_READONLY:
      return "the database cannot be written; look at the permissions of the file and its directory";
    case SQLITE_NOTADB:
      return "the file is not a SQLite database; move it away, or name another file. It was left as it is";
    case SQLITE_CORRUPT:
      return "the database is damaged. It was left as it is; when nothing holds a lock in it, move " + path +
             ", -wal and -shm away, and a new one is made";
    case SQLITE_ERROR: return "the tables are not as cremone makes them; was the database edited?";
    case SQLITE_CANTOPEN: return "the file, or what SQLite keeps beside it, cannot be opened";
    default: return "SQLite failed";
  }
}

failure failure_of(sqlite3* connection, const std::string& path, int code) {
  std::string detail = path + ": " + advice_for(code, path) + " (" + sqlite3_errstr(code);
  if (connection != nullptr && sqlite3_system_errno(connection) != 0 && (code & 0xFF) != SQLITE_BUSY) {
    detail += std::string(", ") + std::generic_category().message(sqlite3_system_errno(connection));
  }
  return {error(kind_of(code), detail + ")"), (code & 0xFF) == SQLITE_IOERR, (code & 0xFF) == SQLITE_FULL};
}

/// The connections of this process, so that a fork finds them at rest.
struct connections {
  struct entry {
    std::mutex* mutex;
    sqlite3* connection;
    std::uint64_t process;
  };
  std::mutex mutex;
  std::vector<entry> all;
  std::uint64_t forking = 0;  // the process that forks: its connections are locked meanwhile
};

connections& known() {
  static auto* const one = new connections;  // never destroyed: a fork may come while the program ends
  return *one;
}

/// SQLite's own mutexes, in the order in which it nests them (it seeds its random numbers with the list of VFSs locked
/// inside; ThreadSanitizer watches over this): another thread of the program may be inside SQLite, and the child would
/// find them locked for ever.
constexpr std::array library_mutexes = {
    SQLITE_MUTEX_STATIC_OPEN, SQLITE_MUTEX_STATIC_PRNG, SQLITE_MUTEX_STATIC_MAIN,
    SQLITE_MUTEX_STATIC_VFS1, SQLITE_MUTEX_STATIC_VFS2, SQLITE_MUTEX_STATIC_VFS3,
    SQLITE_MUTEX_STATIC_LRU,  SQLITE_MUTEX_STATIC_PMEM, SQLITE_MUTEX_STATIC_MEM};

void before_fork() noexcept {
  connections& c = known();
  c.mutex.lock();
  c.forking = process_stamp();
  for (const auto& e : c.all) {
    if (e.process == c.forking) {
      e.mutex->lock();
    }
  }
  for (const int which : library_mutexes) {
    sqlite3_mutex_enter(sqlite3_mutex_alloc(which));  // a static one: nothing is allocated
  }
}

void after_fork() noexcept {
  std::for_each(library_mutexes.rbegin(), library_mutexes.rend(),
                [](int which) { sqlite3_mutex_leave(sqlite3_mutex_alloc(which)); });
  connections& c = known();
  for (const auto& e : c.all) {
    if (e.process == c.forking) {
      e.mutex->unlock();
    }
  }
  c.mutex.unlock();
}

void watch_forks() {
  sqlite3_initialize();
  static const int once = ::pthread_atfork(before_fork, after_fork, after_fork);
  if (once != 0) {
    throw failure{error(errc::misconfigured, "no memory left to be told of forks")};
  }
}

/// tell(i, x, y): notes x as the i-th result of the statement and yields y.
void tell(sqlite3_context* context, int /*count*/, sqlite3_value** given) {
  auto* const told = static_cast<std::array<std::int64_t, 2>*>(sqlite3_user_data(context));
  (*told)[static_cast<std::size_t>(sqlite3_value_int64(given[0])) % told->size()] =
      sqlite3_value_int64(given[1]);
  sqlite3_result_value(context, given[2]);
}

/// What SQLite keeps beside the file, and whoever has lost it writes where nobody reads.
constexpr std::array<const char*, 2> suffixes = {"-wal", "-shm"};

/// Its inode; 0: there is none.
std::uint64_t inode_at(const std::string& path) noexcept {
  struct stat seen {};
  return ::stat(path.c_str(), &seen) == 0 ? seen.st_ino : 0;
}

void close_quietly(sqlite3* connection) noexcept {
  while (sqlite3_stmt* left = sqlite3_next_stmt(connection, nullptr)) {
    sqlite3_finalize(left);
  }
  sqlite3_close(connection);
}

}  // namespace

rows::~rows() {
  if (statement_ != nullptr) {
    sqlite3_reset(statement_);
  }
}

bool rows::next() {
  const int code = sqlite3_step(statement_);
  if (code == SQLITE_ROW) {
    return true;
  }
  if (code != SQLITE_DONE) {
    const char* path = sqlite3_db_filename(connection_, "main");
    throw failure_of(connection_, path != nullptr ? path : "", sqlite3_extended_errcode(connection_));
  }
  return false;
}

std::int64_t rows::number(int column) const noexcept { return sqlite3_column_int64(statement_, column); }

bool rows::is_null(int column) const noexcept {
  return sqlite3_column_type(statement_, column) == SQLITE_NULL;
}

std::string_view rows::text(int column) const noexcept {
  const auto* at = static_cast<const char*>(sqlite3_column_blob(statement_, column));
  return at == nullptr
             ? std::string_view{}
             : std::string_view(at, static_cast<std::size_t>(sqlite3_column_bytes(statement_, column)));
}

bytes rows::blob(int column) const noexcept {
  const auto* at = static_cast<const std::uint8_t*>(sqlite3_column_blob(statement_, column));
  return at == nullptr ? bytes{}
                       : bytes(at, static_cast<std::size_t>(sqlite3_column_bytes(statement_, column)));
}

database::database(const std::string& given, const char* vfs) {
  watch_forks();
  connections& c = known();
  // No fork while SQLite makes a connection; and no other thread opens the file while it is made, which closes a
  // descriptor of it and so would drop that one's locks.
  const std::lock_guard lock(c.mutex);
  auto found = prepare_location(given);
  if (!found) {
    throw failure{found.error()};
  }
  path_ = std::move(*found);
  const int code =
      sqlite3_open_v2(path_.c_str(), &connection_, SQLITE_OPEN_READWRITE | SQLITE_OPEN_FULLMUTEX, vfs);
  if (code != SQLITE_OK) {
    failure why = failed(code);
    sqlite3_close(connection_);
    throw failure(std::move(why));
  }
  if (sqlite3_db_mutex(connection_) == nullptr) {
    sqlite3_close(connection_);
    throw failure{error(errc::misconfigured,
                        "this program has switched SQLite to single-thread mode; cremone needs its threads")};
  }
  sqlite3_extended_result_codes(connection_, 1);
  sqlite3_busy_handler(connection_, wait_for_writer, &patience_);
  sqlite3_wal_hook(
      connection_,
      [](void* self, sqlite3*, const char*, int frames) {
        static_cast<database*>(self)->shorten_log(frames);
        return SQLITE_OK;
      },
      this);
  // The journal stays when the last one leaves: a short program must not pay for a checkpoint, and a forked child that
  // closes what it inherited must not make one.
  sqlite3_db_config(connection_, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
  sqlite3_db_config(connection_, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(connection_, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_create_function_v2(connection_, "tell", 3, SQLITE_UTF8 | SQLITE_DIRECTONLY, &told_, tell, nullptr,
                             nullptr, nullptr);
  c.all.push_back({&mutex_, connection_, process_stamp()});
}

database::~database() {
  connections& c = known();
  const std::lock_guard lock(c.mutex);
  std::erase_if(c.all, [&](const auto& e) { return e.connection == connection_; });
  close_quietly(connection_);
}

void database::close_inherited() noexcept {
  connections& c = known();
  const std::lock_guard lock(c.mutex);
  const std::uint64_t here = process_stamp();
  std::erase_if(c.all, [&](const auto& e) {
    if (e.process == here) {
      return false;
    }
    close_quietly(e.connection);
    return true;
  });
}

/// In place of SQLite's own, which copies the log but never begins it anew while others write to it without a pause: it
/// would grow for as long as they do.
void database::shorten_log(int frames) noexcept {
  if (frames < copy_log_from) {
    return;
  }
  const bool begin_anew = frames >= begin_log_anew_from_;
  patience_.set_brief(true);
  const int code = sqlite3_wal_checkpoint_v2(
      connection_, "main", begin_anew ? SQLITE_CHECKPOINT_RESTART : SQLITE_CHECKPOINT_PASSIVE, nullptr,
      nullptr);
  patience_.set_brief(false);
  if (begin_anew) {  // a reader that is stopped is in the way; not for each commit anew
    begin_log_anew_from_ = code == SQLITE_OK ? long_log : frames + copy_log_from;
  }
}

void database::note_files() {
  for (std::size_t i = 0; i < beside_.size(); ++i) {
    beside_[i].path = path_ + suffixes[i];
    beside_[i].inode = inode_at(beside_[i].path);
  }
}

failure database::failed(int code) const { return failure_of(connection_, path_, code); }

void database::check(int code) {
  if (code != SQLITE_OK) {
    throw failed(sqlite3_extended_errcode(connection_));
  }
}

void database::prepare(statement& s) {
  if (s.prepared_ == nullptr) {
    check(sqlite3_prepare_v3(connection_, s.sql_, -1, SQLITE_PREPARE_PERSISTENT, &s.prepared_, nullptr));
  }
}

std::int64_t database::changes() const noexcept { return sqlite3_changes64(connection_); }

void database::bind(statement& s, int index, std::int64_t value) {
  check(sqlite3_bind_int64(s.prepared_, index, value));
}

void database::bind(statement& s, int index, std::string_view value) {
  const char* at = value.empty() ? "" : value.data();
  check(sqlite3_bind_text64(s.prepared_, index, at, value.size(), SQLITE_STATIC, SQLITE_UTF8));
}

void database::bind(statement& s, int index, bytes value) {
  check(sqlite3_bind_blob64(s.prepared_, index,
                            value.empty() ? reinterpret_cast<const std::uint8_t*>("") : value.data(),
                            value.size(), SQLITE_STATIC));
}

void database::execute(const char* sql) {
  if (sqlite3_exec(connection_, sql, nullptr, nullptr, nullptr) != SQLITE_OK) {
    throw failed(sqlite3_extended_errcode(connection_));
  }
}

std::int64_t database::number(const char* sql) {
  statement once(sql);
  prepare(once);
  std::int64_t found = 0;
  {
    rows all(connection_, once.prepared_);
    found = all.next() ? all.number(0) : 0;
  }
  sqlite3_finalize(once.prepared_);
  return found;
}

std::string database::text(const char* sql) {
  statement once(sql);
  prepare(once);
  std::string found;
  {
    rows all(connection_, once.prepared_);
    found = all.next() ? std::string(all.text(0)) : std::string();
  }
  sqlite3_finalize(once.prepared_);
  return found;
}

bool database::moved() const noexcept {
  int moved = 0;
  if (sqlite3_file_control(connection_, "main", SQLITE_FCNTL_HAS_MOVED, &moved) == SQLITE_OK && moved != 0) {
    return true;
  }
  return std::any_of(beside_.begin(), beside_.end(),
                     [](const neighbour& n) { return inode_at(n.path) != n.inode; });
}

transaction::~transaction() {
  if (!over_) {
    try {
      database_.execute("ROLLBACK");
    } catch (const failure&) {  // SQLite has rolled it back by itself, as it does on a full disk
    }
  }
}

void transaction::commit() {
  database_.execute("COMMIT");
  over_ = true;
}

}  // namespace cremone::sqlite
