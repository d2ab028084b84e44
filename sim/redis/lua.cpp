// SPDX-License-Identifier: Apache-2.0
//
// Lua is built as C++, so that its errors are exceptions and destructors run.
//
// Redis has a Lua whose tables can be made read-only. Here a table that scripts must not write to is an empty one before the
// real one; rawset and setmetatable know them.
#include "sim/redis/lua.hpp"

#include "backends/redis/digest.hpp"
#include "sim/redis/lua_memory.hpp"
#include "sim/redis/lua_values.hpp"
#include "sim/redis/numbers.hpp"

#include <lua5.1/lua.hpp>

#include <algorithm>
#include <cstdint>
#include <new>
#include <utility>
#include <vector>

namespace cremone::sim {

namespace {

/// More than a swarm's servers know at a time. Each takes some 50 kB.
constexpr std::size_t most_scripts = 1000;

/// In percent: so much memory is used before what is not needed any more is looked for. Lua's own 200 does that too often for a heap
/// that is mostly scripts, which stay.
constexpr int memory_factor = 400;

constexpr const char* readonly_mark = "readonly";
constexpr const char* readonly_text = "Attempt to modify a readonly table";

// ---- what replaces functions of Lua -----------------------------------------------------------------------

/// Where was it? The function that failed, or who called it if that was one of ours.
int on_error(lua_State* l) {
  if (!lua_istable(l, 1)) {
    const std::string text = lua_isstring(l, 1)    ? std::string(text_at(l, 1))
                             : lua_isboolean(l, 1) ? (lua_toboolean(l, 1) ? "true" : "false")
                                                   : luaL_typename(l, 1);
    push_single(l, "err", "ERR " + text);
    lua_replace(l, 1);
  }
  lua_settop(l, 1);
  lua_Debug where{};
  bool found = lua_getstack(l, 1, &where) == 1 && lua_getinfo(l, "Sl", &where) == 1;
  if (found && std::string_view(where.what) == "C") {
    found = lua_getstack(l, 2, &where) == 1 && lua_getinfo(l, "Sl", &where) == 1;
  }
  if (found) {
    lua_pushliteral(l, "source");
    lua_pushstring(l, where.source);
    lua_rawset(l, 1);
    lua_pushliteral(l, "line");
    lua_pushinteger(l, where.currentline);
    lua_rawset(l, 1);
  }
  return 1;
}

/// Redis makes a text of an error that has one.
int protected_call(lua_State* l) {
  luaL_checkany(l, 1);
  lua_pushboolean(l, 1);
  lua_insert(l, 1);
  if (lua_pcall(l, lua_gettop(l) - 2, LUA_MULTRET, 0) != 0) {
    lua_remove(l, 1);
    if (lua_istable(l, -1)) {
      lua_getfield(l, -1, "err");
      if (lua_isstring(l, -1)) {
        lua_replace(l, -2);
      }
    }
    lua_pushboolean(l, 0);
    lua_insert(l, 1);
  }
  return lua_gettop(l);
}

int refuse_write(lua_State* l) { return luaL_error(l, "%s", readonly_text); }

int refuse_unknown(lua_State* l) {
  return luaL_error(l, "Script attempted to access nonexistent global variable '%s'", luaL_checkstring(l, 2));
}

/// Calls the function of Lua that it replaces, unless the table must not be written to.
int unless_readonly(lua_State* l) {
  if (lua_istable(l, 1) && lua_getmetatable(l, 1)) {
    lua_getfield(l, -1, readonly_mark);
    if (lua_toboolean(l, -1)) {
      lua_pushstring(l, readonly_text);
      return lua_error(l);
    }
    lua_pop(l, 2);
  }
  lua_pushvalue(l, lua_upvalueindex(1));
  lua_insert(l, 1);
  lua_call(l, lua_gettop(l) - 1, LUA_MULTRET);
  return lua_gettop(l);
}

/// Puts before the table on top one that cannot be written to, in its place.
void protect(lua_State* l) {
  lua_newtable(l);
  lua_createtable(l, 0, 4);
  lua_pushvalue(l, -3);
  lua_setfield(l, -2, "__index");
  lua_pushcfunction(l, refuse_write);
  lua_setfield(l, -2, "__newindex");
  lua_pushboolean(l, 0);
  lua_setfield(l, -2, "__metatable");
  lua_pushboolean(l, 1);
  lua_setfield(l, -2, readonly_mark);
  lua_setmetatable(l, -2);
  lua_replace(l, -2);
}

// ---- redis.* ----------------------------------------------------------------------------------------------

int sha1_of(lua_State* l) {
  if (lua_gettop(l) != 1) {
    push_single(l, "err", "ERR wrong number of arguments");
    return lua_error(l);
  }
  push(l, redis::sha1_hex(text_at(l, 1)));
  return 1;
}

/// A word without a blank after it is no code.
int error_reply(lua_State* l) {
  if (lua_gettop(l) != 1 || lua_type(l, 1) != LUA_TSTRING) {
    push_single(l, "err", "ERR wrong number or type of arguments");
    return 1;
  }
  std::string_view text = text_at(l, 1);
  if (text.starts_with('-')) {
    text.remove_prefix(1);
  }
  const bool has_code = text.find(' ') != std::string_view::npos;
  push_single(l, "err", has_code ? std::string(text) : "ERR " + std::string(text));
  return 1;
}

int status_reply(lua_State* l) {
  if (lua_gettop(l) != 1 || lua_type(l, 1) != LUA_TSTRING) {
    push_single(l, "err", "ERR wrong number or type of arguments");
    return 1;
  }
  push_single(l, "ok", text_at(l, 1));
  return 1;
}

int ignore(lua_State*) { return 0; }

}  // namespace

// ---- the interpreter --------------------------------------------------------------------------------------

/// A function of Lua, held in its registry.
class lua::script {
 public:
  script(lua_State* l, std::string sha) : l_(l), sha_(std::move(sha)), ref_(luaL_ref(l, LUA_REGISTRYINDEX)) {}
  script(const script&) = delete;
  script& operator=(const script&) = delete;
  ~script() { luaL_unref(l_, LUA_REGISTRYINDEX, ref_); }

