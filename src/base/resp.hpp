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
  /// Of one reply, in bytes. What cremone asks for is far smaller.
  static constexpr std::size_t max_reply_size = std::size_t{8} << 20U;

  /// Of one reply, at all depths: a list of tiny items takes far more memory than bytes.
  static constexpr std::size_t max_items = 100'000;

  /// What the stream began with tells what kind of server this is, if not a Redis. Not to be shown where a password was
  /// sent, which it may repeat.
  enum class beginning : bool { hidden, shown };

  explicit reply_reader(beginning b = beginning::shown);

  /// From now on no error shows what the stream began with: a password is sent next.
  void hide_beginning() noexcept {
    show_ = beginning::hidden;
    beginning_.clear();
  }

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
  std::unique_ptr<std::size_t> items_;  // of the reply being read; where hiredis finds it
  beginning show_;
  std::string beginning_;
  std::size_t unfinished_ = 0;  // bytes since the last whole reply
  bool broken_ = false;
};

}  // namespace cremone::redis
