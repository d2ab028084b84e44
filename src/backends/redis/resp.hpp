// SPDX-License-Identifier: Apache-2.0
//
// Redis's protocol, version 2: commands as bytes, and replies out of bytes. Knows the form, not what any command or
// reply means. What a server sends is not trusted: size, depth and shape are bounded here.
#pragma once

#include <cremone/result.hpp>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

struct redisReader;

namespace cremone::redis {

struct reply {
  enum class kind : std::uint8_t { nil, integer, text, status, error, list };

  kind what = kind::nil;
  std::int64_t number = 0;
  std::string text;  ///< of text, status and error
  std::vector<reply> items;

  [[nodiscard]] bool is(kind k) const noexcept { return what == k; }
};

/// "an error", "a list of 3": for messages about replies that make no sense.
[[nodiscard]] std::string shape_of(const reply& r);

/// Appends one command.
void append_command(std::string& out, std::span<const std::string_view> words);
inline void append_command(std::string& out, std::initializer_list<std::string_view> words) {
  append_command(out, std::span(words.begin(), words.size()));
}

/// Cuts a stream of bytes into replies. Threads: like any value.
class reply_reader {
 public:
  /// Of one reply, with all that is in it. What cremone asks for is far smaller; a reply of many tiny items takes some
  /// twenty times this much memory.
  static constexpr std::size_t max_reply_size = std::size_t{8} << 20U;

  reply_reader();

  void feed(std::string_view bytes);

  /// The next whole reply; empty when there is none yet. *protocol_error* when the bytes are no replies, and from
  /// then on.
  [[nodiscard]] result<std::optional<reply>> next();

 private:
  struct free_reader {
    void operator()(redisReader* r) const noexcept;
  };

  [[nodiscard]] error garbled(std::string_view why) const;

  std::unique_ptr<redisReader, free_reader> reader_;
  std::string
      beginning_;  // the first bytes of the stream: they tell what kind of server this is, if not a Redis
  std::size_t unfinished_ = 0;  // bytes since the last whole reply
  bool broken_ = false;
};

}  // namespace cremone::redis
