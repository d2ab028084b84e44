// SPDX-License-Identifier: Apache-2.0
//
// A lock's record in words: who holds it, since when, who waits. The order of the columns is an interface that scripts
// rely on. Reads no clock: relative times are told what time it is.
#pragma once

#include "cli/output.hpp"

#include <cremone/record.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace cremone::cli {

/// "2026-11-16T04:02:15Z"
[[nodiscard]] std::string iso_time(wall_time t);

/// What is known of a holder's process, for people: empty when nothing is. Commands in it can be copied.
[[nodiscard]] std::string liveness_words(liveness l, std::string_view lock, std::string_view store);

/// As one word of a shell's command line.
[[nodiscard]] std::string shell_word(std::string_view text);

/// "web1 pid 4711 user deploy"; without the user where it is not known.
[[nodiscard]] std::string owner_words(const owner_data& who);

/// The same of a holder; for another program "another program, which left 'f3a9'".
[[nodiscard]] std::string holder_words(const hold_record& h);

/// "in 12s unless renewed"; "never" where nothing but a release ends it; empty where the store decides otherwise.
[[nodiscard]] std::string expiry_words(const hold_record& h);

/// "3s ago", with a note if the hold looks abandoned; empty where the store does not record
/// renewals.
[[nodiscard]] std::string renewal_words(const hold_record& h);

/// What `who` prints. On a terminal aligned and coloured; else one fact per line, with a tab after its name.
[[nodiscard]] std::string describe_lock(const lock_record& lock, const std::string& store, wall_time now,
                                        bool terminal, const palette& colours);

/// Columns of `list`: name, state, host, pid, user, since, token, waiters, label.
[[nodiscard]] std::vector<std::string> list_columns(bool votes);

/// Are there several servers that vote?
[[nodiscard]] bool any_votes(const std::vector<lock_record>& locks) noexcept;

/// One row per holder, its state "held", "orphaned" (its command outlived cremone), "dead" or "foreign" (another
/// program); for a lock that is only waited for, one row with state "waited for". What is not known is empty.
/// `relative`: since when as a length of time, for people; else as ISO time.
[[nodiscard]] std::vector<std::vector<std::string>> list_rows(const lock_record& lock, wall_time now,
                                                              bool relative);

/// The rows under their headings, each column as wide as it must be, and no line wider than `columns`.
[[nodiscard]] std::string as_table(const std::vector<std::string>& headings,
                                   const std::vector<std::vector<std::string>>& rows, std::size_t columns,
                                   const palette& colours);

/// The rows with a tab between the columns.
[[nodiscard]] std::string as_tabbed(const std::vector<std::vector<std::string>>& rows);

}  // namespace cremone::cli
