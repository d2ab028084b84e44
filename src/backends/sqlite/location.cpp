// SPDX-License-Identifier: Apache-2.0
#include "backends/sqlite/location.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <system_error>

namespace cremone::sqlite {

namespace {

struct known_file_system {
  long magic;
  std::string_view name;
};

// From the kernel's headers and the projects' own, since no one header has them all.
constexpr std::array distant = {
    known_file_system{0x6969, "NFS"},
    known_file_system{0x517B, "SMB"},
    known_file_system{0xFF534D42, "CIFS"},
    known_file_system{0xFE534D42, "SMB2"},
    known_file_system{0x5346414F, "AFS"},
    known_file_system{0x6B414653, "kAFS"},
    known_file_system{0x01021997, "9P"},
    known_file_system{0x00C36400, "Ceph"},
    known_file_system{0x73757245, "Coda"},
    known_file_system{0x564C, "NCP"},
    known_file_system{0x01161970, "GFS2"},
    known_file_system{0x7461636F, "OCFS2"},
    known_file_system{0x65735546, "FUSE"},
    known_file_system{0x0BD00BD0, "Lustre"},
    known_file_system{0x47504653, "GPFS"},
    known_file_system{0x19830326, "BeeGFS"},
    known_file_system{0x786F4256, "a VM share"},
    known_file_system{0xBACBACBC, "a VM share"},
    known_file_system{0xAAD7AAEA, "PanFS"},
};

error trouble(const std::string& what, const std::string& path, int number) {
  const std::string text = what + " " + path + ": " + std::generic_category().message(number);
  switch (number) {
    case EACCES:
    case EPERM:
      return {errc::access_denied, text + "; it needs write permission on the directory and on the file"};
    case EROFS: return {errc::storage_error, text + "; name a file on a file system that can be written"};
    case ENOSPC:
    case EDQUOT: return {errc::storage_error, text + "; make room on that disk"};
    default: return {errc::misconfigured, text};
  }
}

std::string directory_of(const std::string& path) {
  const auto slash = path.rfind('/');
  return slash == 0 ? "/" : path.substr(0, slash);
}

result<struct stat> check_directory(const std::string& directory) {
  struct stat seen {};
  if (::stat(directory.c_str(), &seen) != 0) {
    if (errno == ENOENT) {
      return error(errc::misconfigured,
                   "the directory " + directory + " does not exist; make it with: mkdir -p " + directory);
    }
    return trouble("cannot use the directory", directory, errno);
  }
  if (!S_ISDIR(seen.st_mode)) {
    return error(errc::misconfigured, directory + " is not a directory");
  }
  struct statfs on {};
  if (::statfs(directory.c_str(), &on) != 0) {
    return trouble("cannot tell the file system of", directory, errno);
  }
  if (const auto name = distant_file_system(static_cast<long>(on.f_type))) {
    return error(errc::misconfigured,
                 directory + " lies on " + std::string(*name) +
                     ", where file locks do not hold between machines; name a file on a local"
                     " disk, or a store with a server");
  }
  return seen;
}

/// Who may write to the directory could replace the file anyway, unless it is sticky.
mode_t mode_for(const struct stat& directory, gid_t group_of_file) {
  mode_t mode = S_IRUSR | S_IWUSR;
  if ((directory.st_mode & S_ISVTX) != 0) {
    return mode;
  }
  if ((directory.st_mode & S_IWGRP) != 0 && directory.st_gid == group_of_file) {
    mode |= S_IRGRP | S_IWGRP;
  }
  if ((directory.st_mode & S_IWOTH) != 0) {
    mode |= S_IRGRP | S_IWGRP | S_IROTH | S_IWOTH;
  }
  return mode;
}

void sync_directory(const std::string& directory) {
  const int fd = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd >= 0) {
    (void)::fsync(fd);  // where a directory cannot be synced there is nothing better to do
    ::close(fd);
  }
}

/// A file without a name yet; where the file system knows none, one with the name, seen for a moment with mode 0600.
int open_new(const std::string& path, const std::string& directory, bool& named) noexcept {
  const bool can_be_named = ::access("/proc/self/fd", X_OK) == 0;
  const int fd = can_be_named ? ::open(directory.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600) : -1;
  named = fd < 0;
  return named ? ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600) : fd;
}

