// SPDX-License-Identifier: Apache-2.0
//
// The steps of <cremone/fenced_file.hpp>, and their order. What can fail for want of room or rights comes first, while the file and its token
// are as they were; the token is on the disk before the content that it stands for can be seen.
//
//   write    content into a file without a name, with the owner, mode and attributes of the present one │ fsync
//            lock FILE.fence │ end a half append │ compare │ give the new file a name │ token, fdatasync │ rename │ fsync of the directory
//   append   content read │ lock │ end a half append │ compare │ token with note of the append, fdatasync │ bytes, fdatasync │ note: over
//   check    lock │ end a half append │ compare │ token, fdatasync
#include "fence/file_append.hpp"
#include "fence/file_draft.hpp"
#include "fence/file_likeness.hpp"
#include "fence/file_place.hpp"
#include "fence/file_token.hpp"

#include <cremone/fenced_file.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>
#include <vector>

namespace cremone {

namespace {

using fence::draft;
using fence::original;
using fence::place;
using fence::token_file;

/// Where the path leads, if the token is one.
result<place> begin(fence_token token, const std::string& path) {
  if (auto fine = fence::check_token(token); !fine) {
    return fine.error();
  }
  return fence::find_place(path);
}

/// Locked, in order, and open for this token.
result<token_file> enter(const place& at, fence_token token, std::chrono::milliseconds patience) {
  auto locked = token_file::lock(at, patience);
  if (!locked) {
    return locked;
  }
  if (auto whole = fence::recover(at, *locked); !whole) {
    return whole.error();
  }
  if (auto allowed = locked->compare(token); !allowed) {
    return allowed.error();
  }
  return locked;
}

/// Who is late already need not put all its content on the disk first. What counts is asked under the lock, and so is what is wrong.
result<void> refuse_early(const place& at, fence_token token, std::chrono::milliseconds patience) {
  const auto seen = fence::read_token_file(at, patience);
  return seen && !fence::mark(*seen).allows(token)
             ? result<void>(fence::stale("file " + at.shown(), token, *seen))
             : result<void>();
}

/// All that the source has, into the draft. How much it was.
result<std::uint64_t> drain(fenced_file::source& from, draft& to) {
  if (!from) {
    return error(errc::invalid_argument, "the source of a fenced write is empty");
  }
  std::vector<char> buffer(65536);
  for (std::uint64_t length = 0;;) {
    const auto got = from(buffer);
    if (!got) {
      return got.error();
    }
    if (*got > buffer.size()) {
      return error(errc::invalid_argument, "the source of a fenced write says that it has put " +
                                               std::to_string(*got) + " bytes into a buffer of " +
                                               std::to_string(buffer.size()));
    }
    if (*got == 0) {
      return length;
    }
    const std::string_view bytes(buffer.data(), *got);
    if (auto put = to.put(bytes); !put) {
      return put.error();
    }
    length += bytes.size();
  }
}

/// A new content for the file, on the disk and dressed like the file was when the draft was begun.
class replacement {
 public:
  static result<replacement> begin(const place& at) {
    // As for a shell's `>`: that the directory may be written to is not enough.
    if (::faccessat(at.directory.get(), at.name.c_str(), W_OK, AT_EACCESS | AT_SYMLINK_NOFOLLOW) != 0 &&
        errno != ENOENT) {
      return fence::refused("write to " + at.shown(), errno);
    }
    auto present = fence::look_at(at);
    if (!present) {
      return present.error();
    }
    auto paper = draft::make(at, *present ? 0600 : 0666);
    if (!paper) {
      return paper.error();
    }
    return replacement(at, std::move(*present), std::move(*paper));
  }
  replacement(const place& at, std::optional<original> present, draft paper) noexcept
      : at_(&at), present_(std::move(present)), paper_(std::move(paper)) {}

  [[nodiscard]] draft& paper() noexcept { return paper_; }

  /// When it is filled, and nobody is kept waiting.
  result<void> finish() {
    if (present_) {
      if (auto alike = fence::make_alike(paper_.file(), *present_, *at_); !alike) {
        return alike.error();
      }
    }
    return paper_.sync();
  }

  /// Under the lock, with a token that was let pass.
  result<void> publish(token_file& locked, fence_token token) {
    if (auto dressed = dress_again(locked); !dressed) {
      return dressed;
    }
    if (auto named = paper_.name(); !named) {
      return named;
    }
    if (auto raised = locked.raise(token); !raised) {
      return raised;
    }
    if (auto replaced = paper_.replace(); !replaced) {
      return replaced;
    }
    if (::fsync(at_->directory.get()) != 0) {
      return error(errc::outcome_unknown,
                   at_->shown() + " was replaced, but the disk does not say that it will stay so: " +
                       std::generic_category().message(errno));
    }
    return {};
  }

