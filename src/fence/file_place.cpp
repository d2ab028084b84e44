// SPDX-License-Identifier: Apache-2.0
#include "fence/file_place.hpp"

#include "base/reading.hpp"
#include "base/text.hpp"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <system_error>
#include <utility>

namespace cremone::fence {

namespace {

constexpr int most_links = 40;  // as many as the kernel follows

std::string quoted(const std::string& path) { return "'" + printable(path) + "'"; }

error wrong(std::string detail) { return {errc::invalid_argument, std::move(detail)}; }

std::string directory_of(const std::string& path) {
  const auto slash = path.rfind('/');
  return slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}

std::string name_of(const std::string& path) { return path.substr(path.rfind('/') + 1); }

/// Links of the kernel's own, such as /dev/stdout, lead to what a process has open. To rename something over that is not what is meant.
bool is_of_proc(int link) noexcept {
  struct statfs system {};
  return ::fstatfs(link, &system) == 0 && system.f_type == PROC_SUPER_MAGIC;
}

/// Names that the token, and what is to become a file, have beside some other file.
bool is_one_of_ours(const std::string& name) {
  constexpr std::string_view fresh = ".fence-new";
  if (name.ends_with(".fence") || name.ends_with(".fence-cut")) {
    return true;
  }
  const auto at = name.rfind(fresh);
  if (at == std::string::npos || name.front() != '.') {
    return false;
  }
  const std::string rest = name.substr(at + fresh.size());
  return rest.empty() || (rest.front() == '-' && whole_number<unsigned>(rest.substr(1)));
}

/// By which mount it is reached. Nothing where the kernel does not say (before 5.8).
std::optional<std::uint64_t> mount_of(int file) noexcept {
  struct statx status {};
  const bool known =
      ::statx(file, "", AT_EMPTY_PATH, STATX_MNT_ID, &status) == 0 && (status.stx_mask & STATX_MNT_ID) != 0;
  return known ? std::optional<std::uint64_t>(status.stx_mnt_id) : std::nullopt;
}

/// Where the link of this path leads. Nothing if it is no link, or is not there.
result<std::optional<std::string>> link_at(const std::string& path) {
  const descriptor link(::open(path.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  struct stat status {};
  std::array<char, PATH_MAX> target{};
  if (!link || ::fstat(link.get(), &status) != 0 || !S_ISLNK(status.st_mode)) {
    return std::optional<std::string>();
  }
  if (is_of_proc(link.get())) {
    return wrong(quoted(path) +
                 " stands for what a process has open, and not for a file with a name beside "
                 "which a token could lie; use a shell's > for it, or the file's own name");
  }
  // The kernel does not follow it there either.
  struct stat directory {};
  if (::stat(directory_of(path).c_str(), &directory) != 0 || !is_trusted(status, directory)) {
    return error(errc::access_denied, "the symbolic link " + quoted(path) +
                                          " is another user's, in a directory where anybody can make one");
  }
  const ssize_t size = ::readlinkat(link.get(), "", target.data(), target.size());
  if (size <= 0) {
    return refused("follow the symbolic link " + quoted(path), size == 0 ? ENOENT : errno);
  }
  const std::string to(target.data(), static_cast<std::size_t>(size));
  return std::optional(to.front() == '/' ? to : directory_of(path) + "/" + to);
}

/// The last of a chain of links.
result<std::string> follow(const std::string& path) {
  std::string at = path;
  for (int links = 0; links <= most_links; ++links) {
    const auto next = link_at(at);
    if (!next) {
      return next.error();
    }
    if (!*next) {
      return at;
    }
    at = **next;
  }
  return wrong(quoted(path) + " is a symbolic link that leads to itself");
}

const char* kind_of(mode_t mode) noexcept {
  switch (mode & S_IFMT) {
    case S_IFDIR: return "a directory";
    case S_IFIFO: return "a pipe";
    case S_IFSOCK: return "a socket";
    case S_IFCHR:
    case S_IFBLK: return "a device";
    case S_IFLNK: return "a symbolic link";
    default: return "no regular file";
  }
}

errc code_of(int why) noexcept {
  switch (why) {
    case EACCES:
    case EPERM: return errc::access_denied;
    case ENAMETOOLONG:
    case ENOENT:
    case ENOTDIR:
    case EISDIR:
    case ELOOP: return errc::invalid_argument;
    default: return errc::storage_error;
  }
}

}  // namespace

bool is_trusted(const struct stat& thing, const struct stat& directory) noexcept {
  const bool anybodys = (directory.st_mode & S_ISVTX) != 0 && (directory.st_mode & S_IWOTH) != 0;
  return !anybodys || thing.st_uid == ::geteuid() || thing.st_uid == directory.st_uid || thing.st_uid == 0;
}

std::string place::shown() const { return quoted(path); }
std::string place::token_shown() const { return quoted(path + ".fence"); }
std::string place::aside_shown() const { return quoted(path + ".fence-cut"); }

error refused(const std::string& what, int why) {
  return {code_of(why), "cannot " + what + ": " + std::generic_category().message(why)};
}

error refused_in(const place& at, int why) {
  if (why == EACCES || why == EPERM) {
    return {errc::access_denied, "cannot make a file in the directory " + quoted(at.directory_path) +
                                     ", which a fenced write of " + at.shown() +
                                     " needs: " + std::generic_category().message(why)};
  }
  return refused("make a file in the directory " + quoted(at.directory_path), why);
}

result<place> find_place(const std::string& path) {
  if (path.empty()) {
    return wrong("the path of the fenced file is empty");
  }
  if (path.find('\0') != std::string::npos) {
    return wrong("the path " + quoted(path) + " has a NUL in it");
  }
  auto real = follow(path);
  if (!real) {
    return real.error();
  }
  place at{*real, directory_of(*real), {}, name_of(*real)};
  if (at.name.empty() || at.name == "." || at.name == "..") {
    return wrong(quoted(path) + " names a directory; a fenced file is a regular one");
  }
  if (is_one_of_ours(at.name)) {
    return wrong(quoted(path) +
                 " has a name that fenced files use for what they keep beside another: name "
                 "the file itself, or choose a name without .fence at its end");
  }
  at.directory = descriptor(::open(at.directory_path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!at.directory) {
    return refused("open the directory " + quoted(at.directory_path), errno);
  }
  // Now, and not when the token has moved: the longest of our names must fit too.
  struct stat ignored {};
  if (::fstatat(at.directory.get(), at.new_name().c_str(), &ignored, AT_SYMLINK_NOFOLLOW) != 0 &&
      errno == ENAMETOOLONG) {
    return wrong("the name of " + at.shown() + " is too long: with " +
                 std::to_string(at.new_name().size() - at.name.size()) +
                 " bytes more, for a name of ours beside it, it does not fit into the directory");
  }
  return at;
}

result<std::optional<original>> look_at(const place& at) {
  original seen;
  const int directory = at.directory.get();
  // Before it is opened: that alone does something to some devices.
  if (::fstatat(directory, at.name.c_str(), &seen.status, AT_SYMLINK_NOFOLLOW) != 0) {
    if (errno == ENOENT) {
      return std::optional<original>();
    }
    return refused("look at " + at.shown(), errno);
  }
  if (S_ISREG(seen.status.st_mode)) {
    seen.file = descriptor(
        ::openat(directory, at.name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
    if (!seen.file && errno == ENOENT) {
      return std::optional<original>();
    }
    if (!seen.file || ::fstat(seen.file.get(), &seen.status) != 0) {
      return refused("read " + at.shown() + ", whose attributes are to be kept", errno);
    }
  }
  if (!S_ISREG(seen.status.st_mode)) {
    return wrong(at.shown() + " is " + kind_of(seen.status.st_mode) + "; a fenced file is a regular one");
  }
  return std::optional(std::move(seen));
}

result<void> has_one_name(const place& at, const original& file) {
  if (file.status.st_nlink > 1) {
    return wrong(
        at.shown() + " has " + std::to_string(file.status.st_nlink) +
        " names (hard links), and each would have a token of its own; an append needs a file with one");
  }
  const auto mine = mount_of(file.file.get());
  const auto beside = mount_of(at.directory.get());
  if (mine && beside && *mine != *beside) {
    return wrong(at.shown() +
                 " is a mounted file, and where it comes from it would have a token of its own; "
                 "mount its directory instead");
  }
  return {};
}

bool is_named(int file, int directory, const std::string& name) noexcept {
  struct stat mine {};
  struct stat named {};
  return ::fstat(file, &mine) == 0 && ::fstatat(directory, name.c_str(), &named, AT_SYMLINK_NOFOLLOW) == 0 &&
         mine.st_ino == named.st_ino && mine.st_dev == named.st_dev;
}

written write_all(int file, std::string_view bytes) noexcept {
  written all;
  while (all.bytes < bytes.size()) {
    const ssize_t put = ::write(file, bytes.data() + all.bytes, bytes.size() - all.bytes);
    if (put < 0 && errno != EINTR) {
      all.why = errno;
      break;
    }
    all.bytes += static_cast<std::uint64_t>(put > 0 ? put : 0);
  }
  return all;
}

result<std::string> read_at(int file, std::uint64_t offset, std::size_t most, const std::string& shown) {
  std::string bytes(most, '\0');
  std::size_t had = 0;
  while (had < most) {
    const ssize_t got = ::pread(file, bytes.data() + had, most - had, static_cast<off_t>(offset + had));
    if (got < 0 && errno != EINTR) {
      return refused("read " + shown, errno);
    }
    if (got == 0) {
      break;
    }
    had += static_cast<std::size_t>(got > 0 ? got : 0);
  }
  bytes.resize(had);
  return bytes;
}

}  // namespace cremone::fence
