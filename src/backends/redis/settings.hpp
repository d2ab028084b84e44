// SPDX-License-Identifier: Apache-2.0
//
// What a URL says about one Redis server: where it is, as whom to log in, which database and which keys. Decides what
// is a proper URL; opens nothing.
#pragma once

#include "base/transport.hpp"
#include "base/url.hpp"

#include <cremone/result.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace cremone::redis {

struct node_settings {
  endpoint where;
  std::string user;
  std::string password;  ///< never to be shown
  int db = 0;
  std::string prefix = "cremone";  ///< of the keys and channels that are not locks themselves

  /// For messages: where, without anything that is secret.
  std::string node;
  std::string store;  ///< the URL likewise
};

/// redis://[user[:password]@]host[:port][/db], rediss:// likewise, redis+unix:///path. Options: layout, prefix, db,
/// password_file, password_env; with TLS also ca, cert, key, server_name. *invalid_argument* or *misconfigured* name
/// what is wrong.
[[nodiscard]] result<node_settings> parse_settings(const url& u);

}  // namespace cremone::redis
