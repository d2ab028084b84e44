// SPDX-License-Identifier: Apache-2.0
//
// Marks in a PostgreSQL database. libpq reads the URL itself, so that all of its own ways to give a server, a password or a certificate
// work here too: PGPASSWORD, ~/.pgpass, PGSSLMODE, sslmode= and the others.
#include "base/reading.hpp"
#include "base/text.hpp"
#include "fence/open_parts.hpp"

#include <cremone/fence_postgres.hpp>

#include <libpq-fe.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <future>
#include <iterator>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

namespace cremone::fence {

namespace {

/// Secrets that others see in the command line have better places. Of one with an '@', libpq would take a part for the host, and
/// name it. An '@' behind the third slash makes a password the name of a database.
result<void> refuse_open_secrets(const url& u, std::string_view text) {
  if (u.authority.empty() && text.substr(0, text.find('?')).find('@') != std::string_view::npos) {
    return error(errc::invalid_argument,
                 "the URL has an '@' behind three slashes; user and host stand behind two, as in "
                 "postgres://user@localhost/shop. In the name of a database write %40 for the '@'");
  }
  if (u.bare_at) {
    return error(errc::invalid_argument,
                 "the URL's user or password has an '@' that is not percent-encoded; write %40 for it");
  }
  for (const auto* const secret : {"password", "sslpassword"}) {
    if (u.options.contains(secret)) {
      return error(errc::invalid_argument,
                   "?" + std::string(secret) +
                       "= stands in the open for others on this machine; use PGPASSWORD, ~/.pgpass or "
                       "?passfile=FILE");
    }
  }
  return {};
}

/// libpq finds out about a port only when it connects, and then as if nobody answered there. What stands in its place may be a
/// password, where the host was forgotten.
result<void> check_ports(std::string_view list) {
  while (!list.empty()) {
    const std::string_view one = cut(list, ',');
    const auto port = whole_number<std::uint16_t>(one);
    if (!one.empty() && (!port || *port == 0)) {
      return error(errc::invalid_argument,
                   "the port in the URL must be a number from 1 to 65535, as in "
                   "postgres://user@localhost:5432/shop");
    }
  }
  return {};
}

/// parse_url() has seen to it that no '%' of a password is wrong, which libpq would quote.
result<void> check_text(const std::string& text) {
  char* message = nullptr;
  const std::unique_ptr<PQconninfoOption, void (*)(PQconninfoOption*)> read(
      ::PQconninfoParse(text.c_str(), &message), ::PQconninfoFree);
  const std::unique_ptr<char, void (*)(void*)> kept(message, ::PQfreemem);
  for (const auto* option = read.get(); option != nullptr && option->keyword != nullptr; ++option) {
    if (std::string_view(option->keyword) == "port" && option->val != nullptr) {
      return check_ports(option->val);
    }
  }
  if (read) {
    return {};
  }
  return error(errc::invalid_argument,
               "the URL: " + (message == nullptr ? "libpq cannot read it" : one_line(message)));
}

/// What libpq is told: the URL, and before it, so that it wins, what is usual here.
class parameters {
 public:
  explicit parameters(const std::string& url) {
    add("fallback_application_name", "cremone");
    add("client_encoding", "UTF8");
    add("tcp_user_timeout", std::to_string(std::chrono::milliseconds(answer_patience).count()));
    if (std::getenv("PGCONNECT_TIMEOUT") == nullptr) {
      add("connect_timeout", std::to_string(connect_patience.count()));
    }
    add("dbname", url);
  }

  [[nodiscard]] PGconn* connect() const { return ::PQconnectdbParams(keys().data(), values().data(), 1); }
  [[nodiscard]] PGPing ping() const { return ::PQpingParams(keys().data(), values().data(), 1); }

 private:
  void add(const char* key, std::string value) { all_.emplace_back(key, std::move(value)); }
  [[nodiscard]] std::vector<const char*> keys() const {
    std::vector<const char*> list;
    std::transform(all_.begin(), all_.end(), std::back_inserter(list), [](const auto& p) { return p.first; });
    list.push_back(nullptr);
    return list;
  }
  [[nodiscard]] std::vector<const char*> values() const {
    std::vector<const char*> list;
    std::transform(all_.begin(), all_.end(), std::back_inserter(list),
                   [](const auto& p) { return p.second.c_str(); });
    list.push_back(nullptr);
    return list;
  }

