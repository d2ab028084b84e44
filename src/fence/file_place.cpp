// SPDX-License-Identifier: Apache-2.0
#include "fence/file_place.hpp"

#include "base/text.hpp"

#include <fcntl.h>
#include <sys/stat.h>
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

/// In a directory such as /tmp a link may be a trap that somebody set for others: the kernel does not follow it there either.
bool is_trusted(const struct stat& link, const std::string& directory_path) noexcept {
  struct stat directory {};
  if (::stat(directory_path.c_str(), &directory) != 0) {
    return false;
  }
  const bool anybodys = (directory.st_mode & S_ISVTX) != 0 && (directory.st_mode & S_IWOTH) != 0;
  return !anybodys || link.st_uid == ::geteuid() || link.st_uid == directory.st_uid;
}

/// Where the link of this path leads. Nothing if it is no link, or is not there.
result<std::optional<std::string>> link_at(const std::string& path) {
  const descriptor link(::open(path.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  struct stat status {};
  std::array<char, PATH_MAX> target{};
  if (!link || ::fstat(link.get(), &status) != 0 || !S_ISLNK(status.st_mode)) {
    return std::optional<std::string>();
  }
  if (!is_trusted(status, directory_of(path))) {
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

std::string place::shown() const { return quoted(path); }
std::string place::token_shown() const { return quoted(path + ".fence"); }

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

bool is_named(int file, int directory, const std::string& name) noexcept {
  struct stat mine {};
  struct stat named {};
  return ::fstat(file, &mine) == 0 && ::fstatat(directory, name.c_str(), &named, AT_SYMLINK_NOFOLLOW) == 0 &&
         mine.st_ino == named.st_ino && mine.st_dev == named.st_dev;
}

int write_all(int file, std::string_view bytes) noexcept {
  while (!bytes.empty()) {
    const ssize_t put = ::write(file, bytes.data(), bytes.size());
    if (put < 0 && errno != EINTR) {
      return errno;
    }
    bytes.remove_prefix(static_cast<std::size_t>(put > 0 ? put : 0));
  }
  return 0;
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
