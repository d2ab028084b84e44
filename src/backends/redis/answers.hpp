// SPDX-License-Identifier: Apache-2.0
//
// What the layouts have in common: how long an answer may take, and how a reply or the lack of one is put into the words
// of the seam. Knows no script.
#pragma once

#include "backends/redis/node.hpp"

#include <cremone/backend.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>

namespace cremone::redis {

/// For answers that no ttl bounds.
inline constexpr std::chrono::milliseconds longest_limit{1000};

/// How long the answer about a lock of this ttl may take: a third, so that the next attempt still fits in. At least 100 ms,
/// the shortest ttl, of which nothing is left then: machines stall for 50 ms, and a try that gives up so soon fails for nothing.
[[nodiscard]] std::chrono::milliseconds answer_limit(std::chrono::milliseconds ttl);

/// What the order of an owner's requests goes by.
[[nodiscard]] std::uint64_t number_of(const owner_id& owner) noexcept;

/// A whole number that is the whole text.
[[nodiscard]] std::optional<std::uint64_t> number_in(std::string_view text);

/// A token as the scripts write it.
[[nodiscard]] std::optional<fence_token> token_in(const reply& r);

[[nodiscard]] answer as_answer(failure&& f);

/// The same for a failed acquire.
[[nodiscard]] acquire_answer as_acquire_answer(failure&& f);

/// Why a question that changes nothing brought no answer: there is nothing to be in doubt about.
[[nodiscard]] error unanswered(failure&& f);

/// A script's reply that no server of ours gives.
[[nodiscard]] error nonsense(std::string_view node, std::string_view script, const reply& r);

}  // namespace cremone::redis
