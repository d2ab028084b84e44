// SPDX-License-Identifier: Apache-2.0
//
// The order, each on the disk before the next: the note with token, size before, length and sums; the bytes; and then, not waited for, that
// it is over. A note without that is what a crash leaves. Other programs may write to the file at any moment: only what is proven to be of
// the append is cut off.
#include "fence/file_append.hpp"

#include "fence/file_aside.hpp"
#include "fence/file_trace.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace cremone::fence {

namespace {

constexpr std::size_t piece = 65536;

reader reading(const place& at, int file) {
  return
      [&at, file](std::uint64_t offset, std::size_t most) { return read_at(file, offset, most, at.shown()); };
}

std::optional<std::uint64_t> size_of(int file) noexcept {
  struct stat status {};
  return ::fstat(file, &status) == 0 ? std::optional(static_cast<std::uint64_t>(status.st_size))
                                     : std::nullopt;
}

/// Of a spool in pieces that end where a sum is noted, so that who is killed between two leaves nothing that is not proven.
written write_to(int to, const place& at, const addition& more, std::uint64_t before) {
  if (!more.spooled) {
    return write_all(to, more.text);
  }
  written all{};
  while (all.why == 0 && all.bytes < more.length) {
    const auto bytes = more.read(at, all.bytes, piece - (before + all.bytes) % piece);
    const written some = bytes && !bytes->empty() ? write_all(to, *bytes) : written{0, EIO};
    all = {all.bytes + some.bytes, some.why};
  }
  return all;
}

/// From one size to a smaller one, and on the disk. Not if somebody has lengthened it meanwhile.
bool cut(int file, std::uint64_t from, std::uint64_t to) noexcept {
  if (size_of(file) != from) {
    errno = EAGAIN;
    return false;
  }
  return ::ftruncate(file, static_cast<off_t>(to)) == 0 && ::fdatasync(file) == 0;
}

/// Cuts off what was written of an append that failed, if that is what the file ends with.
bool take_back(int file, const place& at, const addition& more, std::uint64_t done) {
  const auto size = size_of(file);
  if (!size || *size < done) {
    return false;
  }
  for (std::uint64_t i = 0; i < done;) {
    const auto most = static_cast<std::size_t>(std::min<std::uint64_t>(piece, done - i));
    const auto is = read_at(file, *size - done + i, most, at.shown());
    const auto was = more.read(at, i, most);
    if (!is || !was || is->empty() || *is != *was) {
      return false;
    }
    i += is->size();
  }
  return cut(file, *size, *size - done);
}

/// Was this file appended to, and does it not go on behind what was to be added?
result<bool> may_have_part(const std::optional<original>& file, const slot::addition& begun,
                           const place& at) {
  if (!file || file->status.st_ino != begun.inode) {
    return false;
  }
  const auto size = static_cast<std::uint64_t>(file->status.st_size);
  if (size <= begun.before || size > begun.before + begun.length) {
    return false;
  }
  return stands_before(begun, reading(at, file->file.get()));
}

/// The file then ends where it did before the append, or with all of it. False if somebody has lengthened it meanwhile.
result<bool> end_part(const place& at, const original& file, const slot::addition& begun) {
  const int from = file.file.get();
  const auto size = static_cast<std::uint64_t>(file.status.st_size);
  const auto ours = proven(begun, size - begun.before, reading(at, from));
  if (!ours) {
    return ours.error();
  }
  const std::uint64_t unknown = begun.before + *ours;
  if (unknown < size) {
    if (auto kept = set_aside(at, file, unknown, size - unknown); !kept) {
      return kept.error();
    }
  }
  if (*ours == begun.length ? ::fdatasync(from) == 0 : cut(from, size, begun.before)) {
    return true;
  }
  if (errno == EAGAIN) {
    return false;
  }
  return refused("end an append to " + at.shown() + " that was cut short", errno);
}

}  // namespace

result<std::string> addition::read(const place& at, std::uint64_t offset, std::size_t most) const {
  return spooled ? read_at(spooled->file(), offset, most, at.shown())
                 : std::string(text.substr(offset, most));
}

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
  const int to = file.file.get();
  const auto content = [&](std::uint64_t offset, std::size_t most) { return more.read(at, offset, most); };
  const auto before = static_cast<std::uint64_t>(file.status.st_size);
  const auto note = trace_of(file.status.st_ino, before, more.length, content, reading(at, to));
  if (!note) {
    return note.error();
  }
  if (auto noted = token.raise(presented, *note); !noted) {
    return noted;
  }
  written done = write_to(to, at, more, before);
  if (done.why == 0 && ::fdatasync(to) != 0) {
    done.why = errno;
  }
  if (done.why != 0) {
    if (take_back(to, at, more, done.bytes)) {
      (void)token.settle();  // if not: the next who comes ends it
    }
    return refused("append to " + at.shown(), done.why);
  }
  (void)token.settle();  // if not: it is whole, and the next finds it so
  return {};
}

result<void> recover(const place& at, token_file& token) {
  if (!token.begun()) {
    return {};
  }
  const slot::addition begun = *token.begun();
  // Each time round because somebody has lengthened the file; soon it is longer than the append would have made it.
  for (bool ended = false; !ended;) {
    const auto file = open_for_append(at);
    if (!file) {
      return file.error();
    }
    const auto part = may_have_part(*file, begun, at);
    if (!part) {
      return part.error();
    }
    const auto done = *part ? end_part(at, **file, begun) : result<bool>(true);
    if (!done) {
      return done.error();
    }
    ended = *done;
  }
  return token.settle();
}

}  // namespace cremone::fence
