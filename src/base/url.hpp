// SPDX-License-Identifier: Apache-2.0
//
// Takes a store's URL apart: scheme://[user[:password]@]authority[/path][?key=value&…]. Knows the syntax, not
// which schemes or options exist. Our own, because one URL may name several host:port pairs, which RFC 3986 and
// the libraries that follow it do not allow.
#pragma once

#include <cremone/result.hpp>

#include <initializer_list>
#include <map>
#include <string>
#include <string_view>

namespace cremone {

struct url {
  std::string scheme;  ///< lower case
  std::string user;    ///< percent-decoded, as are password, path and options
  std::string password;
  bool bare_at = false;   ///< user or password has an '@' that is not percent-encoded
  std::string authority;  ///< what stands between "//" (and user) and the path, as written
  std::string path;       ///< with its leading '/', or empty
  std::map<std::string, std::string> options;

  /// For messages: scheme and authority, never user, password or options.
  [[nodiscard]] std::string shown() const;

  /// Refuses any option that is not among these, naming it and the one that was meant, else all of them.
  [[nodiscard]] result<void> allow_only(std::initializer_list<std::string_view> known) const;
};

/// A path as it stands in a URL: percent-encoded where it has to be, so that parse_url gives it back.
[[nodiscard]] std::string url_path(std::string_view path);

/// *invalid_argument* says what is wrong, without repeating what may be a password.
[[nodiscard]] result<url> parse_url(std::string_view text);

}  // namespace cremone
