// SPDX-License-Identifier: Apache-2.0
//
// What Redis's error replies mean for a lock: which of our codes, what the user is to do, and whether anything may
// have been done. Knows texts, not connections.
#pragma once

#include "backends/redis/settings.hpp"

#include <cremone/result.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace cremone::redis {

struct complaint {
  errc code = errc::protocol_error;
  /// Redis refuses these before the first write of a command or script: nothing was done. Anything else may have been
  /// said in the middle.
  bool nothing_done = false;
  /// A script was stopped by the ACL, and Redis does not say at which command.
  bool rights_unnamed = false;
  /// What the ACL denies; see denied_right().
  std::optional<std::string> lacks{};
  std::string detail;
};

/// `node`: for the message, "127.0.0.1:6379". Without `quoting` the server's own words are left out: an answer to AUTH
/// may repeat the password.
[[nodiscard]] complaint understand(std::string_view error_reply, std::string_view node, bool quoting = true);

/// The same for what was asked as these settings say: where a right lacks, the detail tells how to grant it.
[[nodiscard]] complaint understand(std::string_view error_reply, std::string_view node,
                                   const node_settings& to, bool quoting = true);

/// Was the script not known to the server? Then it was not run.
[[nodiscard]] bool is_noscript(std::string_view error_reply) noexcept;

/// What an error reply says about its server where there are sentinels, so that another one may be the master by now.
enum class standing : std::uint8_t {
  fine,
  doubtful,   ///< a master that has lost its replicas: perhaps one of them has taken over
  no_master,  ///< a replica
};

/// But for `fine` nothing was done.
[[nodiscard]] standing standing_of(std::string_view error_reply) noexcept;

}  // namespace cremone::redis
