// SPDX-License-Identifier: Apache-2.0
//
// Which words make a fenced command. The rule itself is in Lua, in the files beside this one, because there the server keeps everybody
// else out; here what is wrong on the face of it is refused before it is sent. Knows no connection.
#include "base/sha1.hpp"
#include "base/text.hpp"

#include "fence/fence_lua.hpp"

#include <cremone/fence_redis.hpp>

#include <algorithm>

namespace cremone::fence {

namespace {

struct known_script {
  explicit known_script(const char* lua) : text(lua), sha(sha1_hex(text)) {}
  std::string text;
  std::string sha;
};

error bad(std::string detail) { return {errc::invalid_argument, std::move(detail)}; }

std::vector<std::string> command(std::string_view name, const std::string& script,
                                 const std::vector<std::string>& words) {
  std::vector<std::string> all;
  all.reserve(words.size() + 2);
  all.emplace_back(name);
  all.push_back(script);
  all.insert(all.end(), words.begin(), words.end());
  return all;
}

/// What all commands begin with: how many keys, the mark, the keys, the token.
result<std::vector<std::string>> beginning(const result<std::string>& mark, fence_token token,
                                           std::span<const std::string> keys) {
  if (!mark) {
    return mark.error();
  }
  if (const auto fine = check_token(token, fence_token::limit); !fine) {
    return fine.error();
  }
  if (std::find(keys.begin(), keys.end(), *mark) != keys.end()) {
    return bad("the key '" + *mark + "' is the resource's mark and no place for data");
  }
  std::vector<std::string> words;
  words.push_back(std::to_string(keys.size() + 1));
  words.push_back(*mark);
  words.insert(words.end(), keys.begin(), keys.end());
  words.push_back(std::to_string(token.value()));
  return words;
}

error too_many(std::string_view what, std::size_t size, std::size_t most) {
  return bad(std::to_string(size) + " " + std::string(what) + " are too many for one command; at most " +
             std::to_string(most));
}

/// The user's text becomes the body of a function. It begins in the first line, so that the server's messages name the lines of the user.
std::string wrapped(std::string_view script) {
  std::string text =
      "local body = (function(KEYS, ARGV, redis, server, _G, loadstring, load, getfenv, setfenv, ...) ";
  text += script;
  text += "\nend)\n";
  text += lua::run;
  return text;
}

}  // namespace

std::vector<std::string> redis_command::evalsha() const { return command("EVALSHA", sha, words); }

std::vector<std::string> redis_command::eval() const { return command("EVAL", script, words); }

result<std::string> redis_commands::mark_key(const resource_name& resource) const {
  if (const auto fine = check_resource(resource); !fine) {
    return fine.error();
  }
  if (prefix_.empty() || find_control(prefix_) != std::string::npos) {
    return bad("the prefix of the marks is empty or has a control character: '" + printable(prefix_) + "'");
  }
  return prefix_ + ":fence:" + resource.str();
}

result<redis_command> redis_commands::set(const resource_name& resource, fence_token token,
                                          std::string_view key, std::string_view value,
                                          std::optional<std::chrono::milliseconds> ttl) const {
  static const known_script script(lua::set);
  const std::string keys[] = {std::string(key)};
  auto words = beginning(mark_key(resource), token, keys);
  if (!words) {
    return words.error();
  }
  words->emplace_back(value);
  if (ttl) {
    if (ttl->count() <= 0) {
      return bad("a time to live of " + std::to_string(ttl->count()) + " ms is none; it must be above zero");
    }
    words->push_back(std::to_string(ttl->count()));
  }
  return redis_command{.sha = script.sha, .script = script.text, .words = std::move(*words)};
}

result<redis_command> redis_commands::hset(const resource_name& resource, fence_token token,
                                           std::string_view key, std::span<const redis_field> fields) const {
  static const known_script script(lua::hset);
  if (fields.empty()) {
    return bad("hset() was given no field");
  }
  if (fields.size() * 2 > redis_most_words) {
    return too_many("fields", fields.size(), redis_most_words / 2);
  }
  const std::string keys[] = {std::string(key)};
  auto words = beginning(mark_key(resource), token, keys);
  if (!words) {
    return words.error();
  }
  for (const auto& [field, value] : fields) {
    words->push_back(field);
    words->push_back(value);
  }
  return redis_command{.sha = script.sha, .script = script.text, .words = std::move(*words)};
}

result<redis_command> redis_commands::del(const resource_name& resource, fence_token token,
                                          std::span<const std::string> keys) const {
  static const known_script script(lua::del);
  if (keys.empty()) {
    return bad("del() was given no key");
  }
  if (keys.size() > redis_most_words) {
    return too_many("keys", keys.size(), redis_most_words);
  }
  auto words = beginning(mark_key(resource), token, keys);
  if (!words) {
    return words.error();
  }
  return redis_command{.sha = script.sha, .script = script.text, .words = std::move(*words)};
}

result<redis_command> redis_commands::run(const resource_name& resource, fence_token token,
                                          std::string_view script, std::span<const std::string> keys,
                                          std::span<const std::string> arguments) const {
  if (script.empty()) {
    return bad("the script is empty; check() lets a token pass without a write");
  }
  if (script.starts_with("#!")) {
    return bad(
        "a script cannot begin with '#!' behind the fence, where it is a part of another; leave the line "
        "away");
  }
  if (script.find('\0') != std::string_view::npos) {
    return bad("the script has a byte 0, behind which Lua may read nothing");
  }
  auto words = beginning(mark_key(resource), token, keys);
  if (!words) {
    return words.error();
  }
  words->insert(words->end(), arguments.begin(), arguments.end());
  std::string text = wrapped(script);
  std::string sha = sha1_hex(text);
  return redis_command{.sha = std::move(sha), .script = std::move(text), .words = std::move(*words)};
}

result<redis_command> redis_commands::check(const resource_name& resource, fence_token token) const {
  static const known_script script(lua::check);
  auto words = beginning(mark_key(resource), token, {});
  if (!words) {
    return words.error();
  }
  return redis_command{.sha = script.sha, .script = script.text, .words = std::move(*words)};
}

}  // namespace cremone::fence
