// SPDX-License-Identifier: Apache-2.0
//
// Where a file system has no files without a name (NFS), or no /proc tells how to name one, a draft has a numbered name and is
// locked as long as its maker lives. One that nobody has locked is of somebody who was killed, and goes when the next is made.
#include "fence/file_draft.hpp"

#include "base/reading.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

namespace cremone::fence {

namespace {

constexpr int most_numbered = 1000;  // far more than write to one file at the same time
constexpr int opening = O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;

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

/// The numbered names that there are, in no order.
std::vector<std::string> numbered_in(const place& at) {
  std::vector<std::string> found;
  const std::string prefix = at.new_name() + "-";
  std::error_code ignored;
  // Not by our descriptor, whose place in the listing all threads would share.
  for (const auto& entry : std::filesystem::directory_iterator(at.directory_path, ignored)) {
    std::string name = entry.path().filename().string();
    if (name.starts_with(prefix) && whole_number<unsigned>(name.substr(prefix.size()))) {
      found.push_back(std::move(name));
    }
  }
  return found;
}

void remove_dead(const place& at) {
  const int directory = at.directory.get();
  for (const std::string& name : numbered_in(at)) {
    const descriptor old(::openat(directory, name.c_str(), opening));
    if (old && ::flock(old.get(), LOCK_EX | LOCK_NB) == 0) {
      if (is_named(old.get(), directory, name)) {
        ::unlinkat(directory, name.c_str(), 0);
      }
      ::flock(old.get(), LOCK_UN);
    }
  }
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

result<draft> draft::spool(const place& at) {
  auto made = make(at, 0600);
  if (made) {
    made->what_ = "set aside what is to be appended to ";
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
  remove_dead(*at_);
  for (int number = 0; number < most_numbered; ++number) {
    const std::string name = at_->new_name() + "-" + std::to_string(number);
    descriptor mine(::openat(directory, name.c_str(), O_CREAT | O_EXCL | opening, mode));
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
  if (const int why = write_all(file_.get(), bytes).why; why != 0) {
    return refused(what_ + at_->shown(), why);
  }
  return {};
}

result<void> draft::sync() {
  if (::fsync(file_.get()) != 0) {
    return refused(what_ + at_->shown() + " to the disk", errno);
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
