// SPDX-License-Identifier: Apache-2.0
//
// Looks at a database file and where it lies, for diagnosis. Opens nothing: SQLite's own locks must never meet a
// descriptor of ours on its file.
#pragma once

#include "backends/sqlite/diagnosis.hpp"
#include "backends/sqlite/store.hpp"

namespace cremone::sqlite {

/// Throws `failure` when SQLite cannot be asked at all. `now`: the wall clock's.
[[nodiscard]] file_evidence look_at(store& s, wall_time now);

}  // namespace cremone::sqlite
