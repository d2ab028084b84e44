// SPDX-License-Identifier: Apache-2.0
//
// What a URL says about one Redis server: where it is or who knows that, as whom to log in, which database and which keys.
// Decides what is a proper URL; opens nothing.
#pragma once

#include "base/transport.hpp"
#include "base/url.hpp"

#include <cremone/result.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cremone::redis {

/// How locks are kept in the server.
enum class layout : std::uint8_t {
  record,   ///< a record of our own for each: the strongest guarantee
  classic,  ///< the published lock, shared with other programs
};

/// Those who know which server is the master, and what they call it.
struct sentinel_settings {
  std::vector<endpoint> at;  ///< never empty; in the order of the URL
  std::string master;
  std::string user;
  std::string password;  ///< never to be shown
};

struct node_settings {
  endpoint where;  ///< with sentinels only how to speak TLS: they say where
  std::optional<sentinel_settings> sentinels{};
  redis::layout layout = layout::record;
  std::string user;
  std::string password;  ///< never to be shown
  int db = 0;
  std::string prefix = "cremone";  ///< of all keys and channels but the locks of `classic`
  /// The longest ttl, and how long a server that may have forgotten gives out no lock. All who use a prefix must agree on
  /// it, so that it is fixed for the usual prefix.
  std::chrono::milliseconds max_ttl{60'000};

  /// How many servers vote on each lock, this one among them.
  std::size_t voters = 1;
  /// Which these are, for those that must agree on it. Empty for one.
  std::string ring{};
  /// When too many have forgotten at once, only a person lets them go on.
  bool strict = false;

  /// For messages: where, without anything that is secret. With sentinels "mymaster via host:26379", for as long as it is
  /// not known which server that is.
  std::string node;
  std::string store;  ///< the URL likewise, with the options that decide which locks these are
};

/// redis://[user[:password]@]host[:port][/db], rediss:// likewise, redis+unix:///path, and with user and password of the servers
/// redis+sentinel://[user[:password]@]host[:port][,host[:port]...]/master, rediss+sentinel:// likewise. Options: layout, prefix,
/// max_ttl (with a prefix of its own), db, password_file, password_env; with TLS also ca, cert, key, server_name; with sentinels
/// also sentinel_user, sentinel_password_file, sentinel_password_env. *invalid_argument* or *misconfigured* name what is wrong.
[[nodiscard]] result<node_settings> parse_settings(const url& u);

/// What is wrong with a list of which each has a user or password of its own, or with an '@' in a password.
[[nodiscard]] std::string several_logins(const std::string& scheme);

/// Several servers that vote on each lock.
struct ring_settings {
  std::vector<node_settings> nodes;  ///< in the order of the URL
  std::string store;                 ///< for messages, as above
};

/// redlock://[user[:password]@]host[:port],host[:port],...[/db] and redlocks:// with TLS: the same user, database and options for all.
/// redlock:///path names a file with one redis:// or rediss:// URL in each line, each with what is its own (user, database, passwords,
/// certificates); empty lines and those that begin with '#' do not count. Options as above, and ring, amnesia.
[[nodiscard]] result<ring_settings> parse_ring(const url& u);

}  // namespace cremone::redis
