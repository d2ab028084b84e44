// SPDX-License-Identifier: Apache-2.0
//
// Marks in a MariaDB database: reads its URL, as libmariadb reads none, and connects.
#include "base/password.hpp"
#include "base/reading.hpp"
#include "base/text.hpp"
#include "fence/open_parts.hpp"

#include <cremone/fence_mariadb.hpp>

#include <errmsg.h>
#include <mysql.h>
#include <mysqld_error.h>

#include <algorithm>
#include <cstdlib>

namespace cremone::fence {

namespace {

struct server {
  std::string host{};
  unsigned port = 0;  // 0: not said
  std::string socket{};
  std::string user{};
  std::string password{};
  std::string database{};
};

error bad(std::string detail) { return {errc::invalid_argument, std::move(detail)}; }

result<void> read_host(const url& u, server& into) {
  std::string_view rest = u.authority;
  if (rest.starts_with('[')) {
    const auto end = rest.find(']');
    if (end == std::string_view::npos) {
      return bad("the URL's host has a '[' without a ']'");
    }
    into.host = rest.substr(1, end - 1);
    rest.remove_prefix(end + 1);
  } else {
    into.host = rest.substr(0, rest.find(':'));
    rest.remove_prefix(std::min(rest.find(':'), rest.size()));
  }
  if (rest.empty()) {
    return {};
  }
  const auto port = rest.starts_with(':') ? whole_number<std::uint16_t>(rest.substr(1)) : std::nullopt;
  if (!port || *port == 0) {
    return bad("the port in the URL must be a number from 1 to 65535, as in " + u.scheme +
               "://user@localhost:3306/shop");
  }
  into.port = *port;
  return {};
}

result<server> read_url(const url& u) {
  if (auto fine = u.allow_only({"password_file", "password_env", "socket"}); !fine) {
    return fine.error();
  }
  server to;
  if (auto fine = read_host(u, to); !fine) {
    return fine.error();
  }
  if (const auto socket = u.options.find("socket"); socket != u.options.end()) {
    to.socket = socket->second;
  }
  to.user = u.user;
  to.database = u.path.substr(std::min<std::size_t>(1, u.path.size()));
  if (to.database.empty() || to.database.find('/') != std::string::npos) {
    return bad(u.scheme + ":// needs the name of a database, as in " + u.scheme + "://user@localhost/shop");
  }
  if (!to.socket.empty() && (to.port != 0 || (!to.host.empty() && to.host != "localhost"))) {
    return bad("the URL names a server and by ?socket= a socket of this machine; keep one");
  }
  if (to.host.empty() && to.socket.empty()) {
    return bad(u.scheme + ":// needs a host or ?socket=PATH, as in " + u.scheme + "://user@localhost/shop");
  }
  auto password = password_of(u, "", u.password);
  if (!password) {
    return password.error();
  }
  to.password = std::move(*password);
  if (const char* const usual = std::getenv("MYSQL_PWD"); to.password.empty() && usual != nullptr) {
    to.password = usual;
  }
  return to;
}

void set_options(MYSQL* connection, const server& to) {
  const auto connect = static_cast<unsigned>(connect_patience.count());
  const auto answer = static_cast<unsigned>(answer_patience.count());
  ::mysql_options(connection, MYSQL_OPT_CONNECT_TIMEOUT, &connect);
  ::mysql_options(connection, MYSQL_OPT_READ_TIMEOUT, &answer);
  ::mysql_options(connection, MYSQL_OPT_WRITE_TIMEOUT, &answer);
  ::mysql_options(connection, MYSQL_SET_CHARSET_NAME, "utf8mb4");
  const std::string seconds = std::to_string(lock_patience.count());
  const std::string patience =
      "SET SESSION innodb_lock_wait_timeout = " + seconds + ", lock_wait_timeout = " + seconds;
  ::mysql_options(connection, MYSQL_INIT_COMMAND, patience.c_str());
  if (to.port != 0) {  // else the library takes the usual socket for "localhost"
    const unsigned tcp = MYSQL_PROTOCOL_TCP;
    ::mysql_options(connection, MYSQL_OPT_PROTOCOL, &tcp);
  }
}

errc meaning(unsigned number) {
  switch (number) {
    case ER_ACCESS_DENIED_ERROR:
    case ER_ACCESS_DENIED_NO_PASSWORD_ERROR:
    case ER_DBACCESS_DENIED_ERROR:
    case ER_HOST_NOT_PRIVILEGED:
    case ER_HOST_IS_BLOCKED:
    case CR_AUTH_PLUGIN_CANNOT_LOAD: return errc::access_denied;
    case ER_BAD_DB_ERROR: return errc::misconfigured;
    default: return errc::unreachable;
  }
}

const char* or_null(const std::string& text) { return text.empty() ? nullptr : text.c_str(); }

}  // namespace

opened_marks open_mariadb(const destination& where) {
  const auto to = read_url(where.parts);
  if (!to) {
    return to.error();
  }
  const std::shared_ptr<MYSQL> connection(::mysql_init(nullptr), ::mysql_close);
  if (!connection) {
    return error(errc::unreachable, "MariaDB: no memory for a connection");
  }
  set_options(connection.get(), *to);
  if (::mysql_real_connect(connection.get(), or_null(to->host), or_null(to->user), to->password.c_str(),
                           to->database.c_str(), to->port, or_null(to->socket), 0) == nullptr) {
    const unsigned number = ::mysql_errno(connection.get());
    return error(meaning(number), "MariaDB: " + one_line(::mysql_error(connection.get())) + " (" +
                                      std::to_string(number) + ")");
  }
  return std::unique_ptr<mark_store>(
      std::make_unique<sql_marks>(connection, mariadb(connection.get()), where.how.table));
}

}  // namespace cremone::fence
