// SPDX-License-Identifier: Apache-2.0
#include "backends/sqlite/diagnosis.hpp"

#include "backends/sqlite/location.hpp"
#include "base/amounts.hpp"
#include "base/text.hpp"

#include <sys/stat.h>

#include <array>
#include <cstdio>
#include <utility>

namespace cremone::sqlite {

namespace {

constexpr std::uint64_t mib = std::uint64_t{1} << 20U;

/// The log is copied back at 4 MiB; what is many times that has not been for long.
constexpr std::uint64_t long_log = 64 * mib;
/// Some ten thousand locks take a megabyte or two, and idle ones are forgotten.
constexpr std::uint64_t large_file = 256 * mib;
/// Below this others' files fill the disk within moments, and SQLite needs room for its log.
constexpr std::uint64_t little_room = 10 * mib;
constexpr std::uint64_t no_room = mib;

/// File systems of some kinds keep whole seconds.
constexpr std::chrono::seconds future_by_accident{2};

/// Tokens run at most 10 s ahead of the clock. The rest allows for a small correction of the clock.
constexpr std::chrono::seconds tokens_may_lead{60};

struct judgement {
  cremone::verdict verdict = verdict::good;
  std::string value;
  std::string reason;
};

struct known_file_system {
  long magic;
  std::string_view name;
};

constexpr long tmpfs = 0x01021994;
constexpr long overlay = 0x794C7630;

constexpr std::array local = {
    known_file_system{0xEF53, "ext4"},         known_file_system{0x58465342, "XFS"},
    known_file_system{0x9123683E, "Btrfs"},    known_file_system{0x2FC12FC1, "ZFS"},
    known_file_system{0xF2F52010, "F2FS"},     known_file_system{tmpfs, "tmpfs"},
    known_file_system{0x858458F6, "ramfs"},    known_file_system{overlay, "overlayfs"},
    known_file_system{0xCA451A4E, "bcachefs"},
};

judgement cannot_look(const char* at) {
  return {verdict::untold, "", std::string(at) + " could not be looked at"};
}

/// "0600 of 0:0".
std::string shown(const belonging& b) {
  char text[64];
  (void)std::snprintf(text, sizeof text, "%04o of %u:%u", b.mode & 07777U, b.user, b.group);
  return text;
}

judgement judge_location(const file_evidence& seen) {
  if (!seen.default_file) {
    return {verdict::good, printable(seen.path), "every process that names this file shares its locks"};
  }
  return {
      verdict::good, printable(seen.path),
      "the default file of this user. Root and every other user have their own, so they do not share "
      "these locks. To share locks, name a file with --url; CREMONE_STATE_DIR only moves the default file"};
}

judgement judge_file_system(const file_evidence& seen) {
  if (!seen.file_system) {
    return cannot_look("the file system");
  }
  std::string name = file_system_name(*seen.file_system);
  if (distant_file_system(*seen.file_system)) {
    return {verdict::bad, std::move(name),
            "file locks and shared memory do not hold between machines there; name a file on a local disk, "
            "or a store "
            "with a server"};
  }
  if (*seen.file_system == overlay) {
    return {verdict::warning, std::move(name),
            "a container's own: nobody outside shares these locks, and they go with it; mount a directory "
            "for them"};
  }
  if (*seen.file_system == tmpfs) {
    return {verdict::good, std::move(name), "local; gone when the machine restarts, as all holders are"};
  }
  return {verdict::good, std::move(name), "local"};
}

judgement judge_permissions(const file_evidence& seen) {
  if (!seen.file || !seen.directory) {
    return cannot_look("the file or its directory");
  }
  std::string value = shown(*seen.file) + ", directory " + shown(*seen.directory);
  const bool sticky = (seen.directory->mode & S_ISVTX) != 0;
  if ((seen.directory->mode & S_IWOTH) != 0 && !sticky) {
    return {verdict::warning, std::move(value),
            "every user of this machine can take the file away, and all locks with it; make the directory a "
            "group's"};
  }
  if ((seen.file->mode & S_IWOTH) != 0) {
    return {verdict::warning, std::move(value),
            "every user of this machine can take any lock away; make the file a group's"};
  }
  if (sticky) {
    return {verdict::warning, std::move(value),
            "old files are deleted from directories like /tmp, and who comes then finds every lock free; use "
            "a directory "
            "of its own"};
  }
  const bool shared = (seen.file->mode & S_IWGRP) != 0;
  return {verdict::good, std::move(value),
          shared ? "for the group's members, who can also take locks away" : "for its owner, and root"};
}

judgement judge_room(const file_evidence& seen) {
  if (!seen.room) {
    return cannot_look("the disk");
  }
  std::string value = shown_bytes(*seen.room) + " free";
  if (*seen.room >= little_room) {
    return {verdict::good, std::move(value), "enough"};
  }
  return {*seen.room < no_room ? verdict::bad : verdict::warning, std::move(value),
          "on a full disk no new lock can be taken, and on some file systems held locks are lost; make room"};
}

judgement judge_size(const file_evidence& seen) {
  if (!seen.size) {
    return cannot_look("the file");
  }
  std::string value = shown_bytes(*seen.size) + ", log " + shown_bytes(seen.log_size);
  if (seen.log_size > long_log) {
    return {verdict::warning, std::move(value),
            "the log has not been copied back for long; another program that reads the file may keep it from "
            "that"};
  }
  if (*seen.size > large_file) {
    return {verdict::warning, std::move(value),
            "much for locks; VACUUM makes it small again while nobody holds one"};
  }
  return {verdict::good, std::move(value), "small"};
}

judgement judge_journal(const file_evidence& seen) {
  static constexpr std::array<std::string_view, 4> levels = {"off", "normal", "full", "extra"};
  const bool known = seen.synchronous >= 0 && seen.synchronous < static_cast<std::int64_t>(levels.size());
  std::string value = printable(seen.journal) + ", synchronous " +
                      (known ? std::string(levels[static_cast<std::size_t>(seen.synchronous)])
                             : std::to_string(seen.synchronous));
  if (seen.journal != "wal") {
    return {verdict::bad, std::move(value), "the write-ahead log was switched off by another program"};
  }
  if (seen.synchronous == 0) {
    return {verdict::bad, std::move(value), "a power cut may destroy the file"};
  }
  return {verdict::good, std::move(value),
          "tokens do not go back, not even by a power cut, and no lock waits for the disk"};
}

judgement judge_integrity(const file_evidence& seen) {
  if (seen.integrity == "ok") {
    return {verdict::good, "ok", "SQLite finds nothing wrong with the file"};
  }
  constexpr std::size_t enough = 120;
  return {verdict::bad, printable(std::string_view(seen.integrity).substr(0, enough)),
          "the file is damaged; while nobody holds a lock move it and what lies beside it away, and a new "
          "one is made"};
}

judgement judge_format(const file_evidence& seen) {
  return {verdict::good, std::to_string(seen.format), "this version's"};
}

judgement judge_clock(const file_evidence& seen) {
  if (!seen.written) {
    return cannot_look("the file");
  }
  if (*seen.written > seen.now + future_by_accident) {
    const auto ahead = std::chrono::duration_cast<std::chrono::seconds>(*seen.written - seen.now);
    return {verdict::warning, "last written " + std::to_string(ahead.count()) + " s from now",
            "the clock was set back: tokens go on from the highest, but a new file would begin below it"};
  }
  return {verdict::good, "last written in the past", "the clock was not set back since"};
}

judgement judge_tokens(const file_evidence& seen) {
  if (seen.highest == 0) {
    return {verdict::good, "none yet", "the first token is the wall clock in microseconds"};
  }
  const auto lead = wall_time(std::chrono::microseconds(seen.highest)) - seen.now;
  if (lead <= tokens_may_lead) {
    return {verdict::good, "not ahead of the clock", "a new file would grant higher tokens, too"};
  }
  return {verdict::warning, shown_length(lead) + " ahead of the clock",
          "the clock was ahead when a lock was granted, or is behind now: check the clock. Locks and tokens "
          "work. Keep this file until the clock has caught up: a new file would grant lower tokens, which "
          "resources that check tokens refuse"};
}

struct subject {
  std::string_view name;
  judgement (*look)(const file_evidence&);
};

constexpr std::array subjects = {
    subject{"location", judge_location},
    subject{"file system", judge_file_system},
    subject{"permissions", judge_permissions},
    subject{"room", judge_room},
    subject{"size", judge_size},
    subject{"journal", judge_journal},
    subject{"integrity", judge_integrity},
    subject{"format", judge_format},
    subject{"clock", judge_clock},
    subject{"tokens", judge_tokens},
};

}  // namespace

std::string file_system_name(long magic) {
  if (const auto name = distant_file_system(magic)) {
    return std::string(*name);
  }
  for (const known_file_system& known : local) {
    if (known.magic == (magic & 0xFFFFFFFFL)) {
      return std::string(known.name);
    }
  }
  char text[32];
  (void)std::snprintf(text, sizeof text, "0x%lx", static_cast<unsigned long>(magic) & 0xFFFFFFFFUL);
  return text;
}

std::vector<finding> diagnose(const file_evidence& seen) {
  std::vector<finding> all;
  for (const subject& s : subjects) {
    judgement j = s.look(seen);
    all.push_back(
        {printable(seen.path), std::string(s.name), j.verdict, std::move(j.value), std::move(j.reason)});
  }
  return all;
}

}  // namespace cremone::sqlite
