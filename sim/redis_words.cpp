// SPDX-License-Identifier: Apache-2.0
#include "sim/redis_words.hpp"

#include "backends/redis/digest.hpp"
#include "backends/redis/scripts.hpp"
#include "base/reading.hpp"

#include <cstddef>

namespace cremone::sim {

namespace {

constexpr std::size_t owner_size = 40;
constexpr std::size_t shown_of_owner = 6;
constexpr std::size_t longest_word = 60;

bool is_owner(std::string_view w) {
  return w.size() == owner_size && w.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

/// One line of it.
std::string shown_word(std::string_view w) {
  if (w.empty()) {
    return "''";
  }
  std::string text;
  std::string_view rest = w.substr(0, w.find('\n'));
  while (!rest.empty()) {
    const std::string_view part = cut(rest, ' ');
    text += (text.empty() ? "" : " ") + std::string(is_owner(part) ? part.substr(0, shown_of_owner) : part);
  }
  if (text.size() > longest_word) {
    text = text.substr(0, longest_word) + "..";
  }
  for (char& c : text) {
    c = c < ' ' ? '.' : c;
  }
  return text.find(' ') == std::string::npos ? text : "'" + text + "'";
}

std::string shown_value(std::string_view& rest) {
  const std::string line(cut(rest, '\n'));
  if (line.size() < 2) {
    return "?";
  }
  const std::string_view body = std::string_view(line).substr(1, line.size() - 2);
  const auto size = whole_number<std::size_t>(body);
  switch (line[0]) {
    case '$': {
      if (!size || *size + 2 > rest.size()) {
        return "nil";
      }
      const std::string_view text = rest.substr(0, *size);
      rest.remove_prefix(*size + 2);
      return shown_word(text);
    }
    case '*': {
      std::string all = "{";
      for (std::size_t i = 0; i < size.value_or(0) && !rest.empty(); ++i) {
        all += (i == 0 ? "" : ", ") + shown_value(rest);
      }
      return all + "}";
    }
    default: return std::string(body);
  }
}

}  // namespace

void add_script_names(script_names& to, const std::string& run_id) {
  const redis::record_book book(run_id + "." + std::string(owner_size, '0') + ".0", 0);
  for (std::size_t i = 0; i < redis::record_script_count; ++i) {
    const auto which = static_cast<redis::record_script>(i);
    to.insert_or_assign(book.at(which).sha, std::string(redis::name_of(which)));
  }
  const redis::classic_scripts& c = redis::scripts();
  for (const redis::script* s : {&c.grant, &c.release, &c.renew, &c.force, &c.inspect, &c.pick, &c.rights}) {
    to.insert_or_assign(s->sha, std::string(s->name));
  }
}

std::string shown_command(std::span<const std::string_view> words, const script_names& names) {
  std::string text;
  std::size_t from = 0;
  if (words.size() > 2 && (words[0] == "EVALSHA" || words[0] == "EVAL")) {
    const std::string sha = words[0] == "EVAL" ? redis::sha1_hex(words[1]) : std::string(words[1]);
    const auto known = names.find(sha);
    text = (words[0] == "EVAL" ? "(with text) " : "") +
           (known == names.end() ? sha.substr(0, shown_of_owner) : known->second);
    from = 4;  // the first key is the marker, which all have
  }
  for (std::size_t i = from; i < words.size(); ++i) {
    text += (text.empty() ? "" : " ") + shown_word(words[i]);
  }
  return text;
}

std::string shown_reply(std::string_view resp) { return shown_value(resp); }

}  // namespace cremone::sim
