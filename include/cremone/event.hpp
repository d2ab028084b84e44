// SPDX-License-Identifier: Apache-2.0
//
// What a client reports about its store without being asked: events that no caller caused and that
// an operator wants to know. The library reacts to most of them by itself. After *warning* and
// *foreign_lock* locks may not exclude each other until an operator removes the cause. After
// *quarantined* no lock is granted for a while; if the message says that the quarantine does not
// end by itself, an operator must end it.
#pragma once

#include <cremone/callback.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace cremone {

enum class event_kind : std::uint8_t {
  not_connected,  ///< a server could not be reached, or let nobody in, from the beginning; it is tried again and again
  connected,            ///< and now it does
  connection_lost,      ///< a server cannot be reached any more; it is tried again and again
  connection_restored,  ///< and now it can
  quarantined,          ///< a server has forgotten, or may have: it gives out no lock for a while
  admitted,             ///< and now it does again
  clock_step,           ///< a server's wall clock was set
  /// This client removed a hold, because its holder was silent for the whole ttl.
  evicted,
  observing,  ///< a try observes a hold that looks abandoned (acquire_options::take_over_abandoned)
  warning,    ///< the server is set up in a way that may cost locks; `cremone doctor` says more
  /// A key on the same server looks like a lock of the same name in another layout, or of another
  /// program. The two do not exclude each other. Checked once per name and client, for the first
  /// 1,024 names; best effort.
  foreign_lock,
};

/// "no connection", "connected", "connection lost", …
[[nodiscard]] std::string_view to_string(event_kind k) noexcept;

struct store_event {
  event_kind what{};
  std::string message;  ///< one line for people: names the server, no secrets in it
};

/// How to open a store.
struct open_options {
  /// Called for each event, one at a time, on a thread of the client's own, where it may take its time; never after
  /// the client was closed. Must not throw.
  ///
  ///     auto locks = cremone::open("memory://", {.on_event = [](const cremone::store_event& e) {
  ///       report(e.message);
  ///     }});
  callback<void(const store_event&)> on_event{};
};

}  // namespace cremone
