// SPDX-License-Identifier: Apache-2.0
//
// Where a file system has no files without a name (NFS), or no /proc tells how to name one, a draft has a numbered name and is
// locked as long as its maker lives. One that nobody has locked is of somebody who was killed, and goes when the next is made.
#include "fence/file_draft.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

namespace cremone::fence {

namespace {

constexpr int most_numbered = 1000;  // far more than write to one file at the same time

std::string path_of(int file) { return "/proc/self/fd/" + std::to_string(file); }

descriptor open_unnamed(const place& at, mode_t mode) {
  descriptor file(::openat(at.directory.get(), ".", O_TMPFILE | O_RDWR | O_CLOEXEC, mode));
  struct stat there {};
  if (file && ::lstat(path_of(file.get()).c_str(), &there) != 0) {
    errno = EOPNOTSUPP;  // it could never be given a name
    return {};
  }
  return file;
}

}  // namespace

result<draft> draft::make(const place& at, mode_t mode) {
  draft made(at);
  made.file_ = open_unnamed(at, mode);
  if (!made.file_) {
    // ENOENT and EISDIR: kernels that do not know the flag see a directory to be written.
    if (errno != EOPNOTSUPP && errno != EISDIR && errno != ENOENT) {
      return refused_in(at, errno);
    }
    if (auto opened = made.open_numbered(mode); !opened) {
      return opened.error();
    }
  }
  return made;
}

draft::~draft() {
  if (!file_) {
    return;
  }
  if (!name_.empty()) {
    ::unlinkat(at_->directory.get(), name_.c_str(), 0);
  }
  ::flock(file_.get(), LOCK_UN);  // closing is not enough if another thread has forked meanwhile
}

result<void> draft::open_numbered(mode_t mode) {
  const int directory = at_->directory.get();
  for (int number = 0; number < most_numbered; ++number) {
    const std::string name = at_->new_name() + "-" + std::to_string(number);
    constexpr int how = O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
    const descriptor old(::openat(directory, name.c_str(), how));
    if (old && ::flock(old.get(), LOCK_EX | LOCK_NB) == 0 && is_named(old.get(), directory, name)) {
      ::unlinkat(directory, name.c_str(), 0);  // its maker is dead
    }
    descriptor mine(::openat(directory, name.c_str(), how | O_CREAT | O_EXCL, mode));
    if (!mine && errno != EEXIST) {
      return refused_in(*at_, errno);
    }
    // Somebody may have taken it for a dead one's before it was locked.
    if (mine && ::flock(mine.get(), LOCK_EX | LOCK_NB) == 0 && is_named(mine.get(), directory, name)) {
      file_ = std::move(mine);
      name_ = name;
      return {};
    }
  }
  return error(errc::busy, "there are " + std::to_string(most_numbered) + " writers of " + at_->shown() +
                               " at work, or files of theirs that cannot be removed");
}

result<void> draft::put(std::string_view bytes) {
  if (const int why = write_all(file_.get(), bytes); why != 0) {
    return refused("write what is to become " + at_->shown(), why);
  }
  return {};
}

result<void> draft::sync() {
  if (::fsync(file_.get()) != 0) {
    return refused("write what is to become " + at_->shown() + " to the disk", errno);
  }
  return {};
}

int draft::link_to(const std::string& name) const {
  const int directory = at_->directory.get();
  const int linked = name_.empty() ? ::linkat(AT_FDCWD, path_of(file_.get()).c_str(), directory, name.c_str(),
                                              AT_SYMLINK_FOLLOW)
                                   : ::linkat(directory, name_.c_str(), directory, name.c_str(), 0);
  return linked == 0 ? 0 : errno;
}

result<void> draft::name() {
  if (!name_.empty()) {
    return {};
  }
  const std::string name = at_->new_name();
  ::unlinkat(at_->directory.get(), name.c_str(), 0);  // of one who was killed: nobody else is here
  if (const int why = link_to(name); why != 0) {
    return refused_in(*at_, why);
  }
  name_ = name;
  return {};
}

result<void> draft::replace() {
  if (::renameat(at_->directory.get(), name_.c_str(), at_->directory.get(), at_->name.c_str()) != 0) {
    return refused("replace " + at_->shown(), errno);
  }
  name_.clear();
  return {};
}

result<bool> draft::become(const std::string& name) {
  const int why = link_to(name);
  if (why != 0 && why != EEXIST) {
    return refused_in(*at_, why);
  }
  return why == 0;
}

}  // namespace cremone::fence
