// SPDX-License-Identifier: Apache-2.0
//
// Who has a file locked, for people to read. No decision rests on it.
#pragma once

#include <string>

namespace cremone::fence {

/// "process 4711 (cp)", or "another process" where the kernel does not say.
[[nodiscard]] std::string who_locks(int file);

}  // namespace cremone::fence
