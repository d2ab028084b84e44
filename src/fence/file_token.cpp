// SPDX-License-Identifier: Apache-2.0
//
// It is made whole, with both its slots, and under its name only when it is on the disk. From then on the older slot is overwritten in
// place, which needs no room; what tears leaves the newer one, and that is a token that has been seen.
#include "fence/file_token.hpp"

#include "fence/file_draft.hpp"
#include "fence/file_likeness.hpp"
#include "fence/file_rival.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

namespace cremone::fence {

namespace {

using std::chrono::milliseconds;
using clock = std::chrono::steady_clock;

constexpr std::size_t whole = slot_count * slot_size;
constexpr int opening = O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;

struct contents {
  std::array<std::optional<slot>, slot_count> slots;

  [[nodiscard]] bool any() const noexcept { return slots[0] || slots[1]; }
  [[nodiscard]] std::size_t newest() const noexcept {
    return !slots[0] || (slots[1] && slots[1]->turn > slots[0]->turn) ? 1 : 0;
  }
  /// Of both: were they ever to contradict their turns, the higher one has been seen.
  [[nodiscard]] mark seen() const noexcept {
    fence_token highest;
    for (const auto& s : slots) {
      highest = s ? std::max(highest, s->token) : highest;
    }
    return mark(highest);
  }
};

result<contents> contents_of(int file, const place& at) {
  const auto bytes = read_at(file, 0, whole + 1, at.token_shown());
  if (!bytes) {
    return bytes.error();
  }
  contents found;
  if (bytes->size() == whole) {
    found.slots = {decode(bytes->substr(0, slot_size)), decode(bytes->substr(slot_size))};
  }
  if (!found.any() && !bytes->empty() && !resembles_slots(*bytes)) {
    return error(errc::misconfigured,
                 at.token_shown() + ", where the highest token for " + at.shown() +
                     " is kept, is something else: move it away, or choose another name for the file");
  }
  return found;
}

error damaged(const place& at) {
  return {errc::storage_error, at.token_shown() + " is damaged, and the highest token for " + at.shown() +
                                   " is not known. Restore it; or, when every older holder of the lock has "
                                   "ended, delete it, after which it begins anew with the next token"};
}

/// Made beside, whole, and linked. That another was faster is as good.
result<void> make(const place& at) {
  const auto file = look_at(at);
  if (!file) {
    return file.error();
  }
  auto made = draft::make(at, *file ? 0600 : 0666);
  if (!made) {
    return made.error();
  }
  if (*file) {
    if (auto alike = make_alike(made->file(), **file, at, 0666); !alike) {
      return alike.error();
    }
  }
  if (auto put = made->put(encode({}) + encode({})); !put) {
    return put;
  }
  if (auto synced = made->sync(); !synced) {
    return synced;
  }
  if (auto linked = made->become(at.token_name()); !linked) {
    return linked.error();
  }
  return {};
}

/// The owner of the file may say what its token is, whoever may write there.
bool is_trusted_token(const struct stat& token, const place& at) noexcept {
  struct stat directory {};
  struct stat file {};
  if (::fstat(at.directory.get(), &directory) != 0) {
    return false;
  }
  return is_trusted(token, directory) ||
         (::fstatat(at.directory.get(), at.name.c_str(), &file, AT_SYMLINK_NOFOLLOW) == 0 &&
          file.st_uid == token.st_uid);
}

result<descriptor> open(const place& at, int access) {
  descriptor file(::openat(at.directory.get(), at.token_name().c_str(), access | opening));
  struct stat status {};
  if (!file && errno == ENOENT) {
    return file;
  }
  if ((!file && errno == ELOOP) || (file && ::fstat(file.get(), &status) == 0 && !S_ISREG(status.st_mode))) {
    return error(errc::misconfigured,
                 at.token_shown() + " is not a regular file; it must be one, to keep a token in it");
  }
  if (!file && (errno == EACCES || errno == EPERM)) {
    return error(errc::access_denied,
                 at.token_shown() + " may not be " + (access == O_RDONLY ? "read" : "written") + " by uid " +
                     std::to_string(::geteuid()) + "; give it the owner and the mode of " + at.shown());
  }
  if (!file) {
    return refused("open " + at.token_shown(), errno);
  }
  if (!is_trusted_token(status, at)) {
    return error(errc::access_denied,
                 at.token_shown() + " is uid " + std::to_string(status.st_uid) +
                     "'s, in a directory where anybody can make one; remove it if it is not of a writer of " +
                     at.shown() + " whom you trust, or give it the owner of that file");
  }
  return file;
}

/// Asks again and again: there is no flock() with a time limit, and a signal to end it is not ours to send.
result<void> wait_for_lock(int file, int how, const place& at, milliseconds patience,
                           clock::time_point until) {
  constexpr int longest_pause = 8;  // so much later than it could does a waiter notice
  for (int pause = 1;; pause = std::min(pause * 2, longest_pause)) {
    if (::flock(file, how | LOCK_NB) == 0) {
      return {};
    }
    if (errno != EWOULDBLOCK && errno != EINTR) {
      return error(errc::unsupported, "cannot lock " + at.token_shown() + ": " +
                                          std::generic_category().message(errno) +
                                          "; a fenced file needs a file system with flock()");
    }
    if (clock::now() >= until) {
      return error(errc::busy, who_locks(file) + " has been at " + at.shown() + " for " +
                                   std::to_string(patience.count()) + " ms; it may be stopped");
    }
    (void)::poll(nullptr, 0, pause);
  }
}

}  // namespace

result<token_file> token_file::lock(const place& at, milliseconds patience) {
  constexpr int most_tries = 100;  // each but the first two because somebody removed it this moment
  const auto until = clock::now() + patience;
  for (int tries = 0; tries < most_tries; ++tries) {
    auto file = open(at, O_RDWR);
    if (!file) {
      return file.error();
    }
    if (!*file) {
      if (auto made = make(at); !made) {
        return made.error();
      }
      continue;
    }
    if (auto mine = wait_for_lock(file->get(), LOCK_EX, at, patience, until); !mine) {
      return mine.error();
    }
    token_file locked(at, std::move(*file));
    if (!is_named(locked.file_.get(), at.directory.get(), at.token_name())) {
      continue;  // somebody removed it, and whoever comes next locks another
    }
    if (auto readable = locked.read(); !readable) {
      return readable.error();
    }
    return locked;
  }
  return error(errc::misconfigured, "something removes " + at.token_shown() +
                                        " again and again; without it the token cannot be kept");
}

token_file::~token_file() {
  if (file_) {
    ::flock(file_.get(), LOCK_UN);  // closing is not enough if another thread has forked meanwhile
  }
}

result<void> token_file::read() {
  const auto found = contents_of(file_.get(), *at_);
  if (!found) {
    return found.error();
  }
  if (!found->any()) {
    return damaged(*at_);
  }
  newest_at_ = found->newest();
  newest_ = *found->slots.at(newest_at_);
  seen_ = found->seen();
  // Who made it may have been killed before the directory was on the disk, and with the name the token would be gone.
  if (newest_.turn == 0 && ::fsync(at_->directory.get()) != 0) {
    return refused("write the directory of " + at_->shown() + " to the disk", errno);
  }
  return {};
}

result<void> token_file::compare(fence_token token) const {
  if (!seen_.allows(token)) {
    return stale("file " + at_->shown(), token, seen_.highest());
  }
  return {};
}

result<void> token_file::raise(fence_token token, const std::optional<slot::addition>& begun) {
  mark raised = seen_;
  if (!raised.admit(token)) {
    return compare(token);
  }
  if (raised.highest() == seen_.highest() && begun == newest_.begun) {
    if (::fdatasync(file_.get()) != 0) {
      return refused("write " + at_->token_shown() + " to the disk", errno);
    }
    return {};
  }
  return overwrite({newest_.turn + 1, raised.highest(), begun}, true);
}

result<void> token_file::settle() { return overwrite({newest_.turn + 1, seen_.highest(), {}}, false); }

result<void> token_file::overwrite(const slot& next, bool wait_for_disk) {
  const std::size_t older = slot_count - 1 - newest_at_;
  const auto offset = static_cast<off_t>(older * slot_size);
  const auto before = read_at(file_.get(), static_cast<std::uint64_t>(offset), slot_size, at_->token_shown());
  if (!before) {
    return before.error();
  }
  const std::string bytes = encode(next);
  ssize_t put = ::pwrite(file_.get(), bytes.data(), bytes.size(), offset);
  const bool kept =
      put == static_cast<ssize_t>(slot_size) && (!wait_for_disk || ::fdatasync(file_.get()) == 0);
  if (!kept) {
    const int why = put >= 0 && put < static_cast<ssize_t>(slot_size) ? ENOSPC : errno;
    // What the disk did not take must not be read as if it had.
    put = ::pwrite(file_.get(), before->data(), before->size(), offset);
    return refused("write the token to " + at_->token_shown(), why);
  }
  newest_ = next;
  newest_at_ = older;
  seen_ = mark(std::max(seen_.highest(), next.token));
  return {};
}

void token_file::follow(const original& file) noexcept {
  struct stat mine {};
  constexpr mode_t rights = 0666;
  if (::fstat(file_.get(), &mine) == 0 &&
      (mine.st_uid != file.status.st_uid || mine.st_gid != file.status.st_gid ||
       (mine.st_mode & 07777U) != (file.status.st_mode & rights))) {
    (void)make_alike(file_.get(), file, *at_, rights);
  }
}

result<fence_token> read_token_file(const place& at, milliseconds patience) {
  const auto file = open(at, O_RDONLY);
  if (!file) {
    return file.error();
  }
  if (!*file) {
    return fence_token();
  }
  auto found = contents_of(file->get(), at);
  if (found && !found->any()) {
    // Both may have been written to while they were read. Not so under the lock.
    if (auto mine = wait_for_lock(file->get(), LOCK_SH, at, patience, clock::now() + patience); !mine) {
      return mine.error();
    }
    found = contents_of(file->get(), at);
    if (found && !found->any()) {
      return damaged(at);
    }
  }
  return found ? result<fence_token>(found->seen().highest()) : result<fence_token>(found.error());
}

}  // namespace cremone::fence
