// SPDX-License-Identifier: Apache-2.0
//
// What an error of Redis means to one who writes behind the fence, and what to do about it. A table of beginnings; knows no connection.
#include "base/reading.hpp"
#include "base/text.hpp"

#include <cremone/fence_redis.hpp>

#include <array>

namespace cremone::fence {

namespace {

struct known {
  std::string_view begins;
  errc code;
  std::string_view advice;
};

constexpr std::string_view acl =
    "its ACL denies this user what a fenced write needs: EVALSHA and EVAL, GET and SET at the mark's key, "
    "DEL too "
    "or else a failed first write leaves a mark of 0, and the command itself at the data's keys";
constexpr std::string_view cluster =
    "in Redis Cluster give the resource and its keys a common {hash tag}, and connect to the node that has "
    "its slot";

constexpr std::array table = {
    known{"BADTOKEN", errc::invalid_argument, "the script refused the token"},
    known{"BADKEY", errc::invalid_argument, "the script refused a key"},
    known{"TOOMANY", errc::invalid_argument, "the script refused so many at once"},
    known{"BADMARK", errc::misconfigured,
          "the mark was left as it is. Find out who wrote there, or use another prefix"},
    known{"WRONGTYPE", errc::invalid_argument, "a key holds another type than this command writes"},
    known{"ERR Error compiling script", errc::invalid_argument, "the script is no Lua"},
    known{"ERR invalid expire", errc::invalid_argument, "the time to live is too long"},
    known{"NOAUTH", errc::access_denied, "the connection has to authenticate first"},
    known{"WRONGPASS", errc::access_denied, "user or password is wrong, or the user is disabled"},
    known{"NOPERM", errc::access_denied, acl},
    known{"ERR The user executing the script can't", errc::access_denied, acl},
    known{"ERR ACL failure in script", errc::access_denied, acl},  // Redis 7.2 and later
    known{"OOM", errc::storage_error, "it has no memory left; raise maxmemory or make room"},
    known{"READONLY", errc::storage_error, "it is a replica; connect to the master"},
    known{"MISCONF", errc::storage_error, "it cannot write to its disk and takes no writes"},
    known{"NOREPLICAS", errc::storage_error, "it has fewer replicas than min-replicas-to-write asks for"},
    known{"LOADING", errc::busy, "it is still loading its data; try again"},
    known{"BUSY", errc::busy, "it is busy with somebody's script; try again, SCRIPT KILL may end it"},
    known{"MASTERDOWN", errc::storage_error, "it is a replica that has lost its master"},
    known{"TRYAGAIN", errc::busy, "the slot of these keys is being moved; try again"},
    known{"CLUSTERDOWN", errc::misconfigured, "the cluster does not serve this slot; see CLUSTER INFO"},
    known{"CROSSSLOT", errc::misconfigured, cluster},
    known{"MOVED", errc::misconfigured, cluster},
    known{"ASK", errc::misconfigured, cluster},
    known{"ERR unknown command", errc::misconfigured,
          "it does not know EVALSHA or EVAL; fenced writes need them"},
};

/// Before version 7 a script's errors come with where in the script they arose, and their own minus sign:
/// "ERR Error running script (call to f_…): @user_script: 3: -OOM command not allowed …".
std::string_view bare(std::string_view said) {
  if (said.starts_with("ERR Error running script")) {
    const auto at = said.find("): ");
    said.remove_prefix(at == std::string_view::npos ? 0 : at + 3);
  }
  while (said.starts_with("@user_script:")) {
    const auto at = said.find(": ", std::string_view("@user_script: ").size());
    if (at == std::string_view::npos) {
      break;
    }
    said.remove_prefix(at + 2);
  }
  if (said.starts_with('-')) {
    said.remove_prefix(1);
  }
  return said;
}

std::string quoted(std::string_view said) {
  constexpr std::size_t enough = 300;
  return " (" + printable(said.substr(0, enough)) + ")";
}

/// A word must be whole: BUSY is not BUSYGROUP. A longer beginning may end anywhere.
bool is(std::string_view said, std::string_view begins) {
  return said.starts_with(begins) && (begins.find(' ') != std::string_view::npos ||
                                      said.size() == begins.size() || said[begins.size()] == ' ');
}

error understood(std::string_view said, const std::string& where, std::string_view then) {
  for (const known& k : table) {
    if (is(said, k.begins)) {
      return {k.code, where + ": " + std::string(then) + std::string(k.advice) + quoted(said)};
    }
  }
  return {errc::protocol_error,
          where + ": " + std::string(then) + "it answered with an error" + quoted(said)};
}

}  // namespace

error read_redis_error(std::string_view said, const resource_name& resource, std::string_view where) {
  const std::string place = "resource '" + printable(resource.str()) + "' in " + std::string(where);
  said = bare(said);
  std::string_view rest = said;
  const std::string_view word = cut(rest, ' ');
  if (word == "STALE") {
    const auto presented = whole_number<std::uint64_t>(cut(rest, ' '));
    const auto highest = whole_number<std::uint64_t>(cut(rest, ' '));
    if (presented && highest) {
      return stale(place, fence_token(*presented), fence_token(*highest));
    }
  }
  if (word == "UNDONE") {
    return understood(bare(rest), place,
                      "the script ended before it had done anything, nothing was written: ");
  }
  if (word == "PARTLY") {
    return understood(
        bare(rest), place,
        "the script ended with an error after some of its commands, what they wrote is there and "
        "the token is remembered: ");
  }
  return understood(said, place, "");
}

}  // namespace cremone::fence
