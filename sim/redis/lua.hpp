// SPDX-License-Identifier: Apache-2.0
//
// Lua 5.1 as Redis 7.0 offers it to scripts: which functions there are, what becomes of errors, and how values turn into
// replies and back. It decides nothing about commands: redis.call asks a host. Nothing of one call is left for the next.
//
// Not there: cjson, cmsgpack, struct, bit, collectgarbage, gcinfo, flags of scripts but allow-oom, RESP3. A library's table cannot
// be walked through with pairs(). math.random begins anew with each script.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace cremone::sim {

/// What redis.call reaches.
class script_host {
 public:
  virtual ~script_host() = default;
  /// Appends the reply in RESP2 to what is empty.
  virtual void call(std::span<const std::string_view> words, std::string& reply) = 0;
};

/// One embedded Lua 5.1. Compiled scripts are kept by their text's SHA-1 across servers and seeds (the texts are pure), so that a
/// swarm compiles each once. For one thread, and it outlives the servers that use it.
class lua {
 public:
  class script;
  using handle = std::shared_ptr<const script>;

  lua();
  lua(const lua&) = delete;
  lua& operator=(const lua&) = delete;
  ~lua();

  /// Null when the text is no program; `error` then is what Redis answers. `sha`: of the text, in hex.
  [[nodiscard]] handle compile(std::string_view text, const std::string& sha, std::string& error);

  /// Appends the reply in RESP2. Not from within itself.
  void run(const script& what, std::span<const std::string_view> keys,
           std::span<const std::string_view> arguments, script_host& host, std::string& out);

 private:
  class engine;

  std::unique_ptr<engine> engine_;
  std::map<std::string, handle, std::less<>> known_;
};

}  // namespace cremone::sim
