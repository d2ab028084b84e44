// SPDX-License-Identifier: Apache-2.0
//
// The wire format of Redis (RESP2), as far as tests read and write it themselves: to look into a server behind the
// library's back, to stand in for one, and to know where in a stream a reply ends. Independent of the library's own
// parser, which is what is tested.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cremone::test {

/// One message of either direction.
struct resp {
  char type = '$';  ///< '+' status, '-' error, ':' number, '$' bulk, '*' array
  std::string text{};
  std::int64_t number = 0;
  bool null = false;
  std::vector<resp> items{};

  [[nodiscard]] bool is_error() const noexcept { return type == '-'; }
  /// The items' texts: a command as it was sent, or a list of keys.
  [[nodiscard]] std::vector<std::string> texts() const;
  /// For messages: "OK", "(error) ERR …", "(nil)", "[a, b]".
  [[nodiscard]] std::string shown() const;
};

/// The first message of `bytes`, and in `used` how long it is; nothing as long as it is not whole. What is no RESP at
/// all is taken for a status that ends with its line.
[[nodiscard]] std::optional<resp> parse_resp(std::string_view bytes, std::size_t& used);

/// A command as clients send it.
[[nodiscard]] std::string resp_command(const std::vector<std::string>& words);

}  // namespace cremone::test
