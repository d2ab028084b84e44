// SPDX-License-Identifier: Apache-2.0
#include "sim/redis/lua_values.hpp"

#include "sim/redis/numbers.hpp"
#include "sim/redis/resp.hpp"

namespace cremone::sim {

std::string_view text_at(lua_State* l, int index) {
  std::size_t size = 0;
  const char* const data = lua_tolstring(l, index, &size);
  return {data, size};
}

void push(lua_State* l, std::string_view text) { lua_pushlstring(l, text.data(), text.size()); }

// ---- replies become values --------------------------------------------------------------------------------

void push_single(lua_State* l, const char* name, std::string_view text) {
  lua_createtable(l, 0, 2);
  push(l, text);
  lua_setfield(l, -2, name);
}

// Redis marks errors of commands so, to count them once.
void push_error(lua_State* l, std::string_view text) {
  push_single(l, "err", text);
  lua_pushboolean(l, 1);
  lua_setfield(l, -2, "ignore_error_stats_update");
}

void push_reply(lua_State* l, std::string_view& bytes) {
  const char type = bytes.front();
  const auto end = bytes.find("\r\n");
  const std::string_view head = bytes.substr(1, end - 1);
  bytes.remove_prefix(end + 2);
  if (type == '+') {
    return push_single(l, "ok", head);
  }
  if (type == '-') {
    return push_error(l, head);
  }
  const std::int64_t n = integer_in(head).value_or(0);
  if (type == ':') {
    return lua_pushnumber(l, static_cast<lua_Number>(n));
  }
  if (n < 0) {
    return lua_pushboolean(l, 0);
  }
  if (type == '$') {
    push(l, bytes.substr(0, static_cast<std::size_t>(n)));
    return bytes.remove_prefix(static_cast<std::size_t>(n) + 2);
  }
  luaL_checkstack(l, 4, "a reply of many levels");
  lua_createtable(l, static_cast<int>(n), 0);
  for (int i = 1; i <= n; ++i) {
    push_reply(l, bytes);
    lua_rawseti(l, -2, i);
  }
}

// ---- values become replies --------------------------------------------------------------------------------

// INT64_MIN is what the processor makes of it where it does not fit.
std::int64_t truncated(lua_Number n) {
  constexpr lua_Number beyond = 9223372036854775808.0;
  return n >= -beyond && n < beyond ? static_cast<std::int64_t>(n) : INT64_MIN;
}

namespace {

/// Pushes the text at a field of the table on top, or leaves all as it was.
bool push_text_field(lua_State* l, const char* name) {
  lua_pushstring(l, name);
  lua_rawget(l, -2);
  if (lua_type(l, -1) == LUA_TSTRING) {
    return true;
  }
  lua_pop(l, 1);
  return false;
}

void append_table(lua_State* l, std::string& out) {
  if (!lua_checkstack(l, 4)) {
    return append_error(out, "ERR reached lua stack limit");
  }
  if (push_text_field(l, "err")) {
    append_error(out, text_at(l, -1));
    return lua_pop(l, 1);
  }
  if (push_text_field(l, "ok")) {
    append_status(out, text_at(l, -1));
    return lua_pop(l, 1);
  }
  int size = 0;
  for (;; ++size) {
    lua_rawgeti(l, -1, size + 1);
    const bool ends = lua_isnil(l, -1);
    lua_pop(l, 1);
    if (ends) {
      break;
    }
  }
  append_array(out, static_cast<std::size_t>(size));
  for (int i = 1; i <= size; ++i) {
    lua_rawgeti(l, -1, i);
    append_value(l, out);
    lua_pop(l, 1);
  }
}

}  // namespace

void append_value(lua_State* l, std::string& out) {
  switch (lua_type(l, -1)) {
    case LUA_TSTRING: return append_bulk(out, text_at(l, -1));
    case LUA_TNUMBER: return append_number(out, truncated(lua_tonumber(l, -1)));
    case LUA_TTABLE: return append_table(l, out);
    case LUA_TBOOLEAN:
      if (lua_toboolean(l, -1)) {
        return append_number(out, 1);
      }
      break;
    default: break;
  }
  out += null_reply;
}

void append_failure(lua_State* l, const std::string& sha, std::string& out) {
  if (!lua_istable(l, -1)) {  // an error while the error was handled
    const std::string said = lua_isstring(l, -1) ? std::string(text_at(l, -1)) : "execution failure";
    return append_error(out, "ERR Error running script " + sha + ", " + said.substr(0, 100));
  }
  std::string text = "(null)";
  if (push_text_field(l, "err")) {
    text = text_at(l, -1);
    lua_pop(l, 1);
  }
  if (push_text_field(l, "source")) {
    text += " script: " + sha + ", on ";
    text += text_at(l, -1);
    lua_pop(l, 1);
    lua_pushliteral(l, "line");
    lua_rawget(l, -2);
    text += ':' + std::to_string(lua_tointeger(l, -1)) + '.';
    lua_pop(l, 1);
  }
  append_error(out, text);
}

}  // namespace cremone::sim
