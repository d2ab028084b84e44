// SPDX-License-Identifier: Apache-2.0
#include "support/resp.hpp"

#include <cstdlib>

namespace cremone::test {

namespace {

/// What stands between `from` and the next end of line; moves `from` behind that.
std::optional<std::string_view> line_at(std::string_view bytes, std::size_t& from) {
  const auto end = bytes.find("\r\n", from);
  if (end == std::string_view::npos) {
    return std::nullopt;
  }
  const std::string_view line = bytes.substr(from, end - from);
  from = end + 2;
  return line;
}

std::optional<resp> message_at(std::string_view bytes, std::size_t& from);

bool read_items(resp& into, std::string_view bytes, std::size_t& from) {
  for (std::int64_t i = 0; i < into.number; ++i) {
    auto item = message_at(bytes, from);
    if (!item) {
      return false;
    }
    into.items.push_back(std::move(*item));
  }
  return true;
}

std::optional<resp> message_at(std::string_view bytes, std::size_t& from) {
  const auto line = line_at(bytes, from);
  if (!line) {
    return std::nullopt;
  }
  resp made;
  made.type = line->empty() ? '+' : line->front();
  made.text = line->empty() ? "" : std::string(line->substr(1));
  switch (made.type) {
    case '+':
    case '-': return made;
    case ':':
    case '$':
    case '*': break;
    default: made.type = '+'; return made;
  }
  made.number = std::strtoll(made.text.c_str(), nullptr, 10);
  if (made.type == ':') {
    return made;
  }
  made.null = made.number < 0;
  made.text.clear();
  if (made.type == '*') {
    return read_items(made, bytes, from) ? std::optional(std::move(made)) : std::nullopt;
  }
  if (made.null) {
    return made;
  }
  const auto size = static_cast<std::size_t>(made.number);
  if (bytes.size() < from + size + 2) {
    return std::nullopt;
  }
  made.text = std::string(bytes.substr(from, size));
  from += size + 2;
  return made;
}

}  // namespace

std::vector<std::string> resp::texts() const {
  std::vector<std::string> all;
  for (const resp& item : items) {
    all.push_back(item.text);
  }
  return all;
}

std::string resp::shown() const {
  if (null) {
    return "(nil)";
  }
  if (type == '*') {
    std::string all;
    for (const resp& item : items) {
      all += (all.empty() ? "" : ", ") + item.shown();
    }
    return "[" + all + "]";
  }
  return is_error() ? "(error) " + text : text;
}

std::optional<resp> parse_resp(std::string_view bytes, std::size_t& used) {
  std::size_t from = 0;
  auto made = message_at(bytes, from);
  if (made) {
    used = from;
  }
  return made;
}

std::string resp_command(const std::vector<std::string>& words) {
  std::string bytes = "*" + std::to_string(words.size()) + "\r\n";
  for (const std::string& word : words) {
    bytes += "$" + std::to_string(word.size()) + "\r\n" + word + "\r\n";
  }
  return bytes;
}

}  // namespace cremone::test
