// SPDX-License-Identifier: Apache-2.0
//
// What the kinds of open_marks share: one function per kind of URL, and marks in a database whatever its name. Which URL goes where is
// decided in open.cpp.
#pragma once

#include "base/url.hpp"
#include "fence/open.hpp"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

namespace cremone::fence {

// Time limits of a command that a person or a script waits for. Each one is longer than the one
// before it, so that the party that knows most about a delay reports it.

/// MariaDB: connect and login. PostgreSQL: the same, for each address. Redis: name lookup and
/// connect. Most networks answer within a second, or not at all.
inline constexpr std::chrono::seconds connect_patience{5};
/// The database waits this long for another transaction on the same resource.
inline constexpr std::chrono::seconds lock_patience{10};
/// The database ends a statement that takes longer than this.
inline constexpr std::chrono::seconds statement_patience{15};
/// The tool gives up a connection whose call is not answered within this time.
inline constexpr std::chrono::seconds answer_patience{20};

/// What is to be opened: the URL as it was given, but its scheme in small letters, and its parts.
struct destination {
  std::string text;
  url parts;
  open_options how;
};

using opened_marks = result<std::unique_ptr<mark_store>>;

[[nodiscard]] opened_marks open_sqlite(const destination& where);
[[nodiscard]] opened_marks open_postgres(const destination& where);
[[nodiscard]] opened_marks open_mariadb(const destination& where);
[[nodiscard]] opened_marks open_redis(const destination& where);

/// Shuts a socket down when a call takes longer than answer_patience. A C library waits without end
/// for a server that accepts requests and answers nothing, or sends a byte now and then. The
/// destructor ends the watch. Threads: one of its own.
class answer_limit {
 public:
  explicit answer_limit(int socket);
  answer_limit(const answer_limit&) = delete;
  answer_limit& operator=(const answer_limit&) = delete;
  ~answer_limit() = default;

  /// The answer of the call. If the call took too long, the error says so and keeps its code.
  template <class T>
  [[nodiscard]] result<T> judge(result<T> answer, const std::string& name) const {
    if (answer || !passed_) {
      return answer;
    }
    return error(answer.error().code(), too_late(name));
  }

 private:
  [[nodiscard]] static std::string too_late(const std::string& name);

  std::atomic<bool> passed_ = false;
  std::mutex mutex_;
  std::condition_variable_any over_;
  std::jthread watch_;  // last: it uses the others
};

/// A database over its connection, which it keeps open for as long as it lives.
class sql_marks : public mark_store {
 public:
  sql_marks(std::shared_ptr<void> connection, std::unique_ptr<sql_connection> over, const std::string& table)
      : connection_(std::move(connection)), name_(over->name()), gate_(std::move(over), table) {}

  [[nodiscard]] std::string name() const override { return name_; }
  [[nodiscard]] result<void> check(const resource_name& resource, fence_token token) override {
    return gate_.transact(resource, token, [] { return result<void>(); });
  }
  [[nodiscard]] result<fence_token> highest(const resource_name& resource) override {
    return gate_.highest(resource);
  }
  [[nodiscard]] result<void> create() override { return gate_.create(); }

 protected:
  [[nodiscard]] sql_gate& gate() noexcept { return gate_; }

 private:
  std::shared_ptr<void> connection_;  // first, because it goes last
  std::string name_;
  sql_gate gate_;
};

/// A library's message, which may have several lines, as one.
[[nodiscard]] std::string one_line(std::string_view message);

}  // namespace cremone::fence
