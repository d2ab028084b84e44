// SPDX-License-Identifier: Apache-2.0
//
// A line reads `cremone-fence 1 turn 17 token 41 idle check 9ae16a3b2f90404f`, or with `append INODE BEFORE LENGTH LEAD STEP SUM...`
// for `idle`.
#include "fence/file_slots.hpp"

#include "base/reading.hpp"

#include <array>
#include <charconv>

namespace cremone::fence {

namespace {

constexpr std::string_view first_word = "cremone-fence";
constexpr std::string_view version = "1";

std::string hex(std::uint64_t n) {
  std::array<char, 16> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), n, 16).ptr;
  return {digits.data(), end};
}

/// The words of a line one after the other. What is missing or no number is told at the end.
class words {
 public:
  explicit words(std::string_view line) noexcept : rest_(line) {}

  std::string_view next() noexcept { return cut(rest_, ' '); }
  std::uint64_t number(int base = 10) noexcept {
    const auto n = whole_number<std::uint64_t>(next(), base);
    fine_ = fine_ && n.has_value();
    return n.value_or(0);
  }
  [[nodiscard]] bool at(std::string_view beginning) const noexcept { return rest_.starts_with(beginning); }
  [[nodiscard]] bool fine() const noexcept { return fine_; }

 private:
  std::string_view rest_;
  bool fine_ = true;
};

}  // namespace

void checksum::add(std::string_view bytes) noexcept {
  constexpr std::uint64_t prime = 1099511628211U;
  for (const char byte : bytes) {
    value_ = (value_ ^ static_cast<unsigned char>(byte)) * prime;
  }
}

std::string encode(const slot& s) {
  std::string line(first_word);
  line += " ";
  line += version;
  line += " turn " + std::to_string(s.turn) + " token " + std::to_string(s.token.value());
  if (s.begun) {
    line += " append " + std::to_string(s.begun->inode) + " " + std::to_string(s.begun->before) + " " +
            std::to_string(s.begun->length) + " " + hex(s.begun->lead) + " " + std::to_string(s.begun->step);
    for (const std::uint64_t sum : s.begun->sums) {
      line += " " + hex(sum);
    }
  } else {
    line += " idle";
  }
  checksum sum;
  sum.add(line);
  line += " check " + hex(sum.value()) + " ";
  line.resize(slot_size - 1, ' ');
  return line + '\n';
}

std::optional<slot> decode(std::string_view bytes) {
  if (bytes.size() != slot_size) {
    return std::nullopt;
  }
  words line(bytes);
  slot s;
  (void)line.next();  // cremone-fence
  (void)line.next();  // the version; both are compared at the end, with all the rest
  (void)line.next();
  s.turn = line.number();
  (void)line.next();
  s.token = fence_token(line.number());
  if (line.next() == "append") {
    slot::addition begun;
    begun.inode = line.number();
    begun.before = line.number();
    begun.length = line.number();
    begun.lead = line.number(16);
    begun.step = line.number();
    while (line.fine() && !line.at(" ") && !line.at("check ")) {
      begun.sums.push_back(line.number(16));
    }
    if (begun.step == 0) {
      return std::nullopt;
    }
    s.begun = std::move(begun);
  }
  return line.fine() && encode(s) == bytes ? std::optional(s) : std::nullopt;
}

bool resembles_slots(std::string_view bytes) noexcept {
  return bytes.starts_with(first_word) ||
         bytes.substr(bytes.size() < slot_size ? bytes.size() : slot_size).starts_with(first_word);
}

}  // namespace cremone::fence
