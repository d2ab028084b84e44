// SPDX-License-Identifier: Apache-2.0
//
// What the kinds of open_marks share: one function per kind of URL, and marks in a database whatever its name. Which URL goes where is
// decided in open.cpp.
#pragma once

#include "base/url.hpp"
#include "fence/open.hpp"

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace cremone::fence {

// A command that a person or a script waits for. Whoever is away for longer than this is told from one who is slow.
inline constexpr std::chrono::seconds connect_patience{5};
inline constexpr std::chrono::seconds answer_patience{30};
/// For another's transaction on the same resource; below answer_patience, so that the database says so itself.
inline constexpr std::chrono::seconds lock_patience{10};

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