  std::vector<std::pair<const char*, std::string>> all_;
};

/// The five letters and digits at the end of a message that has only them, else nothing.
std::string sqlstate_in(std::string_view message) {
  constexpr std::size_t length = 5;
  message.remove_suffix(message.size() - std::min(message.find_last_not_of(" \n") + 1, message.size()));
  const std::string_view last = message.substr(message.find_last_of(" \n") + 1);
  const bool fits = last.size() == length && last.find_first_of("0123456789") != std::string_view::npos &&
                    std::all_of(last.begin(), last.end(),
                                [](char c) { return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z'); });
  return fits ? std::string(last) : std::string();
}

errc meaning(const std::string& sqlstate) {
  if (sqlstate.starts_with("28") || sqlstate == "42501") {
    return errc::access_denied;
  }
  return sqlstate == "3D000" ? errc::misconfigured : errc::unreachable;
}

/// Why there is no connection. What the server says to people is in its own language; what it says to programs comes only when
/// asked for. So it is asked once more.
result<void> ask_again(const parameters& to, PGconn* connection) {
  const std::string said = "PostgreSQL: " + one_line(::PQerrorMessage(connection));
  if (::PQconnectionNeedsPassword(connection) != 0) {
    return error(errc::access_denied, said);
  }
  const PGPing there = to.ping();
  if (there == PQPING_NO_ATTEMPT) {
    return error(errc::invalid_argument, said);
  }
  if (there == PQPING_NO_RESPONSE) {
    return error(errc::unreachable, said);
  }
  ::PQsetErrorVerbosity(connection, PQERRORS_SQLSTATE);
  ::PQreset(connection);
  if (::PQstatus(connection) == CONNECTION_OK) {  // it has come back meanwhile
    ::PQsetErrorVerbosity(connection, PQERRORS_DEFAULT);
    return {};
  }
  return error(meaning(sqlstate_in(::PQerrorMessage(connection))), said);
}

/// PostgreSQL waits for another transaction without end, unless a timeout is set. The timeouts are
/// set for one transaction alone: behind a pooler another client may get the session next.
class postgres_marks final : public sql_marks {
 public:
  postgres_marks(const std::shared_ptr<PGconn>& connection, const std::string& table)
      : sql_marks(connection, postgres(connection.get()), table),
        connection_(connection),
        words_(postgres(connection.get())) {}

  [[nodiscard]] result<void> check(const resource_name& resource, fence_token token) override {
    const answer_limit limit(::PQsocket(connection_.get()));
    return limit.judge(committed(begin_patiently() ? gate().check(resource, token) : begun_), name());
  }

  [[nodiscard]] result<fence_token> highest(const resource_name& resource) override {
    const answer_limit limit(::PQsocket(connection_.get()));
    auto seen = begin_patiently() ? gate().highest(resource) : result<fence_token>(begun_.error());
    static_cast<void>(say("ROLLBACK"));
    return limit.judge(std::move(seen), name());
  }

  [[nodiscard]] result<void> create() override {
    const answer_limit limit(::PQsocket(connection_.get()));
    return limit.judge(sql_marks::create(), name());
  }

 private:
  bool begin_patiently() {
    begun_ = say("BEGIN");
    if (begun_) {
      begun_ = say("SET LOCAL lock_timeout = '" + std::to_string(lock_patience.count()) + "s'");
    }
    if (begun_) {
      begun_ = say("SET LOCAL statement_timeout = '" + std::to_string(statement_patience.count()) + "s'");
    }
    return begun_.has_value();
  }

  result<void> committed(const result<void>& so_far) {
    if (!so_far) {
      static_cast<void>(say("ROLLBACK"));
      return so_far;
    }
    auto done = say("COMMIT");
    if (!done && done.error() == errc::unreachable) {
      return error(errc::outcome_unknown, done.error().detail());
    }
    return done;
  }

  result<void> say(const std::string& statement) {
    const auto answer = words_->execute({.text = statement});
    return answer ? result<void>() : answer.error();
  }

  std::shared_ptr<PGconn> connection_;
  std::unique_ptr<sql_connection> words_;
  result<void> begun_{};
};

using opened_connection = result<std::shared_ptr<PGconn>>;

/// Connects and logs in. libpq bounds the wait for each address, but not the length of a login.
opened_connection connect(const parameters& to) {
  const auto begun = std::chrono::steady_clock::now();
  const std::shared_ptr<PGconn> connection(to.connect(), ::PQfinish);
  if (!connection) {
    return error(errc::unreachable, "PostgreSQL: no memory for a connection");
  }
  if (::PQstatus(connection.get()) != CONNECTION_OK) {
    // A second attempt would take as long. libpq counts whole seconds, and may end one early.
    if (std::chrono::steady_clock::now() - begun >= connect_patience - std::chrono::seconds(1)) {
      return error(errc::unreachable, "PostgreSQL: " + one_line(::PQerrorMessage(connection.get())));
    }
    if (auto fine = ask_again(to, connection.get()); !fine) {
      return fine.error();
    }
  }
  ::PQsetNoticeProcessor(
      connection.get(), [](void*, const char*) {}, nullptr);  // "relation exists, skipping"
  return connection;
}

/// The same within answer_patience. A server that sends messages without end keeps libpq in its
/// login for ever. The tool ends soon after the failure, and the abandoned thread with it.
opened_connection connect_in_time(const parameters& to, const std::string& server) {
  const auto made = std::make_shared<std::promise<opened_connection>>();
  auto answer = made->get_future();
  std::thread([to, made] { made->set_value(connect(to)); }).detach();
  if (answer.wait_for(answer_patience) != std::future_status::ready) {
    return error(errc::unreachable, "PostgreSQL" + (server.empty() ? server : " at " + server) +
                                        ": no complete login within " +
                                        std::to_string(answer_patience.count()) +
                                        " s; does another kind of server answer at this address?");
  }
  return answer.get();
}

}  // namespace

opened_marks open_postgres(const destination& where) {
  if (auto fine = refuse_open_secrets(where.parts, where.text); !fine) {
    return fine.error();
  }
  if (auto fine = check_text(where.text); !fine) {
    return fine.error();
  }
  const auto connection = connect_in_time(parameters(where.text), printable(where.parts.authority));
  if (!connection) {
    return connection.error();
  }
  return std::unique_ptr<mark_store>(std::make_unique<postgres_marks>(*connection, where.how.table));
}

}  // namespace cremone::fence
