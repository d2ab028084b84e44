// SPDX-License-Identifier: Apache-2.0
#include "backends/sqlite/examination.hpp"

#include "backends/sqlite/location.hpp"
#include "base/state_directory.hpp"

#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>

#include <algorithm>
#include <utility>

namespace cremone::sqlite {

namespace {

std::optional<struct stat> looked_at(const std::string& path) {
  struct stat seen {};
  if (::stat(path.c_str(), &seen) != 0) {
    return std::nullopt;
  }
  return seen;
}

std::optional<belonging> whose(const std::optional<struct stat>& seen) {
  if (!seen) {
    return std::nullopt;
  }
  return belonging{seen->st_mode, seen->st_uid, seen->st_gid};
}

wall_time written_at(const struct stat& seen) {
  return wall_time(
      std::chrono::seconds(seen.st_mtim.tv_sec) +
      std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::nanoseconds(seen.st_mtim.tv_nsec)));
}

/// Compares files, not paths: the state directory may be behind a symbolic link.
bool is_default(const std::string& path) {
  const auto directory = state_directory_path();
  if (!directory) {
    return false;
  }
  const auto file = looked_at(*directory + default_file_name);
  const auto ours = looked_at(path);
  return file && ours && file->st_dev == ours->st_dev && file->st_ino == ours->st_ino;
}

void look_at_files(file_evidence& seen) {
  const std::string directory = seen.path.substr(0, std::max<std::size_t>(seen.path.rfind('/'), 1));
  const auto file = looked_at(seen.path);
  seen.file = whose(file);
  seen.directory = whose(looked_at(directory));
  if (file) {
    seen.size = static_cast<std::uint64_t>(file->st_size);
    seen.written = written_at(*file);
  }
  if (const auto log = looked_at(seen.path + "-wal"); log && seen.written) {
    seen.log_size = static_cast<std::uint64_t>(log->st_size);
    seen.written = std::max(*seen.written, written_at(*log));
  }
  struct statfs kind {};
  if (::statfs(directory.c_str(), &kind) == 0) {
    seen.file_system = static_cast<long>(kind.f_type);
  }
  struct statvfs space {};
  if (::statvfs(directory.c_str(), &space) == 0) {
    seen.room = static_cast<std::uint64_t>(space.f_bavail) * space.f_frsize;
  }
}

}  // namespace

store::settings_in_file store::read_settings() {
  const std::lock_guard lock(database_.mutex());
  settings_in_file read;
  read.journal = database_.text("PRAGMA journal_mode");
  read.synchronous = database_.number("PRAGMA synchronous");
  read.format = database_.number("PRAGMA user_version");
  try {
    read.integrity = database_.text("PRAGMA quick_check(1)");
    read.highest =
        database_.number("SELECT max(floor, coalesce((SELECT max(token) FROM lock), 0)) FROM store");
  } catch (const failure& f) {  // too damaged to be checked
    read.integrity = f.why.detail();
  }
  return read;
}

file_evidence look_at(store& s, wall_time now) {
  file_evidence seen;
  seen.path = s.path();
  seen.now = now;
  seen.default_file = is_default(seen.path);
  look_at_files(seen);
  auto read = s.read_settings();
  seen.journal = std::move(read.journal);
  seen.synchronous = read.synchronous;
  seen.format = read.format;
  seen.integrity = std::move(read.integrity);
  seen.highest = read.highest;
  return seen;
}

}  // namespace cremone::sqlite
