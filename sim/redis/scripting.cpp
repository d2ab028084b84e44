// SPDX-License-Identifier: Apache-2.0
//
// Commands about scripts: which this life of the server knows, and how one reaches the other commands. Lua itself is in lua.cpp.
#include "backends/redis/digest.hpp"
#include "sim/redis/access.hpp"
#include "sim/redis/commands.hpp"

#include <utility>

namespace cremone::sim {

namespace {

constexpr std::size_t sha_length = 40;
constexpr std::string_view no_script = "NOSCRIPT No matching script. Please use EVAL.";

/// Commands of a script are those of the connection that runs it.
class caller final : public script_host {
 public:
  explicit caller(request& r) : request_(r) {}

  void call(std::span<const std::string_view> words, std::string& reply) override {
    request inner{request_.server, words, request_.connection, true, reply};
    execute(inner);
  }

 private:
  request& request_;
};

/// Null, and said so, when it is no program.
lua::handle load(request& r, std::string_view text, std::string sha) {
  if (const auto found = r.server.scripts.find(sha); found != r.server.scripts.end()) {
    return found->second;
  }
  std::string error;
  lua::handle made = r.server.interpreter->compile(text, sha, error);
  if (made == nullptr) {
    append_error(r.out, error);
  } else {
    r.server.scripts.emplace(std::move(sha), made);
  }
  return made;
}

/// How many of the words behind the script are keys. False, and said so, when that makes no sense.
bool read_key_count(request& r, std::size_t& out) {
  std::int64_t count = 0;
  if (!read_integer(r, 2, count)) {
    return false;
  }
  if (count > static_cast<std::int64_t>(r.words.size()) - 3) {
    append_error(r.out, "ERR Number of keys can't be greater than number of args");
    return false;
  }
  if (count < 0) {
    append_error(r.out, "ERR Number of keys can't be negative");
    return false;
  }
  out = static_cast<std::size_t>(count);
  return true;
}

void run(request& r, const lua::script& script, std::size_t keys) {
  caller host(r);
  const auto rest = r.words.subspan(3);
  r.server.interpreter->run(script, rest.first(keys), rest.subspan(keys), host, r.out);
}

}  // namespace

void run_eval(request& r) {
  std::size_t keys = 0;
  if (!read_key_count(r, keys)) {
    return;
  }
  if (const lua::handle script = load(r, r.word(1), redis::sha1_hex(r.word(1)))) {
    run(r, *script, keys);
  }
}

void run_evalsha(request& r) {
  std::size_t keys = 0;
  if (r.word(1).size() != sha_length) {
    return append_error(r.out, no_script);
  }
  if (!read_key_count(r, keys)) {
    return;
  }
  const auto found = r.server.scripts.find(lowered(r.word(1)));
  if (found == r.server.scripts.end()) {
    return append_error(r.out, no_script);
  }
  const lua::handle held = found->second;  // a script cannot flush scripts, but that is decided elsewhere
  run(r, *held, keys);
}

void run_script_load(request& r) {
  std::string sha = redis::sha1_hex(r.word(2));
  if (load(r, r.word(2), sha) != nullptr) {
    append_bulk(r.out, sha);
  }
}

void run_script_exists(request& r) {
  append_array(r.out, r.words.size() - 2);
  for (const std::string_view sha : r.words.subspan(2)) {
    append_number(r.out, r.server.scripts.contains(sha) ? 1 : 0);
  }
}

void run_script_flush(request& r) {
  if (r.words.size() > 3 ||
      (r.words.size() == 3 && !is_word(r.word(2), "sync") && !is_word(r.word(2), "async"))) {
    return append_error(r.out, "ERR SCRIPT FLUSH only support SYNC|ASYNC option");
  }
  r.server.scripts.clear();
  append_status(r.out, "OK");
}

}  // namespace cremone::sim
