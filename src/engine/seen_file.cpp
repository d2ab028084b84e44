// SPDX-License-Identifier: Apache-2.0
//
// Nothing is synced to the disk: after a crash of the machine it is another boot, and no line counts any more.
#include "engine/seen_file.hpp"

#include "base/descriptor.hpp"
#include "base/state_directory.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace cremone::detail {

namespace {

constexpr const char* file_name = "seen";
constexpr const char* new_name = "seen.new";
constexpr const char* lock_file_name = "seen.lock";  // never renamed or removed: all lock the same file

/// No file of ours is larger: max_sightings lines of the longest names there can be.
constexpr std::size_t largest = 4U << 20U;

/// Held by at most one process, and never waited for.
class file_lock {
 public:
  explicit file_lock(int directory) noexcept
      : file_(::openat(directory, lock_file_name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK,
                       0600)),
        held_(file_ && ::flock(file_.get(), LOCK_EX | LOCK_NB) == 0) {}
  file_lock(const file_lock&) = delete;
  file_lock& operator=(const file_lock&) = delete;
  ~file_lock() {
    if (held_) {
      ::flock(file_.get(), LOCK_UN);  // closing is not enough if another thread has forked meanwhile
    }
  }
  explicit operator bool() const noexcept { return held_; }

 private:
  descriptor file_;
  bool held_;
};

std::optional<std::string> read_all(int fd) {
  std::string text;
  while (text.size() <= largest) {
    const std::size_t had = text.size();
    text.resize(had + 65536);
    const ssize_t got = ::read(fd, text.data() + had, text.size() - had);
    text.resize(had + static_cast<std::size_t>(got > 0 ? got : 0));
    if (got == 0) {
      return text;
    }
    if (got < 0 && errno != EINTR) {
      break;
    }
  }
  return std::nullopt;
}

bool write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t put = ::write(fd, text.data(), text.size());
    if (put < 0 && errno != EINTR) {
      return false;
    }
    text.remove_prefix(static_cast<std::size_t>(put > 0 ? put : 0));
  }
  return true;
}

/// Somebody else's lines, or lines that somebody else could have written, could make us take over too early.
bool ours_alone(const struct stat& file) noexcept {
  return S_ISREG(file.st_mode) && file.st_uid == ::geteuid() && (file.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

std::optional<std::string> line_of(const char* path) {
  const descriptor file(::open(path, O_RDONLY | O_CLOEXEC));
  auto text = file ? read_all(file.get()) : std::nullopt;
  while (text && !text->empty() && text->back() == '\n') {
    text->pop_back();
  }
  return text && !text->empty() ? text : std::nullopt;
}

}  // namespace

std::string clock_identity() {
  const auto boot = line_of("/proc/sys/kernel/random/boot_id");
  if (!boot) {
    return {};
  }
  struct stat time_namespace {};
  if (::stat("/proc/self/ns/time", &time_namespace) != 0) {
    // A kernel without time namespaces has one clock. One that hides them may have several.
    struct stat other {};
    const bool knows_none = errno == ENOENT && ::stat("/proc/self/ns/pid", &other) == 0;
    return knows_none ? *boot : std::string();
  }
  const auto offsets = line_of("/proc/self/timens_offsets");
  return offsets ? *boot + '/' + std::to_string(time_namespace.st_ino) + '/' + *offsets : std::string();
}

const seen_file::place& seen_file::where() {
  if (!place_) {
    auto directory = state_directory_path();
    std::string clock = clock_identity();
    ours_to_make_ = true;
    place_ = place{directory && !clock.empty() ? std::move(*directory) : std::string(), std::move(clock)};
  }
  return *place_;
}

std::span<const core::sighting> seen_file::look() {
  const descriptor directory(::open(where().directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  read(directory.get());
  return known_;
}

/// Brings known_ up to date; without a directory or a file there is nothing to know.
void seen_file::read(int directory) {
  struct stat now {};
  if (directory < 0 || ::fstatat(directory, file_name, &now, AT_SYMLINK_NOFOLLOW) != 0) {
    read_.reset();
    known_.clear();
    return;
  }
  const auto stamp_of = [](const struct stat& s) {
    return stamp{s.st_ino, s.st_size, s.st_mtim.tv_sec, s.st_mtim.tv_nsec};
  };
  if (read_ == stamp_of(now)) {
    return;
  }
  read_.reset();
  known_.clear();
  // Not blocking, should it be a pipe.
  const descriptor file(::openat(directory, file_name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
  if (!file || ::fstat(file.get(), &now) != 0 || !ours_alone(now)) {
    return;
  }
  if (const auto text = read_all(file.get())) {
    read_ = stamp_of(now);
    known_ = core::decode(*text);
  }
}

bool seen_file::add(const core::vantage& from, core::seen_holds ours, instant now) {
  if (where().directory.empty() || (ours_to_make_ && state_directory().has_error())) {
    return false;
  }
  const descriptor directory(::open(where().directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory) {
    return false;
  }
  const file_lock alone(directory.get());
  if (!alone) {
    return false;
  }
  read(directory.get());  // others may have written since we looked
  if (!core::adds_to(known_, from, ours)) {
    return true;
  }
  if (!replace(directory.get(), core::merge(known_, from, ours, now))) {
    return false;
  }
  read(directory.get());
  return true;
}

bool seen_file::replace(int directory, const std::vector<core::sighting>& with) {
  struct stat old {};
  if (::fstatat(directory, file_name, &old, AT_SYMLINK_NOFOLLOW) == 0 && !ours_alone(old)) {
    return false;  // not ours to replace
  }
  ::unlinkat(directory, new_name, 0);  // of one who was killed: nobody else is here
  const descriptor file(
      ::openat(directory, new_name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file) {
    return false;
  }
  if (!write_all(file.get(), core::encode(with)) ||
      ::renameat(directory, new_name, directory, file_name) != 0) {
    ::unlinkat(directory, new_name, 0);
    return false;
  }
  return true;
}

}  // namespace cremone::detail
