// SPDX-License-Identifier: Apache-2.0
//
// What the layouts have in common: how a reply or the lack of one is put into the words of the seam. Knows no script.
#pragma once

#include "backends/redis/limits.hpp"
#include "backends/redis/node.hpp"

#include <cremone/backend.hpp>

#include <cstdint>
#include <optional>
#include <string_view>

namespace cremone::redis {

/// What the order of an owner's requests goes by.
[[nodiscard]] std::uint64_t number_of(const owner_id& owner) noexcept;

/// A token as the scripts write it.
[[nodiscard]] std::optional<fence_token> token_in(const reply& r);

/// The server's time as the scripts write it.
[[nodiscard]] std::optional<wall_time> time_in(const reply& r);

[[nodiscard]] answer as_answer(failure&& f);

/// The same for a failed acquire.
[[nodiscard]] acquire_answer as_acquire_answer(failure&& f);

/// Why a question that changes nothing brought no answer: there is nothing to be in doubt about.
[[nodiscard]] error unanswered(failure&& f);

/// A script's reply that no server of ours gives.
[[nodiscard]] error nonsense(std::string_view node, std::string_view script, const reply& r);

}  // namespace cremone::redis
