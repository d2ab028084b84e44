// SPDX-License-Identifier: Apache-2.0
//
// Passwords in URLs that were given as words: where they stand, and how to make them unreadable. It hides too much rather
// than too little, and knows nothing of which schemes there are.
#pragma once

#include <string>
#include <string_view>

namespace cremone::cli {

/// The password in [anything]scheme://[user]:password@…: from the first ':' behind "://" or ":/" to the last '@',
/// because a password that was not percent-encoded may contain anything, and a slash may be missing. Empty where there is none.
[[nodiscard]] std::string_view password_in(std::string_view word) noexcept;

/// A word that was expected to be something else, or a text about one, with a '*' for each byte of the
/// password. Without a scheme, all between the first ':' and the last '@' of a word is taken for one.
[[nodiscard]] std::string without_password(std::string_view word);

/// A text in which any word may be such a URL, or one that begins with its slashes. Only a password with a
/// blank in it, which no URL should have, is missed. Names of locks may have a ':' and an '@' as well, and
/// are left as they are.
[[nodiscard]] std::string without_passwords(std::string_view text);

/// The same in place, for every word of the command line, so that `ps` and /proc/PID/cmdline show stars. Call it when
/// the words have been copied. Until then, some milliseconds from the start of the process, they can be read.
void hide_passwords(int count, char** words) noexcept;

}  // namespace cremone::cli
