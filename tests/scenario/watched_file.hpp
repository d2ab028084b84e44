// SPDX-License-Identifier: Apache-2.0
//
// Tells whether a file that is replaced by renaming was written anew.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>

namespace cremone::test {

/// While it is open its inode is not used again.
class watched_file {
 public:
  explicit watched_file(const std::string& path)
      : path_(path), fd_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {}
  watched_file(const watched_file&) = delete;
  watched_file& operator=(const watched_file&) = delete;
  ~watched_file() { ::close(fd_); }
  [[nodiscard]] bool same() const {
    struct stat then {};
    struct stat now {};
    return ::fstat(fd_, &then) == 0 && ::stat(path_.c_str(), &now) == 0 && then.st_ino == now.st_ino;
  }

 private:
  const std::string path_;
  const int fd_;
};

}  // namespace cremone::test