  [[nodiscard]] const std::string& sha() const noexcept { return sha_; }
  void push() const { lua_rawgeti(l_, LUA_REGISTRYINDEX, ref_); }

 private:
  lua_State* l_;
  std::string sha_;
  int ref_;
};

class lua::engine {
 public:
  engine() : l_(lua_newstate(lua_memory::serve, &memory_)) {
    if (l_ == nullptr) {
      throw std::bad_alloc();
    }
    lua_gc(l_, LUA_GCSETPAUSE, memory_factor);
    make_globals();
  }
  engine(const engine&) = delete;
  engine& operator=(const engine&) = delete;
  ~engine() { lua_close(l_); }

  [[nodiscard]] lua_State* state() const noexcept { return l_; }
  void run(const script& what, std::span<const std::string_view> keys,
           std::span<const std::string_view> arguments, script_host& host, std::string& out);

 private:
  static engine& of(lua_State* l) { return *static_cast<engine*>(lua_touserdata(l, lua_upvalueindex(1))); }
  static int call(lua_State* l) { return of(l).ask_host(l, true); }
  static int careful_call(lua_State* l) { return of(l).ask_host(l, false); }
  static int random(lua_State* l) { return of(l).draw(l); }
  static int seed_random(lua_State* l) {
    of(l).seed(truncated(luaL_checknumber(l, 1)));
    return 0;
  }

  int ask_host(lua_State* l, bool raises);
  int draw(lua_State* l);
  void seed(std::int64_t n) { random_ = ((static_cast<std::uint64_t>(n) & 0xffffffffU) << 16U) + 0x330e; }

  void make_globals();
  void add(const char* name, lua_CFunction f);
  void make_redis_table();
  void set_list(const char* name, std::span<const std::string_view> texts);

