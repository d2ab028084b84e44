// SPDX-License-Identifier: Apache-2.0
#include "backends/redis/scripts.hpp"

#include "backends/redis/classic_lua.hpp"
#include "backends/redis/digest.hpp"
#include "backends/redis/record_lua.hpp"

#include <array>
#include <cstring>
#include <string>
#include <utility>

namespace cremone::redis {

namespace {

script made(std::string_view name, std::string_view text) { return {name, text, sha1_hex(text)}; }

struct part {
  std::string_view name;
  std::string_view text;
  bool when_full =
      false;  // runs also when the server has no memory left, so that nothing held is lost by that
};

// In the order of record_script.
constexpr std::array<part, record_script_count> record_parts = {{{"grant", record_lua::grant},
                                                                 {"release", record_lua::release, true},
                                                                 {"renew", record_lua::renew, true},
                                                                 {"remove", record_lua::remove, true},
                                                                 {"listen", record_lua::listen},
                                                                 {"admit", record_lua::admit, true},
                                                                 {"look", record_lua::look},
                                                                 {"commit", record_lua::commit},
                                                                 {"floor", record_lua::floor}}};

/// Functions of Lua cost time when they are made, so that a script makes those that it does not always need where it cannot do
/// without.
std::string with_parts(std::string_view script) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 2> parts = {
      {{"-- include functions\n", record_lua::functions}, {"-- include queue\n", record_lua::queue}}};
  std::string text(script);
  for (const auto& [mark, part] : parts) {
    if (const auto at = text.find(mark); at != std::string::npos) {
      text.replace(at, mark.size(), part);
    }
  }
  return text;
}

}  // namespace

const classic_scripts& scripts() {
  static const classic_scripts all{
      made("grant", classic_lua::grant),     made("release", classic_lua::release),
      made("renew", classic_lua::renew),     made("force", classic_lua::force),
      made("inspect", classic_lua::inspect), made("pick", classic_lua::pick),
      made("rights", classic_lua::rights)};
  return all;
}

std::string_view name_of(record_script which) noexcept {
  return record_parts[static_cast<std::size_t>(which)].name;
}

record_book::record_book(std::string run, int db) : run_(std::move(run)), db_(std::to_string(db)) {
  if (!run_.empty()) {
    const auto digest = sha1(life());
    std::memcpy(&number_, digest.data(), sizeof number_);
  }
  const std::string beginning = "local life, db = '" + life() + "', '" + db_ + "'\n" + record_lua::common;
  for (std::size_t i = 0; i < record_parts.size(); ++i) {
    texts_[i] = record_parts[i].when_full ? "#!lua flags=allow-oom\n" : "";
    texts_[i] += beginning + with_parts(record_parts[i].text);
    scripts_[i] = made(record_parts[i].name, texts_[i]);
  }
}

const script& record_rights() {
  static const script one = made("rights", record_lua::rights);
  return one;
}

}  // namespace cremone::redis
