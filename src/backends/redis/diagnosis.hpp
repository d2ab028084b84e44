// SPDX-License-Identifier: Apache-2.0
//
// Is this Redis server a good place for locks? From what it says of itself and what was measured to one verdict for each
// subject, with the reason and what to do. Asks nobody: examination.hpp does that. What is not safe at all refuses the
// use when a store is opened; what is only a risk is told.
#pragma once

#include "backends/redis/info.hpp"
#include "backends/redis/settings.hpp"

#include <cremone/finding.hpp>
#include <cremone/result.hpp>

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace cremone::redis {

/// For what the server is to be used.
struct purpose {
  std::string node;  ///< as in messages
  redis::layout layout = layout::record;
  std::string user;  ///< empty: the default user
  std::string prefix = "cremone";
  std::chrono::milliseconds max_ttl{60'000};
  std::chrono::milliseconds ttl{30'000};  ///< of the leases that are to be kept alive
  std::size_t voters = 1;                 ///< how many servers vote on each lock, this one among them
  bool sentinel = false;                  ///< sentinels may promote a replica in its place
};

[[nodiscard]] purpose purpose_of(const node_settings& to);

/// The server's wall clock minus ours lies between these: a reply says when it was made only to within its round trip.
struct clock_offset {
  std::chrono::microseconds least{};
  std::chrono::microseconds most{};
};

/// Why a command of ours was not carried out.
struct refusal {
  bool by_acl = false;  ///< a right lacks
  std::string why;      ///< names the server
};

/// What was found out.
struct evidence {
  server_facts facts{};
  bool info_told = true;                                  ///< INFO was answered
  bool config_told = true;                                ///< CONFIG GET was
  std::map<std::string, refusal, std::less<>> refused{};  ///< by command: INFO, CONFIG, TIME, PING
  std::optional<clock_offset> clock{};
  std::vector<std::chrono::microseconds> pings{};  ///< round trips
  std::size_t unanswered = 0;                      ///< questions of any kind that got no answer in time
  /// What the lock needs and the ACL denies: commands, and `right_to_keys`, `right_to_channels`. Empty: could not be asked.
  std::optional<std::vector<std::string>> denied{};
  std::string rights_untold{};                   ///< why some of them could not be tried, if so
  std::optional<quarantine_state> quarantine{};  ///< where the layout knows it
  bool perhaps_unused = false;                   ///< nobody can tell yet whether there is one
  std::optional<std::string> twin{};             ///< another name by which the same server votes too
};

/// One finding per subject, always in this order: version, mode, role, eviction, memory, persistence, replicas, clock,
/// latency, rights; identity, if it votes twice; and quarantine, if that is known.
[[nodiscard]] std::vector<finding> diagnose(const purpose& p, const evidence& seen);

/// What a look at the names in use found, in the layout `record`.
struct layout_evidence {
  std::size_t names = 0;  ///< how many were checked
  bool denied = false;    ///< the ACL user may not read keys of other programs
  /// Names that are also another program's lock; not yet printable.
  std::set<std::string> shared{};
  std::string example{};  ///< the message about one of them
};

/// The finding `layout`, in the layout `record` only.
[[nodiscard]] finding judge_layout(const purpose& p, const layout_evidence& seen);

/// Why locks must not be kept there at all, if so, *misconfigured*: a cluster or a Sentinel, a replica, eviction of any key,
/// a version that is too old for the layout. What the server does not tell refuses nothing.
[[nodiscard]] std::optional<error> fit_for_use(const purpose& p, const server_facts& facts);

/// A line for those who use it all the same.
struct risk {
  std::string subject;
  std::string text;  ///< names the server
};

/// What may cost locks, of these subjects: eviction, memory, persistence, replicas.
[[nodiscard]] std::vector<risk> warnings(const purpose& p, const server_facts& facts);

}  // namespace cremone::redis
