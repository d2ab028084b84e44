// SPDX-License-Identifier: Apache-2.0
//
// Sentences for people: who holds a lock, why an acquire failed. Pure text, no decisions.
#pragma once

#include <cremone/backend.hpp>
#include <cremone/record.hpp>
#include <cremone/result.hpp>

#include <chrono>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace cremone::detail {

/// Why a quarantine with amnesia=strict does not end by itself.
inline constexpr std::string_view too_few_remember =
    "too few servers remember which tokens were granted, and amnesia=strict leaves the decision to "
    "an operator";

/// How many these are: where several servers vote, one owner is there once for each vote.
[[nodiscard]] std::size_t count_owners(std::span<const hold_record> holders);

/// "250 ms", "2 s", "1.5 s"
[[nodiscard]] std::string describe_time(std::chrono::milliseconds t);

/// "web1 pid 4711 user deploy ('nightly report') since 2026-11-15T21:42:07Z"; without the user or the time where they are
/// not known.
[[nodiscard]] std::string describe_owner(const owner_data& who);

/// The same of a holder, which may be another program: "another program, which left 'f3a9'". Then, where the store
/// lets holds expire: ", expires in 12.3 s unless renewed" or ", does not expire".
[[nodiscard]] std::string describe_holder(const hold_record& holder);

/// "lock 'nightly' at redis://db looks abandoned: its holder web1 pid 4711 has not renewed for 41.2
/// s by the store's clock; observing it for 30.0 s before taking over". `hold` looks abandoned; it
/// can be evicted after `span` more.
[[nodiscard]] std::string describe_observation(const lock_name& name, const std::string& store,
                                               const hold_record& hold, std::chrono::milliseconds span);

/// Adds to a failure what the caller needs to act on it: the lock, the store, who is in the way, the time spent.
/// `silent`: for how long the one who is in the way has been seen not to renew; it is mentioned when that is longer than
/// a holder that lives would be silent, so that the caller learns what waiting would do.
[[nodiscard]] error describe_failure(const error& why, const acquire_request& request,
                                     const rejection& last_no, const std::string& store, wall_time now,
                                     std::optional<std::chrono::nanoseconds> silent = std::nullopt);

}  // namespace cremone::detail
