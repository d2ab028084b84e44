// SPDX-License-Identifier: Apache-2.0
#include "backends/redis/errors.hpp"

#include "backends/redis/rights.hpp"
#include "base/text.hpp"

#include <array>

namespace cremone::redis {

namespace {

struct known {
  std::string_view begins;  // of the error reply
  errc code;
  bool nothing_done;
  std::string_view advice;
};

// Longer beginnings before shorter ones that they share.
constexpr std::array table = {
    known{"NOAUTH", errc::access_denied, true,
          "it wants a password: redis://:PASSWORD@host, or ?password_file=FILE, or ?password_env=NAME"},
    known{"WRONGPASS", errc::access_denied, true, "user or password is wrong, or the user is disabled"},
    known{"ERR invalid password", errc::access_denied, true, "the password is wrong"},
    known{"ERR Client sent AUTH", errc::access_denied, true, "it has no password; leave ours away"},
    known{"ERR AUTH", errc::access_denied, true, "it has no password; leave ours away"},
    known{"NOPERM", errc::access_denied, true, "its ACL denies this user what the lock needs"},
    known{"ERR The user executing the script can't", errc::access_denied, false,
          "its ACL denies this user what the lock needs"},
    known{"ERR ACL failure in script", errc::access_denied, false,
          "its ACL denies this user what the lock needs"},  // Redis 7.2 and later
    known{"OOM", errc::storage_error, true, "it has no memory left; raise maxmemory or make room"},
    known{"MISCONF", errc::storage_error, true, "it cannot write its snapshot to disk and takes no writes"},
    known{"NOREPLICAS", errc::storage_error, true,
          "it has fewer replicas than min-replicas-to-write asks for"},
    known{"READONLY", errc::misconfigured, true, "it is a replica; name the master in the URL"},
    known{"MOVED", errc::misconfigured, true, "it is part of a Redis Cluster, which is not supported"},
    known{"ASK", errc::misconfigured, true, "it is part of a Redis Cluster, which is not supported"},
    known{"CROSSSLOT", errc::misconfigured, true, "it is part of a Redis Cluster, which is not supported"},
    known{"CLUSTERDOWN", errc::misconfigured, true, "it is part of a Redis Cluster, which is not supported"},
    known{"WRONGTYPE", errc::misconfigured, true,
          "something that is no lock stands at a key that the lock needs; it was left as it is"},
    known{"LOADING", errc::unreachable, true, "it is still loading its data"},
    known{"BUSY", errc::unreachable, true, "it is busy with a script of somebody's; SCRIPT KILL ends it"},
    known{"MASTERDOWN", errc::unreachable, true, "it is a replica that has lost its master"},
    known{"ERR max number of clients", errc::unreachable, true, "it has no room for one more client"},
    known{"ERR DB index", errc::invalid_argument, true, "there is no database of this number"},
    known{"ERR invalid DB index", errc::invalid_argument, true, "there is no database of this number"},
    known{"ERR unknown command", errc::misconfigured, true, "it does not know a command that the lock needs"},
};

}  // namespace

complaint understand(std::string_view error_reply, std::string_view node, bool quoting) {
  constexpr std::size_t enough = 200;
  const std::string_view words =
      error_reply.substr(0, error_reply.find(", with args beginning with"));  // our script
  const std::string said = quoting ? " (" + printable(words.substr(0, enough)) + ")" : "";
  for (const known& k : table) {
    if (error_reply.starts_with(k.begins)) {
      return {.code = k.code,
              .nothing_done = k.nothing_done,
              .rights_unnamed = k.code == errc::access_denied && !k.nothing_done,
              .lacks = denied_right(error_reply),
              .detail = std::string(node) + ": " + std::string(k.advice) + said};
    }
  }
  return {.detail = std::string(node) + " answered with an error" + said};
}

complaint understand(std::string_view error_reply, std::string_view node, const node_settings& to,
                     bool quoting) {
  complaint said = understand(error_reply, node, quoting);
  if (said.lacks && !said.lacks->empty()) {
    said.detail = lacking_text(node, to, {*said.lacks});
  }
  return said;
}

bool is_noscript(std::string_view error_reply) noexcept { return error_reply.starts_with("NOSCRIPT"); }

standing standing_of(std::string_view error_reply) noexcept {
  // Redis 6 wraps what a script meets in an error of the script's own.
  const bool wrapped = error_reply.starts_with("ERR Error running script");
  const auto says = [&](std::string_view begins, std::string_view within) {
    return error_reply.starts_with(begins) || (wrapped && error_reply.find(within) != std::string_view::npos);
  };
  if (says("READONLY", " -READONLY ") || says("MASTERDOWN", " -MASTERDOWN ")) {
    return standing::no_master;
  }
  return says("NOREPLICAS", " -NOREPLICAS ") ? standing::doubtful : standing::fine;
}

}  // namespace cremone::redis
