// SPDX-License-Identifier: Apache-2.0
#include "backends/redis/rights.hpp"

#include "base/text.hpp"

namespace cremone::redis {

std::string acl_rule(std::string_view right, layout l, std::string_view prefix) {
  if (right == right_to_keys && l == layout::classic) {
    return "~*";  // its locks have the names that users give them
  }
  if (right == right_to_keys) {
    return "~" + std::string(prefix) + ":*";
  }
  if (right == right_to_channels) {
    return "&" + std::string(prefix) + (l == layout::classic ? ":classic:*" : ":wake:*");
  }
  return "+" + printable(right);
}

std::optional<std::string> denied_right(std::string_view error_reply) {
  static constexpr std::string_view before = " run the '";
  if (error_reply.starts_with("ERR The user executing the script can't")) {
    return std::string();
  }
  if (!error_reply.starts_with("NOPERM") && !error_reply.starts_with("ERR ACL failure in script")) {
    return std::nullopt;
  }
  if (const auto at = error_reply.find(before); at != std::string_view::npos) {
    const std::string_view rest = error_reply.substr(at + before.size());
    return std::string(rest.substr(0, rest.find('\'')));
  }
  // "… to access one of the keys used as arguments", since Redis 7.2 "… to access a key".
  const auto at = error_reply.find(" access ");
  const std::string_view rest = at == std::string_view::npos ? std::string_view() : error_reply.substr(at);
  if (rest.find("channel") != std::string_view::npos) {
    return std::string(right_to_channels);
  }
  return rest.find("key") != std::string_view::npos ? std::string(right_to_keys) : std::string();
}

std::string acl_user(std::string_view user) { return user.empty() ? "default" : printable(user); }

std::string lacking_text(std::string_view server, const node_settings& to,
                         const std::vector<std::string>& rights) {
  std::string text = std::string(server) +
                     ": its ACL denies this user what the lock needs; grant it: ACL SETUSER " +
                     acl_user(to.user);
  for (const std::string& right : rights) {
    text += " " + acl_rule(right, to.layout, to.prefix);
  }
  return text;
}

}  // namespace cremone::redis
