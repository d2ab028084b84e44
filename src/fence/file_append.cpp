// SPDX-License-Identifier: Apache-2.0
//
// The order, each on the disk before the next: the note with token, size before, length and sum; the bytes; and then, not waited for, that
// it is over. A note without that is what a crash leaves.
#include "fence/file_append.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace cremone::fence {

namespace {

constexpr std::size_t piece = 65536;

int copy(const draft& from, int to, const place& at, std::uint64_t length) {
  for (std::uint64_t done = 0; done < length;) {
    const auto bytes = read_at(from.file(), done, piece, at.shown());
    if (!bytes || bytes->empty()) {
      return EIO;
    }
    if (const int why = write_all(to, *bytes); why != 0) {
      return why;
    }
    done += bytes->size();
  }
  return 0;
}

/// Back to this size, and on the disk.
bool cut_back(int file, std::uint64_t size) noexcept {
  return ::ftruncate(file, static_cast<off_t>(size)) == 0 && ::fdatasync(file) == 0;
}

result<std::uint64_t> sum_of(int file, const place& at, std::uint64_t from, std::uint64_t length) {
  checksum sum;
  for (std::uint64_t done = 0; done < length;) {
    const auto bytes =
        read_at(file, from + done, static_cast<std::size_t>(std::min<std::uint64_t>(piece, length - done)),
                at.shown());
    if (!bytes || bytes->empty()) {
      return bytes ? refused("read " + at.shown(), EIO) : bytes.error();
    }
    sum.add(*bytes);
    done += bytes->size();
  }
  return sum.value();
}

}  // namespace

result<std::optional<original>> open_for_append(const place& at) {
  auto seen = look_at(at);
  if (!seen || !*seen) {
    return seen;
  }
  // At its end, wherever that is by then: somebody who writes without us is not overwritten.
  constexpr int how = O_RDWR | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
  (*seen)->file = descriptor(::openat(at.directory.get(), at.name.c_str(), how));
  if (!(*seen)->file || ::fstat((*seen)->file.get(), &(*seen)->status) != 0) {
    return refused("open " + at.shown() + " for writing", errno);
  }
  return seen;
}

result<void> add(const place& at, token_file& token, fence_token presented, const original& file,
                 const addition& more) {
  const auto before = static_cast<std::uint64_t>(file.status.st_size);
  if (auto noted = token.raise(presented, slot::addition{file.status.st_ino, before, more.length, more.sum});
      !noted) {
    return noted;
  }
  const int to = file.file.get();
  int why = more.spooled ? copy(*more.spooled, to, at, more.length) : write_all(to, more.text);
  if (why == 0 && ::fdatasync(to) != 0) {
    why = errno;
  }
  if (why != 0) {
    if (cut_back(to, before)) {
      (void)token.settle();
    }
    return refused("append to " + at.shown(), why);
  }
  (void)token.settle();  // if not: it is whole, and the next finds it so
  return {};
}

result<void> recover(const place& at, token_file& token) {
  if (!token.begun()) {
    return {};
  }
  const slot::addition begun = *token.begun();
  const auto file = open_for_append(at);
  if (!file) {
    return file.error();
  }
  const auto size = *file ? static_cast<std::uint64_t>((*file)->status.st_size) : 0;
  const bool ours = *file && (*file)->status.st_ino == begun.inode && size > begun.before &&
                    size <= begun.before + begun.length;
  if (ours) {
    const int from = (*file)->file.get();
    bool there = size == begun.before + begun.length;
    if (there) {
      const auto sum = sum_of(from, at, begun.before, begun.length);
      if (!sum) {
        return sum.error();
      }
      there = *sum == begun.sum;
    }
    if (there ? ::fdatasync(from) != 0 : !cut_back(from, begun.before)) {
      return refused("end an append to " + at.shown() + " that was cut short", errno);
    }
  }
  return token.settle();
}

}  // namespace cremone::fence
