// SPDX-License-Identifier: Apache-2.0
//
// Opening a database: whose it is, which format, which boot of the machine; making one where there is none.
#include "backends/sqlite/patience.hpp"
#include "backends/sqlite/statements.hpp"

#include <sys/random.h>
#include <sys/stat.h>

#include <cstring>
#include <system_error>

namespace cremone::sqlite {

namespace {

constexpr std::int64_t our_application = 0x6372656D;  // "crem", in the file's header
constexpr std::int64_t our_format = 1;

std::string hex(bytes raw) {
  static constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  for (const std::uint8_t byte : raw) {
    text += digits[byte >> 4U];
    text += digits[byte & 0xFU];
  }
  return text;
}

/// Changing the journal mode of a new file wants it alone, and SQLite does not wait for that: others may be making
/// it, too.
void switch_to_wal(database& d, const std::string& path) {
  patience left;
  for (int tries = 0;; ++tries) {
    try {
      if (d.text("PRAGMA journal_mode=WAL") != "wal") {
        throw failure{error(errc::misconfigured, path + ": SQLite cannot keep a write-ahead log here")};
      }
      return;
    } catch (const failure& f) {
      if (f.why.code() != errc::unreachable || !left.wait(tries)) {
        throw;
      }
    }
  }
}

}  // namespace

std::shared_ptr<store> store::open(const store_settings& settings) {
  database::close_inherited();
  return std::shared_ptr<store>(new store(settings));
}

store::store(store_settings settings)
    : settings_(std::move(settings)),
      database_(settings_.path, settings_.vfs),
      path_(database_.path()),
      sql_(std::make_unique<statements>()) {
  const std::lock_guard lock(database_.mutex());
  check_format();
  switch_to_wal(database_, path_);
  database_.execute("PRAGMA synchronous=NORMAL");
  database_.execute("PRAGMA journal_size_limit=4194304");  // a log that was long for once
  create_tables();
  database_.limit_growth();
  auto live = live_file::open(path_, settings_.boot);
  if (!live) {
    throw failure{live.error()};
  }
  live_ = std::move(*live);
  settle_boot();  // before our own byte shows that somebody is here
  if (auto taken = live_->take_byte(); !taken) {
    throw failure{taken.error()};
  }
  database_.note_files();
}

store::~store() = default;

/// Before anything is written to it.
void store::check_format() {
  database_.execute("BEGIN");  // one look: another process may be making the tables
  const std::int64_t application = database_.number("PRAGMA application_id");
  const std::int64_t tables = database_.number("SELECT count(*) FROM sqlite_schema");
  const std::int64_t format = database_.number("PRAGMA user_version");
  database_.execute("COMMIT");
  if (application != our_application && (application != 0 || tables != 0)) {
    throw failure{error(
        errc::misconfigured,
        path_ + " is a SQLite database of another program; it was left as it is." + " Name another file")};
  }
  if (application == our_application && format > our_format) {
    throw failure{error(errc::misconfigured, path_ + " was made by a newer cremone (format " +
                                                 std::to_string(format) + ", this one knows " +
                                                 std::to_string(our_format) +
                                                 "); use that one, or name another file")};
  }
}

void store::create_tables() {
  if (database_.number("SELECT count(*) FROM sqlite_schema") != 0) {
    return;
  }
  database_.execute("PRAGMA synchronous=FULL");
  {
    transaction step(database_);
    if (database_.number("SELECT count(*) FROM sqlite_schema") == 0) {  // nobody was quicker
      std::array<std::uint8_t, 16> uuid{};
      if (::getrandom(uuid.data(), uuid.size(), 0) != static_cast<ssize_t>(uuid.size())) {
        throw failure{error(errc::storage_error,
                            std::string("no random numbers: ") + std::generic_category().message(errno))};
      }
      database_.execute(sql::schema);
      statement only_row("INSERT INTO store VALUES (1, ?1, ?2, 0, 0, 0, '')");
      database_.run(only_row, uuid, settings_.boot);
      database_.execute(("PRAGMA application_id=" + std::to_string(our_application)).c_str());
      database_.execute(("PRAGMA user_version=" + std::to_string(our_format)).c_str());
    }
    step.commit();
  }
  database_.execute("PRAGMA synchronous=NORMAL");
}

void store::settle_boot() {
  statement whole("SELECT uuid, boot <> ?1 FROM store");
  bool new_boot = false;
  {
    rows found = database_.query(whole, settings_.boot);
    if (!found.next()) {
      throw failure{
          error(errc::storage_error, path_ + ": the table 'store' is empty; was the database edited?")};
    }
    identity_ = "sqlite:" + hex(found.blob(0));
    new_boot = found.number(1) != 0;
  }
  struct stat seen {};
  if (::stat(path_.c_str(), &seen) == 0) {
    identity_ += ':' + std::to_string(seen.st_ino);  // a copy of the file is another store
  }
  // A container may have a boot id of its own. Whoever lives here came after the last restart of the machine, and has
  // seen to this.
  if (new_boot && !live_->anybody()) {
    transaction step(database_);
    if (database_.run(sql_->new_boot, settings_.boot) != 0) {  // nobody was quicker
      database_.execute("DELETE FROM waiter");
    }
    step.commit();
  }
}

bool store::moved() {
  const std::lock_guard lock(database_.mutex());
  return database_.moved();
}

}  // namespace cremone::sqlite
