// SPDX-License-Identifier: Apache-2.0
#include "sim/redis/resp.hpp"

#include "sim/redis/numbers.hpp"

namespace cremone::sim {

namespace {

// As in Redis: what one command may be at most.
constexpr std::int64_t most_words = 1024 * 1024;
constexpr std::int64_t longest_word = 512 * 1024 * 1024;

void append_line(std::string& out, char type, std::string_view text) {
  out += type;
  for (const char c : text) {
    out += c == '\r' || c == '\n' ? ' ' : c;
  }
  out += "\r\n";
}

void append_head(std::string& out, char type, std::int64_t n) {
  out += type;
  append_integer(out, n);
  out += "\r\n";
}

/// A person at a terminal: words with blanks between them.
void split(std::string_view text, std::vector<std::string_view>& words) {
  constexpr std::string_view blank = " \t";
  for (;;) {
    const auto from = text.find_first_not_of(blank);
    if (from == std::string_view::npos) {
      return;
    }
    text.remove_prefix(from);
    words.push_back(text.substr(0, text.find_first_of(blank)));
    text.remove_prefix(words.back().size());
  }
}

}  // namespace

void append_bulk(std::string& out, std::string_view text) {
  append_head(out, '$', static_cast<std::int64_t>(text.size()));
  out += text;
  out += "\r\n";
}

void append_number(std::string& out, std::int64_t n) { append_head(out, ':', n); }

void append_array(std::string& out, std::size_t size) {
  append_head(out, '*', static_cast<std::int64_t>(size));
}

void append_status(std::string& out, std::string_view text) { append_line(out, '+', text); }

void append_error(std::string& out, std::string_view text) { append_line(out, '-', text); }

bool command_reader::line(std::size_t& at, std::string_view& out) const {
  const auto end = bytes_.find('\n', at);
  if (end == std::string::npos) {
    return false;
  }
  out = std::string_view(bytes_).substr(at, end - at);
  if (out.ends_with('\r')) {
    out.remove_suffix(1);
  }
  at = end + 1;
  return true;
}

command_reader::state command_reader::next(std::vector<std::string_view>& words, std::string& error) {
  words.clear();
  std::size_t at = used_;
  std::string_view head;
  if (!line(at, head)) {
    return state::more;
  }
  if (head.starts_with('*')) {
    return read_array(head, at, words, error);
  }
  split(head, words);
  used_ = at;
  return state::whole;
}

command_reader::state command_reader::read_array(std::string_view head, std::size_t at,
                                                 std::vector<std::string_view>& words, std::string& error) {
  const auto count = integer_in(head.substr(1));
  if (!count || *count > most_words) {
    error = "ERR Protocol error: invalid multibulk length";
    return state::broken;
  }
  for (std::int64_t i = 0; i < *count; ++i) {
    std::string_view size_line;
    if (!line(at, size_line)) {
      return state::more;
    }
    if (!size_line.starts_with('$')) {
      error = "ERR Protocol error: expected '$', got '" + std::string(size_line.substr(0, 1)) + "'";
      return state::broken;
    }
    const auto size = integer_in(size_line.substr(1));
    if (!size || *size < 0 || *size > longest_word) {
      error = "ERR Protocol error: invalid bulk length";
      return state::broken;
    }
    const auto length = static_cast<std::size_t>(*size);
    if (bytes_.size() < at + length + 2) {
      return state::more;
    }
    words.push_back(std::string_view(bytes_).substr(at, length));
    at += length + 2;
  }
  used_ = at;
  return state::whole;
}

void command_reader::compact() {
  bytes_.erase(0, used_);
  used_ = 0;
}

}  // namespace cremone::sim
