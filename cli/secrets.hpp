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

/// A word that stands where no URL belongs, or a message about such a word, with a '*' for each
/// byte of a password. In a word without a scheme, everything between the first ':' and the last
/// '@' counts as a password.
[[nodiscard]] std::string without_password(std::string_view word);

/// The same for a text in which any word may be a URL, or a URL without its scheme that begins with
/// a slash. A password with a blank in it, which no URL should have, is missed. The name of a lock
/// may contain a ':' and an '@' too, and is left as it is.
[[nodiscard]] std::string without_passwords(std::string_view text);

/// The same in place, for every word of the command line, so that `ps` and /proc/PID/cmdline show stars. Call it when
/// the words have been copied. Until then, some milliseconds from the start of the process, they can be read.
void hide_passwords(int count, char** words) noexcept;

}  // namespace cremone::cli
