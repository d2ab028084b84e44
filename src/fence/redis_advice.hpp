// SPDX-License-Identifier: Apache-2.0
//
// What a message of redis_gate ends with when the connection can no longer be used: advice to who owns the connection, which is not
// for the users of a program that made it for them.
#pragma once

#include <string>
#include <string_view>

namespace cremone::fence {

inline constexpr std::string_view reconnect_advice =
    "; hiredis does not use this connection again: redisReconnect() it, or make another";

[[nodiscard]] inline std::string without_reconnect_advice(std::string text) {
  if (text.ends_with(reconnect_advice)) {
    text.resize(text.size() - reconnect_advice.size());
  }
  return text;
}

}  // namespace cremone::fence
