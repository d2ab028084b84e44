// SPDX-License-Identifier: Apache-2.0
//
// Where the database lies, and whether a lock can be kept there: the file system, the directory, the file's
// permissions and names. Opens no database; SQLite's own locks must never meet a descriptor of ours on its file.
#pragma once

#include <cremone/result.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace cremone::sqlite {

/// The database in the state directory that is used when no URL names one.
inline constexpr const char* default_file_name = "/locks.db";

/// The name of a file system on which locks and shared memory are not the same for everybody who sees the file:
/// those behind a network, another kernel or FUSE. `magic` is statfs's f_type.
[[nodiscard]] std::optional<std::string_view> distant_file_system(long magic) noexcept;

/// Makes sure that a database can lie at `path`, creating an empty file if there is none, and returns its one true
/// path, without symbolic links: what lies beside it is found by everybody by that name. The file can be used by
/// those who may write to its directory: the group if the directory is the group's to write, others likewise. In a
/// sticky one, as /tmp is, it is for its maker alone. *misconfigured*, *access_denied* and *storage_error* name the culprit and what to do.
[[nodiscard]] result<std::string> prepare_location(const std::string& path);

/// May a file beside the database that belongs to this user be relied on? In a sticky directory, where everybody may put
/// files, only one of the database's owner or of root.
[[nodiscard]] result<void> trusted_beside(const std::string& database, unsigned owner);

/// A file that we have just made beside the database belongs to whom the database belongs to, as SQLite's own do: else
/// root, by one look at a user's locks, would lock the user out.
void share_like(const std::string& database, int fd) noexcept;

}  // namespace cremone::sqlite
