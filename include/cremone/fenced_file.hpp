// SPDX-License-Identifier: Apache-2.0
//
// A file that refuses the writes of those who have lost their lock. What it promises is here; how it is kept is in src/fence.
#pragma once

#include <cremone/callback.hpp>
#include <cremone/fence.hpp>
#include <cremone/result.hpp>
#include <cremone/types.hpp>

#include <chrono>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace cremone {

/// A file, and beside it, in `FILE.fence`, the highest token that has written to it. Every write is whole or not there: a process that is
/// killed and a machine that loses power at any moment leave the old content or the new one, and never a lower token.
///
/// It keeps the file's owner, group, mode, access control list and other extended attributes; where it may not, it refuses. A symbolic link
/// stays one: what it leads to is written, and has the token beside it. Another hard link keeps the old content. A new file gets what
/// the umask leaves, as from a shell's `>`. `FILE.fence` has the owner and the rights of the file.
///
/// It protects from those who write by it. Who writes to the file by other means is not stopped; who deletes `FILE.fence` makes it forget.
/// Who is at the file already when a later holder comes finishes first, and the later one waits: two never overlap. On one machine, or on
/// a network file system whose flock() works between machines.
///
/// Ownership: a value; opens the file for each call only. Threads: any, and any number of processes.
///
///     cremone::fenced_file report_file("report.csv");
///     auto written = report_file.write(lease.token(), "a;b;c\n");
///     if (!written) report(written.error().message());
class fenced_file {
 public:
  /// Fills the buffer and says with how many bytes; 0 at the end.
  using source = callback<result<std::size_t>(std::span<char>)>;

  /// How long a call waits for another's that is at the file, before it answers *busy*: somebody may have been stopped in the middle.
  static constexpr std::chrono::milliseconds default_patience{10'000};

  explicit fenced_file(std::string path, std::chrono::milliseconds patience = default_patience);

  /// Replaces the content. *stale_token*; *busy* (see default_patience); *access_denied* (of the directory, or what would be needed to keep the
  /// owner); *storage_error* (disk full, read-only file system, `FILE.fence` damaged); *misconfigured* (`FILE.fence` is something else);
  /// *invalid_argument* (the token, not a regular file, or a name of ours such as `FILE.fence`). Whatever it fails with, the file is as it was; but after
  /// *outcome_unknown* it is the new one, and the disk did not say that it will stay. From a source: all of it is read before anybody is kept
  /// waiting, and what it fails with is what the call fails with.
  [[nodiscard]] result<void> write(fence_token token, std::string_view content) const;
  [[nodiscard]] result<void> write(fence_token token, source content) const;

  /// Adds to the end, for logs; fails like write(), and with *invalid_argument* for a file with more than one name (hard links, or mounted
  /// alone), each of which would have a token of its own. Whoever was killed at it may have left a part behind, which the next write(),
  /// append() or check() removes unless all of it is there. What stands behind the part and is not proven to be of it, such as another
  /// program's line, is moved to the end of `FILE.fence-cut`.
  [[nodiscard]] result<void> append(fence_token token, std::string_view more) const;
  [[nodiscard]] result<void> append(fence_token token, source more) const;

  /// Lets the token pass and remembers it, without a write.
  [[nodiscard]] result<void> check(fence_token token) const;

  /// The highest token that it has seen; zero for none, also when there is no such file. Waits for nobody, makes and changes nothing.
  [[nodiscard]] result<fence_token> highest() const;

  [[nodiscard]] const std::string& path() const noexcept { return path_; }

 private:
  std::string path_;
  std::chrono::milliseconds patience_;
};

}  // namespace cremone