  lua_memory memory_;
  lua_State* l_;
  int globals_ = LUA_NOREF;
  script_host* host_ = nullptr;
  std::vector<std::string_view> words_;
  std::vector<std::string> numbers_;
  std::string reply_;
  std::uint64_t random_ = 0;
};

/// To the table on top.
void lua::engine::add(const char* name, lua_CFunction f) {
  lua_pushlightuserdata(l_, this);
  lua_pushcclosure(l_, f, 1);
  lua_setfield(l_, -2, name);
}

void lua::engine::make_redis_table() {
  lua_newtable(l_);
  add("call", call);
  add("pcall", careful_call);
  add("sha1hex", sha1_of);
  add("error_reply", error_reply);
  add("status_reply", status_reply);
  add("log", ignore);
  int level = 0;
  for (const char* const name : {"LOG_DEBUG", "LOG_VERBOSE", "LOG_NOTICE", "LOG_WARNING"}) {
    lua_pushinteger(l_, level++);
    lua_setfield(l_, -2, name);
  }
}

/// What Lua knows by itself, without what reaches outside, tells addresses or memory, or could be changed.
void lua::engine::make_globals() {
  for (const lua_CFunction opens : {luaopen_base, luaopen_string, luaopen_table, luaopen_math}) {
    lua_pushcfunction(l_, opens);
    lua_call(l_, 0, 0);
  }
  lua_pushvalue(l_, LUA_GLOBALSINDEX);
  for (const char* const name :
       {"dofile", "loadfile", "print", "newproxy", "collectgarbage", "gcinfo", "getfenv", "setfenv"}) {
    lua_pushnil(l_);
    lua_setfield(l_, -2, name);
  }
  for (const char* const name : {"rawset", "setmetatable"}) {
    lua_getfield(l_, -1, name);
    lua_pushcclosure(l_, unless_readonly, 1);
    lua_setfield(l_, -2, name);
  }
  lua_getfield(l_, -1, "math");
  add("random", random);
  add("randomseed", seed_random);
  lua_pop(l_, 1);
  add("pcall", protected_call);
  make_redis_table();
  lua_setfield(l_, -2, "redis");
  for (const char* const name : {"string", "table", "math", "coroutine", "redis"}) {
    lua_getfield(l_, -1, name);
    protect(l_);
    lua_setfield(l_, -2, name);
  }
  lua_pushliteral(l_, "");  // what stands behind ("x"):upper()
  lua_getmetatable(l_, -1);
  lua_pushboolean(l_, 0);
  lua_setfield(l_, -2, "__metatable");
  lua_pop(l_, 2);

  lua_createtable(l_, 0, 1);
  lua_pushcfunction(l_, refuse_unknown);
  lua_setfield(l_, -2, "__index");
  lua_setmetatable(l_, -2);
  lua_pushvalue(l_, -1);
  globals_ = luaL_ref(l_, LUA_REGISTRYINDEX);
  protect(l_);
  lua_rawgeti(l_, LUA_REGISTRYINDEX, globals_);
  lua_pushvalue(l_, -2);
  lua_setfield(l_, -2, "_G");
  lua_pop(l_, 1);
  lua_replace(l_, LUA_GLOBALSINDEX);
}

int lua::engine::ask_host(lua_State* l, bool raises) {
  const auto refuse = [&](std::string_view why) {
    push_error(l, why);
    return raises ? lua_error(l) : 1;
  };
  const int count = lua_gettop(l);
  if (count == 0) {
    return refuse("ERR Please specify at least one argument for this redis lib call");
  }
  words_.clear();
  numbers_.resize(std::max(numbers_.size(), static_cast<std::size_t>(count)));
  for (int i = 1; i <= count; ++i) {
    const int type = lua_type(l, i);
    if (type == LUA_TSTRING) {
      words_.push_back(text_at(l, i));
    } else if (type == LUA_TNUMBER) {
      std::string& digits = numbers_[static_cast<std::size_t>(i - 1)];
      digits.clear();
      append_score(digits, lua_tonumber(l, i));
      words_.push_back(digits);
    } else {
      return refuse("ERR Lua redis lib command arguments must be strings or integers");
    }
  }
  reply_.clear();
  host_->call(words_, reply_);
  std::string_view bytes = reply_;
  push_reply(l, bytes);
  return raises && reply_.front() == '-' ? lua_error(l) : 1;
}

/// lrand48, which does not depend on the machine. Each run begins with the same seed.
int lua::engine::draw(lua_State* l) {
  constexpr std::uint64_t mask = (std::uint64_t{1} << 48U) - 1;
  random_ = (random_ * 0x5deece66dU + 0xbU) & mask;
  const auto r = static_cast<lua_Number>((random_ >> 17U) % INT32_MAX) / INT32_MAX;
  if (lua_gettop(l) == 0) {
    lua_pushnumber(l, r);
    return 1;
  }
  const lua_Number low = lua_gettop(l) == 1 ? 1 : luaL_checknumber(l, 1);
  const lua_Number high = luaL_checknumber(l, lua_gettop(l) == 1 ? 1 : 2);
  luaL_argcheck(l, low <= high, lua_gettop(l), "interval is empty");
  lua_pushnumber(l, static_cast<lua_Number>(truncated(r * (high - low + 1))) + low);
  return 1;
}

void lua::engine::set_list(const char* name, std::span<const std::string_view> texts) {
  lua_createtable(l_, static_cast<int>(texts.size()), 0);
  for (std::size_t i = 0; i < texts.size(); ++i) {
    push(l_, texts[i]);
    lua_rawseti(l_, -2, static_cast<int>(i) + 1);
  }
  lua_setfield(l_, -2, name);
}

void lua::engine::run(const script& what, std::span<const std::string_view> keys,
                      std::span<const std::string_view> arguments, script_host& host, std::string& out) {
  host_ = &host;
  seed(0);
  lua_pushcfunction(l_, on_error);
  lua_rawgeti(l_, LUA_REGISTRYINDEX, globals_);
  set_list("KEYS", keys);
  set_list("ARGV", arguments);
  lua_pop(l_, 1);
  what.push();
  if (lua_pcall(l_, 0, 1, -2) != 0) {
    append_failure(l_, what.sha(), out);
  } else {
    append_value(l_, out);
  }
  lua_settop(l_, 0);
  host_ = nullptr;
}

lua::lua() : engine_(std::make_unique<engine>()) {}

lua::~lua() = default;

namespace {

/// Takes "#!lua flags=…" off, and leaves its line. False: it is not what Redis takes.
bool take_shebang(std::string_view& text, std::string& error) {
  if (!text.starts_with("#!")) {
    return true;
  }
  const auto end = text.find('\n');
  if (end == std::string_view::npos) {
    error = "ERR Invalid script shebang";
    return false;
  }
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(end);
  const auto engine_name = line.substr(0, line.find(' '));
  if (engine_name != "#!lua") {
    error = "ERR Unexpected engine in script shebang: " + std::string(engine_name);
    return false;
  }
  const std::string_view rest = line.substr(engine_name.size());
  if (!rest.empty() && rest != " flags=allow-oom" && rest != " flags=") {
    error = "ERR the simulator knows no flag of scripts but allow-oom:" + std::string(rest);
    return false;
  }
  return true;
}

}  // namespace

lua::handle lua::compile(std::string_view text, const std::string& sha, std::string& error) {
  if (const auto found = known_.find(sha); found != known_.end()) {
    return found->second;
  }
  if (!take_shebang(text, error)) {
    return nullptr;
  }
  lua_State* const l = engine_->state();
  if (luaL_loadbuffer(l, text.data(), text.size(), "@user_script") != 0) {
    error = "ERR Error compiling script (new function): " + std::string(text_at(l, -1));
    lua_settop(l, 0);
    return nullptr;
  }
  if (known_.size() >= most_scripts) {
    std::erase_if(known_, [](const auto& one) { return one.second.use_count() == 1; });
  }
  return known_[sha] = std::make_shared<const script>(l, sha);
}

void lua::run(const script& what, std::span<const std::string_view> keys,
              std::span<const std::string_view> arguments, script_host& host, std::string& out) {
  engine_->run(what, keys, arguments, host, out);
}

}  // namespace cremone::sim
