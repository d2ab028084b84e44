// SPDX-License-Identifier: Apache-2.0
//
// Is this database file a good place for locks? From what was found about it to one verdict for each subject, with the
// reason and what to do. Looks at nothing itself.
#pragma once

#include <cremone/finding.hpp>
#include <cremone/types.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cremone::sqlite {

/// A file or directory: whose it is, and who may do what.
struct belonging {
  std::uint32_t mode = 0;  ///< st_mode
  std::uint32_t user = 0;
  std::uint32_t group = 0;
};

/// What was found. Empty: it could not be looked at.
struct file_evidence {
  std::string path;
  bool default_file = false;          ///< the file that is used when no URL is given
  std::optional<long> file_system{};  ///< statfs's f_type
  std::optional<belonging> file{};
  std::optional<belonging> directory{};
  std::optional<std::uint64_t> room{};  ///< bytes that are free for us
  std::optional<std::uint64_t> size{};  ///< of the file
  std::uint64_t log_size = 0;           ///< of the write-ahead log beside it
  std::optional<wall_time> written{};   ///< the last time
  wall_time now{};

  std::string journal;           ///< "wal"
  std::int64_t synchronous = 0;  ///< SQLite's number: 0 off, 1 normal, 2 full, 3 extra
  std::int64_t format = 0;       ///< of our tables
  std::string integrity;         ///< "ok", or what is wrong
  std::int64_t highest = 0;      ///< the highest token ever granted; 0: none
};

/// One finding per subject, always in this order: location, file system, permissions, room, size,
/// journal, integrity, format, clock, tokens.
[[nodiscard]] std::vector<finding> diagnose(const file_evidence& seen);

/// "ext4", "NFS", "0x1234".
[[nodiscard]] std::string file_system_name(long magic);

}  // namespace cremone::sqlite
