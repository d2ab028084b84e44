// SPDX-License-Identifier: Apache-2.0
#include "backends/redis/answers.hpp"

#include "base/reading.hpp"

#include <cstring>
#include <string>
#include <utility>

namespace cremone::redis {

std::uint64_t number_of(const owner_id& owner) noexcept {
  std::uint64_t n = 0;
  std::memcpy(&n, owner.raw().data(), sizeof n);
  return n;
}

std::optional<fence_token> token_in(const reply& r) {
  const auto n = r.is(reply::kind::text) ? whole_number<std::uint64_t>(r.text) : std::nullopt;
  if (!n || *n == 0 || *n >= fence_token::limit) {
    return std::nullopt;
  }
  return fence_token(*n);
}

std::optional<wall_time> time_in(const reply& r) {
  const auto t = token_in(r);  // both count microseconds, below the same limit
  return t ? std::optional(wall_time(std::chrono::microseconds(t->value()))) : std::nullopt;
}

answer as_answer(failure&& f) {
  if (f.nothing_done) {
    return refused{std::move(f.why)};
  }
  return unknown{std::move(f.why)};
}

acquire_answer as_acquire_answer(failure&& f) {
  if (f.nothing_done) {
    return rejection{.why = std::move(f.why)};
  }
  return unknown{std::move(f.why)};
}

error unanswered(failure&& f) {
  return f.why == errc::outcome_unknown ? error(errc::unreachable, f.why.detail()) : std::move(f.why);
}

error nonsense(std::string_view node, std::string_view script, const reply& r) {
  return {errc::protocol_error, std::string(node) + " answered the script '" + std::string(script) +
                                    "' with " + shape_of(r) + ", which makes no sense"};
}

}  // namespace cremone::redis
