// SPDX-License-Identifier: Apache-2.0
//
// Everything but the async face (which brings Boost.Asio: include <cremone/async.hpp> for that), and `open`.
#pragma once

#include <cremone/client.hpp>
#include <cremone/lease.hpp>
#include <cremone/mutex.hpp>
#include <cremone/options.hpp>
#include <cremone/record.hpp>
#include <cremone/result.hpp>
#include <cremone/types.hpp>

#include <string_view>

namespace cremone {

/// Opens a store.
///
/// | URL             | store                                                                               |
/// |-----------------|-------------------------------------------------------------------------------------|
/// | `memory://NAME` | within this process; clients with the same NAME (or none) share it. No options.       |
///
/// Fails with *invalid_argument* (not a URL, a scheme or an option that this build does not have: the message names
/// it and what there is) and *misconfigured* (the system has no descriptor or thread left for it).
///
///     auto locks = cremone::open("memory://").value();
[[nodiscard]] result<client> open(std::string_view url_text = {});

}  // namespace cremone
