// SPDX-License-Identifier: Apache-2.0
//
// RESP2 from the server's side: replies are appended to a text, commands are taken out of bytes that come in pieces. Knows
// no command.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cremone::sim {

inline constexpr std::string_view null_reply = "$-1\r\n";

void append_bulk(std::string& out, std::string_view text);
void append_number(std::string& out, std::int64_t n);
void append_array(std::string& out, std::size_t size);
/// Line ends in them become blanks, as in Redis.
void append_status(std::string& out, std::string_view text);
void append_error(std::string& out, std::string_view text);

/// Bytes of one connection, until they are whole commands.
class command_reader {
 public:
  enum class state { whole, more, broken };

  void feed(std::string_view bytes) { bytes_.append(bytes); }
  /// The next command; its words hold until the next call of feed() or compact(). Without words: an empty line.
  /// `broken`: what came is no RESP, `error` says why, and nothing after it can be understood.
  state next(std::vector<std::string_view>& words, std::string& error);
  /// Forgets what was read.
  void compact();

 private:
  bool line(std::size_t& at, std::string_view& out) const;
  state read_array(std::string_view head, std::size_t at, std::vector<std::string_view>& words,
                   std::string& error);

  std::string bytes_;
  std::size_t used_ = 0;
};

}  // namespace cremone::sim
