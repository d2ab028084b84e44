// SPDX-License-Identifier: Apache-2.0
//
// A Redis server that says what it is told, and the backend before it. For the fuzzer, and for the test that replays what
// it has found.
#pragma once

#include <string_view>

namespace cremone::fuzz {

/// Lets the backend make one call and the server answer it with what stands in `input`; then lets time pass and closes.
/// Aborts where something is not as it must be whatever a server says: each call answered exactly once and in time, no
/// control character in anything that is shown to people, no grant without a token, and the same replies however the
/// bytes are cut.
///
/// The first byte: which call (bits 0 to 2), whether the greeting is answered from the input too (3), the size of the
/// pieces in which bytes arrive (4 to 6), whether the server closes when it has nothing more to say (7). After that what
/// the server says, one part for each time that it is asked, with the byte 1E between them.
void answer_with(std::string_view input);

}  // namespace cremone::fuzz
