// SPDX-License-Identifier: Apache-2.0
//
// Where cremone keeps what must outlive a process on this machine: the default database, and what was seen of
// silent holders. Knows the place and its permissions, not what is kept there.
#pragma once

#include <cremone/result.hpp>

#include <string>

namespace cremone {

/// `$CREMONE_STATE_DIR`; else for root `/var/lib/cremone`; else `$XDG_STATE_HOME/cremone`; else
/// `~/.local/state/cremone`, with the home from the password file where the environment names none. Touches nothing.
[[nodiscard]] result<std::string> state_directory_path();

/// The same directory, made with mode 0700 if it is missing. *misconfigured* or *access_denied* names the directory
/// and says what to set: also for one that somebody else could write to, who could then hand us a database of his.
[[nodiscard]] result<std::string> state_directory();

}  // namespace cremone
