// SPDX-License-Identifier: Apache-2.0
//
// What `doctor` and `quarantine` found, in words: tables for people, tabbed lines for programs. The order of the columns
// is an interface that scripts rely on. Pure.
#pragma once

#include "cli/output.hpp"

#include <cremone/finding.hpp>
#include <cremone/result.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace cremone::cli {

/// The worst of all.
[[nodiscard]] verdict overall(const std::vector<finding>& all) noexcept;

/// "A good place for locks.", "Locks work here, with 2 warnings.", "1 of 10 is bad: …"; and how many are not known.
[[nodiscard]] std::string summary(const std::vector<finding>& all);

/// For people: a table for each server, no line wider than `columns`; long cells go on below. Then the summary.
[[nodiscard]] std::string findings_table(const std::vector<finding>& all, const std::string& store,
                                         std::size_t columns, const palette& colours);

/// For programs: verdict, subject, what was found, why, server; and last of all a line with the subject "overall".
[[nodiscard]] std::string findings_lines(const std::vector<finding>& all, const std::string& store);

/// Text in lines of at most `columns` characters, broken at blanks; a word that is longer is broken anywhere. Never empty.
[[nodiscard]] std::vector<std::string> wrapped(std::string_view text, std::size_t columns);

/// Said of a store whose servers are never in quarantine.
[[nodiscard]] std::string without_quarantine(const std::string& store);

/// For people: a sentence for each server, or the one above.
[[nodiscard]] std::string quarantine_sentences(const std::vector<quarantine_state>& all,
                                               const std::string& store, const palette& colours);

/// For programs: server, "open" or "quarantined", milliseconds that are left or nothing, why.
[[nodiscard]] std::string quarantine_lines(const std::vector<quarantine_state>& all);

/// Why nobody gets a lock at the moment, a sentence for each reason, if more than half of the servers give out none: that nobody
/// holds one there says little then.
[[nodiscard]] std::vector<std::string> why_no_lock(const result<std::vector<quarantine_state>>& servers);

[[nodiscard]] bool any_quarantined(const std::vector<quarantine_state>& all) noexcept;

/// "a:1 (why), b:2 (why)": those that could not be asked.
[[nodiscard]] std::string not_reached(const std::vector<quarantine_state>& all);

/// How `quarantine` ends.
[[nodiscard]] int quarantine_status(const std::vector<quarantine_state>& all) noexcept;

}  // namespace cremone::cli
