// SPDX-License-Identifier: Apache-2.0
//
// Where a fenced file is: its directory, held open, and the names in it that are ours. Symbolic links end here. Also the words for
// what the operating system refuses. Knows neither tokens nor content.
#pragma once

#include "base/descriptor.hpp"

#include <cremone/result.hpp>

#include <sys/stat.h>

#include <optional>
#include <string>

namespace cremone::fence {

struct place {
  std::string path;            ///< of the file itself, behind all links
  std::string directory_path;  ///< as above; "." where the path has none
  descriptor directory;
  std::string name;

  [[nodiscard]] std::string token_name() const { return name + ".fence"; }
  /// What is to become the file has this name for a moment. Only who has the lock makes one.
  [[nodiscard]] std::string new_name() const { return "." + name + ".fence-new"; }

  /// For what is cut off and may be somebody's.
  [[nodiscard]] std::string aside_name() const { return name + ".fence-cut"; }

  [[nodiscard]] std::string shown() const;        ///< 'PATH'
  [[nodiscard]] std::string token_shown() const;  ///< 'PATH.fence'
  [[nodiscard]] std::string aside_shown() const;  ///< 'PATH.fence-cut'
};

/// Follows symbolic links, the last of which may lead to nothing yet. *invalid_argument* says what is wrong with the path.
[[nodiscard]] result<place> find_place(const std::string& path);

/// In a directory such as /tmp, what another user has put there may be a trap: false for that. Not of the directory's owner, nor root's.
[[nodiscard]] bool is_trusted(const struct stat& thing, const struct stat& directory) noexcept;

/// The file as it is. Nothing where there is none.
struct original {
  descriptor file;  ///< for reading
  struct stat status {};
};
[[nodiscard]] result<std::optional<original>> look_at(const place& at);

/// *invalid_argument* if the same file is known by another name, beside which another token would lie: a hard link, or a file that is
/// mounted where it is.
[[nodiscard]] result<void> has_one_name(const place& at, const original& file);

/// Does that name in this directory still mean this file?
[[nodiscard]] bool is_named(int file, int directory, const std::string& name) noexcept;

/// All of it, or an errno, and how much until then.
struct written {
  std::uint64_t bytes = 0;
  int why = 0;
};
[[nodiscard]] written write_all(int file, std::string_view bytes) noexcept;

/// As many bytes as there are from `offset` on, up to `most`.
[[nodiscard]] result<std::string> read_at(int file, std::uint64_t offset, std::size_t most,
                                          const std::string& shown);

/// "cannot `what`: No space left on device", with the code that fits the errno.
[[nodiscard]] error refused(const std::string& what, int why);
/// Of something that was to be made in the directory.
[[nodiscard]] error refused_in(const place& at, int why);

}  // namespace cremone::fence
