// SPDX-License-Identifier: Apache-2.0
#include "fence/pause_resources.hpp"

#include <cremone/fence_mariadb.hpp>
#include <cremone/fence_postgres.hpp>
#include <cremone/fence_redis.hpp>
#include <cremone/fence_sqlite.hpp>
#include <cremone/fenced_file.hpp>

#include <hiredis/hiredis.h>
#include <libpq-fe.h>
#include <mysql.h>
#include <sqlite3.h>

#include <fstream>
#include <iterator>
#include <optional>
#include <stdexcept>
#include <utility>

namespace cremone::test {

namespace {

constexpr const char* resource_name = "report";

template <class T, void (*Close)(T*)>
struct closer {
  void operator()(T* open) const noexcept { Close(open); }
};
template <class T, void (*Close)(T*)>
using owned = std::unique_ptr<T, closer<T, Close>>;

void close_sqlite(sqlite3* open) { ::sqlite3_close(open); }

error failed(const std::string& why) { return {errc::storage_error, why}; }

class in_a_file final : public written_text {
 public:
  explicit in_a_file(std::string path) : file_(std::move(path)) {}

  result<void> write(fence_token token, const std::string& text) override { return file_.write(token, text); }
  result<void> plain(const std::string& text) override {
    std::ofstream(file_.path()) << text;
    return {};
  }
  std::string read() override {
    std::ifstream in(file_.path());
    return {std::istreambuf_iterator<char>(in), {}};
  }

 private:
  fenced_file file_;
};

/// A row of a table. The texts of a story are one letter and one digit: they need no quotes around theirs.
class in_a_row : public written_text {
 public:
  result<void> write(fence_token token, const std::string& text) override {
    return gate().transact(resource_name, token, [&] { return plain(text); });
  }
  result<void> plain(const std::string& text) override {
    return run("UPDATE report SET body = '" + text + "' WHERE id = 1");
  }
  void prepare() override {
    for (const char* const sql : {"CREATE TABLE report (id INTEGER PRIMARY KEY, body VARCHAR(100) NOT NULL)",
                                  "INSERT INTO report VALUES (1, 'none')"}) {
      run(sql).value();
    }
    gate().create().value();
  }

 protected:
  virtual fence::sql_gate& gate() = 0;
  virtual result<void> run(const std::string& sql) = 0;
};

class in_sqlite final : public in_a_row {
 public:
  explicit in_sqlite(const std::string& path) {
    sqlite3* opened = nullptr;
    const int code = ::sqlite3_open(path.c_str(), &opened);
    database_.reset(opened);
    if (code != SQLITE_OK) {
      throw std::runtime_error("cannot open " + path);
    }
    ::sqlite3_busy_timeout(opened, 10'000);
    gate_.emplace(fence::sqlite(opened));
  }
  std::string read() override {
    std::string text;
    const auto keep = [](void* to, int, char** columns, char**) {
      *static_cast<std::string*>(to) = columns[0];
      return 0;
    };
    ::sqlite3_exec(database_.get(), "SELECT body FROM report", keep, &text, nullptr);
    return text;
  }

 private:
  fence::sql_gate& gate() override { return *gate_; }
  result<void> run(const std::string& sql) override {
    if (::sqlite3_exec(database_.get(), sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) {
      return failed(::sqlite3_errmsg(database_.get()));
    }
    return {};
  }

  owned<sqlite3, close_sqlite> database_;
  std::optional<fence::sql_gate> gate_;
};

class in_postgres final : public in_a_row {
 public:
  explicit in_postgres(const std::string& place)
      : connection_(::PQconnectdb(place.c_str())), gate_(fence::postgres(connection_.get())) {
    if (::PQstatus(connection_.get()) != CONNECTION_OK) {
      throw std::runtime_error(::PQerrorMessage(connection_.get()));
    }
  }
  std::string read() override {
    const owned<PGresult, ::PQclear> rows(::PQexec(connection_.get(), "SELECT body FROM report"));
    return ::PQntuples(rows.get()) == 1 ? ::PQgetvalue(rows.get(), 0, 0)
                                        : ::PQerrorMessage(connection_.get());
  }

 private:
  fence::sql_gate& gate() override { return gate_; }
  result<void> run(const std::string& sql) override {
    const owned<PGresult, ::PQclear> done(::PQexec(connection_.get(), sql.c_str()));
    if (::PQresultStatus(done.get()) != PGRES_COMMAND_OK) {
      return failed(::PQerrorMessage(connection_.get()));
    }
    return {};
  }

  owned<PGconn, ::PQfinish> connection_;
  fence::sql_gate gate_;
};

class in_mariadb final : public in_a_row {
 public:
  explicit in_mariadb(const std::string& port)
      : connection_(::mysql_init(nullptr)), gate_(fence::mariadb(connection_.get())) {
    if (::mysql_real_connect(connection_.get(), "127.0.0.1", "root", nullptr, "shop",
                             static_cast<unsigned>(std::stoul(port)), nullptr, 0) == nullptr) {
      throw std::runtime_error(::mysql_error(connection_.get()));
    }
  }
  std::string read() override {
    if (::mysql_query(connection_.get(), "SELECT body FROM report") != 0) {
      return ::mysql_error(connection_.get());
    }
    const owned<MYSQL_RES, ::mysql_free_result> rows(::mysql_store_result(connection_.get()));
    MYSQL_ROW first = ::mysql_fetch_row(rows.get());
    return first == nullptr ? "" : first[0];
  }

 private:
  fence::sql_gate& gate() override { return gate_; }
  result<void> run(const std::string& sql) override {
    if (::mysql_query(connection_.get(), sql.c_str()) != 0) {
      return failed(::mysql_error(connection_.get()));
    }
    return {};
  }

  owned<MYSQL, ::mysql_close> connection_;
  fence::sql_gate gate_;
};

class in_redis final : public written_text {
 public:
  explicit in_redis(const std::string& port)
      : connection_(::redisConnect("127.0.0.1", std::stoi(port))), gate_(connection_.get()) {
    if (connection_ == nullptr || connection_->err != 0) {
      throw std::runtime_error("no Redis at port " + port);
    }
  }
  result<void> write(fence_token token, const std::string& text) override {
    return gate_.set(resource_name, token, "report", text);
  }
  result<void> plain(const std::string& text) override {
    return ask("SET report " + text).empty() ? result<void>(failed("no answer")) : result<void>();
  }
  std::string read() override { return ask("GET report"); }

 private:
  std::string ask(const std::string& command) {
    void* const answer = ::redisCommand(connection_.get(), command.c_str());
    const std::unique_ptr<redisReply, decltype([](redisReply* r) { ::freeReplyObject(r); })> reply(
        static_cast<redisReply*>(answer));
    return reply == nullptr || reply->str == nullptr ? "" : std::string(reply->str, reply->len);
  }

  owned<redisContext, ::redisFree> connection_;
  fence::redis_gate gate_;
};

}  // namespace

std::unique_ptr<written_text> pause_resource(const std::string& kind, const std::string& place) {
  if (kind == "file") {
    return std::make_unique<in_a_file>(place);
  }
  if (kind == "sqlite") {
    return std::make_unique<in_sqlite>(place);
  }
  if (kind == "postgres") {
    return std::make_unique<in_postgres>(place);
  }
  if (kind == "mariadb") {
    return std::make_unique<in_mariadb>(place);
  }
  if (kind == "redis") {
    return std::make_unique<in_redis>(place);
  }
  throw std::runtime_error("no resource is called " + kind);
}

}  // namespace cremone::test
