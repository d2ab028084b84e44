// SPDX-License-Identifier: Apache-2.0
//
// Values of Lua become replies in RESP2 and the other way round, as in Redis 7.0. Known to lua.cpp only.
#pragma once

#include <lua5.1/lua.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace cremone::sim {

/// The string or number at a place of the stack, for as long as it is there.
[[nodiscard]] std::string_view text_at(lua_State* l, int index);

void push(lua_State* l, std::string_view text);
/// {name = text}, with room for one field more.
void push_single(lua_State* l, const char* name, std::string_view text);
/// An error of redis.call.
void push_error(lua_State* l, std::string_view text);
/// The first reply of `bytes`, which goes. These are replies of our own: they are whole.
void push_reply(lua_State* l, std::string_view& bytes);

/// As a script's number becomes one of Redis.
[[nodiscard]] std::int64_t truncated(lua_Number n);
/// The reply that the value on top makes; it stays there.
void append_value(lua_State* l, std::string& out);
/// The same for an error that ended a script: a table with its text in `err`, and where it was in `source` and `line`.
void append_failure(lua_State* l, const std::string& sha, std::string& out);

}  // namespace cremone::sim