 private:
  /// What was looked at without the lock may have been replaced since, or been given to somebody else.
  result<void> dress_again(token_file& locked) {
    const auto now = fence::look_at(*at_);
    if (!now) {
      return now.error();
    }
    if (!*now) {
      return {};
    }
    locked.follow(**now);
    const auto changed = fence::make_alike(paper_.file(), **now, *at_);
    if (!changed) {
      return changed.error();
    }
    return *changed ? paper_.sync() : result<void>();
  }

  const place* at_;
  std::optional<original> present_;
  draft paper_;
};

/// `fill` puts the content into the draft.
template <class Fill>
result<void> replace(const std::string& path, std::chrono::milliseconds patience, fence_token token,
                     Fill fill) {
  const auto at = begin(token, path);
  if (!at) {
    return at.error();
  }
  if (auto early = refuse_early(*at, token, patience); !early) {
    return early;
  }
  auto next = replacement::begin(*at);
  if (!next) {
    return next.error();
  }
  if (auto filled = fill(next->paper()); !filled) {
    return filled.error();
  }
  if (auto finished = next->finish(); !finished) {
    return finished;
  }
  auto locked = enter(*at, token, patience);
  if (!locked) {
    return locked.error();
  }
  return next->publish(*locked, token);
}

/// The first piece of a file that is not there yet: all of it or no file, as when one is replaced.
result<void> add_to_nothing(const place& at, token_file& locked, fence_token token,
                            const fence::addition& more) {
  // Not the spool itself: that one is for nobody's eyes, and what the umask and the directory say of new files they say once.
  auto paper = draft::make(at, 0666);
  if (!paper) {
    return paper.error();
  }
  for (std::uint64_t done = 0; done < more.length;) {
    constexpr std::size_t piece = 65536;
    const auto bytes = more.read(at, done, piece);
    if (!bytes || bytes->empty()) {
      return bytes ? fence::refused("read what is to be appended to " + at.shown(), EIO) : bytes.error();
    }
    if (auto put = paper->put(*bytes); !put) {
      return put;
    }
    done += bytes->size();
  }
  replacement first(at, {}, std::move(*paper));
  if (auto finished = first.finish(); !finished) {
    return finished;
  }
  return first.publish(locked, token);
}

/// Asked before anything is made beside the file, and again under the lock.
result<void> has_one_name(const place& at) {
  const auto file = fence::look_at(at);
  if (!file) {
    return file.error();
  }
  return *file ? fence::has_one_name(at, **file) : result<void>();
}

result<void> append_to(const place& at, std::chrono::milliseconds patience, fence_token token,
                       const fence::addition& more) {
  if (auto alone = has_one_name(at); !alone) {
    return alone;
  }
  auto locked = enter(at, token, patience);
  if (!locked) {
    return locked.error();
  }
  const auto file = fence::open_for_append(at);
  if (!file) {
    return file.error();
  }
  if (!*file) {
    return add_to_nothing(at, *locked, token, more);
  }
  if (auto alone = fence::has_one_name(at, **file); !alone) {
    return alone;
  }
  locked->follow(**file);
  return more.length == 0 ? locked->raise(token) : fence::add(at, *locked, token, **file, more);
}

}  // namespace

fenced_file::fenced_file(std::string path, std::chrono::milliseconds patience)
    : path_(std::move(path)),
      // A year is for ever, and the clock can be added to it.
      patience_(std::clamp<std::chrono::milliseconds>(patience, std::chrono::milliseconds{0},
                                                      std::chrono::hours{24 * 365})) {}

result<void> fenced_file::write(fence_token token, std::string_view content) const {
  return replace(path_, patience_, token, [&](draft& to) { return to.put(content); });
}

result<void> fenced_file::write(fence_token token, source content) const {
  return replace(path_, patience_, token, [&](draft& to) { return drain(content, to); });
}

result<void> fenced_file::append(fence_token token, std::string_view more) const {
  const auto at = begin(token, path_);
  if (!at) {
    return at.error();
  }
  return append_to(*at, patience_, token, {more, {}, more.size()});
}

result<void> fenced_file::append(fence_token token, source more) const {
  const auto at = begin(token, path_);
  if (!at) {
    return at.error();
  }
  if (auto early = refuse_early(*at, token, patience_); !early) {
    return early;
  }
  auto spooled = draft::spool(*at);
  if (!spooled) {
    return spooled.error();
  }
  const auto all = drain(more, *spooled);
  if (!all) {
    return all.error();
  }
  return append_to(*at, patience_, token, {{}, std::move(*spooled), *all});
}

result<void> fenced_file::check(fence_token token) const {
  const auto at = begin(token, path_);
  if (!at) {
    return at.error();
  }
  auto locked = enter(*at, token, patience_);
  return locked ? locked->raise(token) : result<void>(locked.error());
}

result<fence_token> fenced_file::highest() const {
  const auto at = fence::find_place(path_);
  return at ? fence::read_token_file(*at, patience_) : result<fence_token>(at.error());
}

}  // namespace cremone
