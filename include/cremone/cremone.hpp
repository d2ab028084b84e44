// SPDX-License-Identifier: Apache-2.0
//
// Everything but the async face (which brings Boost.Asio: include <cremone/async.hpp> for that), and `open`.
#pragma once

#include <cremone/client.hpp>
#include <cremone/event.hpp>
#include <cremone/finding.hpp>
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
/// | URL               | store                                                                             |
/// |-------------------|-----------------------------------------------------------------------------------|
/// | none, `sqlite://` | `locks.db` in the state directory: `$CREMONE_STATE_DIR`; else for root `/var/lib/cremone`, for others `$XDG_STATE_HOME/cremone` or `~/.local/state/cremone` |
/// | `sqlite:///path`  | that file, for all processes of this machine that can write to it. No options.   |
/// | `redis://HOST`    | one Redis server. `rediss://` with TLS, `redis+unix:///path` by its socket, `redis+sentinel://HOST,HOST/MASTER` and `rediss+sentinel://` find it. Options: docs/redis.md |
/// | `memory://NAME`   | within this process; clients with the same NAME (or none) share it. No options.   |
///
/// Fails with *invalid_argument* (not a URL, a scheme or an option that this build does not have: the message names
/// it and what there is), *misconfigured*, *access_denied* and *storage_error* (the file, its directory or its disk
/// cannot be used: the message says why and what to do; or the system has no descriptor or thread left).
///
///     auto locks = cremone::open().value();
[[nodiscard]] result<client> open(std::string_view url_text = {}, open_options options = {});

}  // namespace cremone