bool give_name(int fd, const std::string& path) noexcept {
  const std::string self = "/proc/self/fd/" + std::to_string(fd);
  return ::linkat(AT_FDCWD, self.c_str(), AT_FDCWD, path.c_str(), AT_SYMLINK_FOLLOW) == 0;
}

/// Only a file that we make ourselves may be opened here: closing a descriptor of a database that is in use drops
/// all of SQLite's locks on it. It appears with its permissions, so that nobody is denied who comes at the same time.
result<void> create(const std::string& path, const std::string& directory, const struct stat& beside) {
  if (struct stat there{}; ::lstat(path.c_str(), &there) == 0) {
    return {};
  }
  bool named = false;
  const int fd = open_new(path, directory, named);
  if (fd < 0) {
    // Somebody was quicker, or it is a link that leads nowhere, which realpath will tell.
    return errno == EEXIST ? result<void>{} : trouble("cannot make", path, errno);
  }
  struct stat made {};
  const bool fine = ::fstat(fd, &made) == 0 && ::fchmod(fd, mode_for(beside, made.st_gid)) == 0 &&
                    ::fsync(fd) == 0 && (named || give_name(fd, path) || errno == EEXIST);
  const int why = errno;
  ::close(fd);
  if (!fine) {
    return trouble("cannot make", path, why);
  }
  sync_directory(directory);
  return {};
}

result<void> check_file(const std::string& path) {
  struct stat seen {};
  if (::stat(path.c_str(), &seen) != 0) {
    return trouble("cannot use", path, errno);
  }
  if (!S_ISREG(seen.st_mode)) {
    return error(errc::misconfigured, path + " is not a regular file; name a file for the locks");
  }
  if (seen.st_nlink > 1) {
    return error(
        errc::misconfigured,
        path + " has several names (hard links), and SQLite would keep one journal per name; keep one name");
  }
  if (::faccessat(AT_FDCWD, path.c_str(), R_OK | W_OK, AT_EACCESS) != 0) {
    return trouble("cannot write", path, errno);
  }
  const std::string directory = directory_of(path);
  if (::faccessat(AT_FDCWD, directory.c_str(), W_OK | X_OK, AT_EACCESS) != 0) {
    return trouble("cannot write to the directory", directory, errno);
  }
  return {};
}

}  // namespace

std::optional<std::string_view> distant_file_system(long magic) noexcept {
  for (const known_file_system& known : distant) {
    if (known.magic == (magic & 0xFFFFFFFFL)) {
      return known.name;
    }
  }
  return std::nullopt;
}

result<std::string> prepare_location(const std::string& path) {
  const std::string directory = directory_of(path);
  const auto beside = check_directory(directory);
  if (!beside) {
    return beside.error();
  }
  if (auto made = create(path, directory, *beside); !made) {
    return made.error();
  }
  std::array<char, PATH_MAX> real{};
  if (::realpath(path.c_str(), real.data()) == nullptr) {
    return trouble("cannot use", path, errno);
  }
  std::string found = real.data();
  if (const auto there = check_directory(directory_of(found)); !there) {  // a link may lead elsewhere
    return there.error();
  }
  if (auto fine = check_file(found); !fine) {
    return fine.error();
  }
  return found;
}

result<void> trusted_beside(const std::string& database, unsigned owner) {
  struct stat file {};
  struct stat directory {};
  if (::stat(database.c_str(), &file) != 0 || ::stat(directory_of(database).c_str(), &directory) != 0) {
    return trouble("cannot use", database, errno);
  }
  if ((directory.st_mode & S_ISVTX) != 0 && owner != file.st_uid && owner != 0) {
    return error(errc::misconfigured,
                 database + ".live belongs to another user (uid " + std::to_string(owner) +
                     "), who could end our processes by it; remove it, or use a directory of"
                     " your own");
  }
  return {};
}

void share_like(const std::string& database, int fd) noexcept {
  struct stat wanted {};
  struct stat made {};
  if (::stat(database.c_str(), &wanted) != 0 || ::fstat(fd, &made) != 0) {
    return;
  }
  // What fails here was made by another user, who does this, or was done before.
  if (::geteuid() == 0 && (made.st_uid != wanted.st_uid || made.st_gid != wanted.st_gid)) {
    (void)!::fchown(fd, wanted.st_uid, wanted.st_gid);
  }
  if ((made.st_mode & 0777U) != (wanted.st_mode & 0777U)) {
    (void)::fchmod(fd, wanted.st_mode & 0777U);
  }
}

}  // namespace cremone::sqlite
