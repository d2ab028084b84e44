// SPDX-License-Identifier: Apache-2.0
//
// libFuzzer's way in.
#include "fuzz/replies.hpp"

#include <cstddef>
#include <cstdint>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  cremone::fuzz::answer_with({reinterpret_cast<const char*>(data), size});
  return 0;
}
