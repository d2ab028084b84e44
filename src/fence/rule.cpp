// SPDX-License-Identifier: Apache-2.0
//
// The words of <cremone/fence.hpp>: what is a token, what is a name, and what is said to one who comes too late. The rule itself is
// in the header, so that whoever applies it, the simulator's resource too, uses the same lines.
#include "base/reading.hpp"
#include "base/text.hpp"

#include <cremone/fence.hpp>

#include <algorithm>
#include <cstdlib>

namespace cremone::fence {

namespace {

error bad(std::string detail) { return {errc::invalid_argument, std::move(detail)}; }

/// What was given as a token may be anything, and long.
std::string shown(std::string_view text) {
  constexpr std::size_t most = 40;
  return "'" + printable(text.substr(0, most)) + (text.size() > most ? "…'" : "'");
}

}  // namespace

result<void> check_token(fence_token token, std::uint64_t limit) {
  if (token.value() == 0) {
    return bad(
        "0 is no fence token: the lease it is from was released or never held, or its store gives none");
  }
  if (token.value() >= limit) {
    return bad("fence token " + std::to_string(token.value()) +
               " is too great to be kept here; the greatest is " + std::to_string(limit - 1));
  }
  return {};
}

result<void> check_resource(const resource_name& resource) {
  const std::string& text = resource.str();
  if (text.empty()) {
    return bad("the resource's name is empty");
  }
  if (const std::size_t at = find_control(text); at != std::string::npos) {
    return bad("the resource's name has a control character (byte " +
               std::to_string(static_cast<unsigned char>(text[at])) + ") at position " + std::to_string(at));
  }
  if (text.size() > resource_name::max_size) {
    return bad("the resource's name has " + std::to_string(text.size()) + " bytes; at most " +
               std::to_string(resource_name::max_size) + " are allowed (it begins '" + text.substr(0, 24) +
               "')");
  }
  return {};
}

error stale(std::string_view where, fence_token presented, fence_token highest) {
  return {errc::stale_token,
          std::string(where) + " has seen token " + std::to_string(highest.value()) + ", and " +
              std::to_string(presented.value()) +
              " is older: the lock was lost to a later holder. Nothing was written; do not try "
              "again with this token"};
}

result<fence_token> parse_token(std::string_view text) {
  const bool digits =
      !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (!digits) {
    return bad("a fence token is a number such as CREMONE_TOKEN has under `cremone run`, and " + shown(text) +
               " is none");
  }
  const auto number = whole_number<std::uint64_t>(text);
  if (!number || *number >= token_limit) {
    return bad("fence token " + shown(text) + " is too great; it must be below 2^63");
  }
  const fence_token token(*number);
  if (const auto fine = check_token(token); !fine) {
    return fine.error();
  }
  return token;
}

result<fence_token> token_from_environment() {
  const char* const text = std::getenv("CREMONE_TOKEN");
  if (text == nullptr) {
    return error(errc::not_held, "CREMONE_TOKEN is not set: run this under `cremone run NAME -- …`");
  }
  if (*text == '\0') {
    return error(
        errc::not_held,
        "CREMONE_TOKEN is empty: this lock's store gives no tokens (Redlock with layout=classic does not); "
        "use another store, or mark-then-check");
  }
  auto token = parse_token(text);
  if (!token) {
    return error(token.error().code(), "CREMONE_TOKEN: " + token.error().detail());
  }
  return token;
}

}  // namespace cremone::fence
