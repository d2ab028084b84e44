// SPDX-License-Identifier: Apache-2.0
#include "fence/file_aside.hpp"

#include "fence/file_likeness.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace cremone::fence {

namespace {

constexpr std::uint64_t piece = 65536;

error cannot(const place& at, int why) {
  return refused("set aside in " + at.aside_shown() + " what stands where an append to " + at.shown() +
                     " was cut short, and may be somebody else's",
                 why);
}

result<descriptor> open_aside(const place& at, const original& file) {
  constexpr int how = O_RDWR | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
  const std::string name = at.aside_name();
  descriptor made(::openat(at.directory.get(), name.c_str(), how | O_CREAT | O_EXCL, 0600));
  if (made) {
    (void)make_alike(made.get(), file, at, 0666);
    return made;
  }
  if (errno != EEXIST) {
    return cannot(at, errno);
  }
  descriptor there(::openat(at.directory.get(), name.c_str(), how));
  struct stat status {};
  struct stat directory {};
  if (!there || ::fstat(there.get(), &status) != 0 || ::fstat(at.directory.get(), &directory) != 0) {
    return cannot(at, errno);
  }
  const bool trusted = is_trusted(status, directory) || status.st_uid == file.status.st_uid;
  if (!S_ISREG(status.st_mode) || status.st_nlink != 1 || !trusted) {
    return error(
        errc::access_denied,
        at.aside_shown() +
            " is another user's or no plain file; move it away, for what stands where an append to " +
            at.shown() + " was cut short is to be kept there");
  }
  return there;
}

int copy(const original& file, int to, const place& at, std::uint64_t from, std::uint64_t length) {
  for (std::uint64_t done = 0; done < length;) {
    const auto bytes = read_at(file.file.get(), from + done,
                               static_cast<std::size_t>(std::min(piece, length - done)), at.shown());
    if (!bytes || bytes->empty()) {
      return EIO;
    }
    if (const int why = write_all(to, *bytes).why; why != 0) {
      return why;
    }
    done += bytes->size();
  }
  return ::fsync(to) == 0 && ::fsync(at.directory.get()) == 0 ? 0 : errno;
}

}  // namespace

result<void> set_aside(const place& at, const original& file, std::uint64_t from, std::uint64_t length) {
  const auto to = open_aside(at, file);
  if (!to) {
    return to.error();
  }
  struct stat before {};
  if (::fstat(to->get(), &before) != 0) {
    return cannot(at, errno);
  }
  if (const int why = copy(file, to->get(), at, from, length); why != 0) {
    (void)!::ftruncate(to->get(), before.st_size);
    if (before.st_size == 0) {
      ::unlinkat(at.directory.get(), at.aside_name().c_str(), 0);
    }
    return cannot(at, why);
  }
  return {};
}

}  // namespace cremone::fence
