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
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <optional>

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

constexpr unsigned usual_port = 3306;  // libmariadb's, unless MYSQL_TCP_PORT says otherwise

/// For messages: "MariaDB at db1:3306".
std::string place_of(const server& to) {
  if (!to.socket.empty()) {
    return "MariaDB at " + to.socket;
  }
  if (to.port == 0 && to.host == "localhost") {
    return "MariaDB at the usual socket of localhost";
  }
  const std::string host = to.host.find(':') == std::string::npos ? to.host : "[" + to.host + "]";
  return "MariaDB at " + printable(host) + ":" + std::to_string(to.port == 0 ? usual_port : to.port);
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
      "SET SESSION innodb_lock_wait_timeout = " + seconds + ", lock_wait_timeout = " + seconds +
      " /*M! , max_statement_time = " + std::to_string(statement_patience.count()) + " */";  // not in MySQL
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

/// Connects and logs in within connect_patience; only name lookup has another limit, that of the
/// system's resolver. libmariadb's own timeouts begin again with each byte that the server sends.
/// Returns nothing, or the reason of the failure.
std::optional<error> connect(MYSQL* connection, const server& to) {
  using clock = std::chrono::steady_clock;
  const auto deadline = clock::now() + connect_patience;
  ::mysql_options(connection, MYSQL_OPT_NONBLOCK, nullptr);
  MYSQL* made = nullptr;
  bool late = false;
  int waits =
      ::mysql_real_connect_start(&made, connection, or_null(to.host), or_null(to.user), to.password.c_str(),
                                 to.database.c_str(), to.port, or_null(to.socket), 0);
  while (waits != 0) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - clock::now()).count();
    pollfd one{.fd = static_cast<int>(::mysql_get_socket(connection)), .events = 0, .revents = 0};
    one.events = static_cast<short>(((waits & MYSQL_WAIT_READ) != 0 ? POLLIN : 0) |
                                    ((waits & MYSQL_WAIT_WRITE) != 0 ? POLLOUT : 0));
    late = late || (left <= 0 || ::poll(&one, 1, static_cast<int>(left)) == 0);
    if (late) {  // then the library finds the connection closed, and ends by itself
      ::shutdown(one.fd, SHUT_RDWR);
    }
    waits = ::mysql_real_connect_cont(&made, connection, waits & ~MYSQL_WAIT_TIMEOUT);
  }
  if (made != nullptr) {
    return std::nullopt;
  }
  if (late) {
    return error(errc::unreachable, place_of(to) + ": no connection within " +
                                        std::to_string(connect_patience.count()) +
                                        " s; check the address, and that the server runs");
  }
  const unsigned number = ::mysql_errno(connection);
  return error(meaning(number), place_of(to) + ": " + one_line(::mysql_error(connection)) + " (" +
                                    std::to_string(number) + ")");
}

class mariadb_marks final : public sql_marks {
 public:
  mariadb_marks(const std::shared_ptr<MYSQL>& connection, const std::string& table)
      : sql_marks(connection, mariadb(connection.get()), table), connection_(connection) {}

  [[nodiscard]] result<void> check(const resource_name& resource, fence_token token) override {
    const answer_limit limit(socket());
    return limit.judge(sql_marks::check(resource, token), name());
  }
  [[nodiscard]] result<fence_token> highest(const resource_name& resource) override {
    const answer_limit limit(socket());
    return limit.judge(sql_marks::highest(resource), name());
  }
  [[nodiscard]] result<void> create() override {
    const answer_limit limit(socket());
    return limit.judge(sql_marks::create(), name());
  }

 private:
  [[nodiscard]] int socket() const { return static_cast<int>(::mysql_get_socket(connection_.get())); }

  std::shared_ptr<MYSQL> connection_;
};

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
  if (const auto why = connect(connection.get(), *to)) {
    return *why;
  }
  return std::unique_ptr<mark_store>(std::make_unique<mariadb_marks>(connection, where.how.table));
}

}  // namespace cremone::fence
