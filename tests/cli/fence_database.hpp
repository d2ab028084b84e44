// SPDX-License-Identifier: Apache-2.0
//
// A database for the tests of `fence`: where it is, and a way to do something in it behind the tool's back. One program per kind; each
// has the tests in fence_database_test.cpp.
#pragma once

#include <memory>
#include <string>

namespace cremone::test {

class fence_database {
 public:
  fence_database() = default;
  fence_database(const fence_database&) = delete;
  fence_database& operator=(const fence_database&) = delete;
  virtual ~fence_database() = default;

  [[nodiscard]] virtual std::string url() const = 0;
  /// As messages call it: "PostgreSQL".
  [[nodiscard]] virtual std::string kind() const = 0;

  /// One statement. Throws when the database does not like it.
  virtual void execute(const std::string& statement) = 0;

  /// Takes it away: from now on nobody answers.
  virtual void stop() = 0;
  /// What the tool ends with then.
  [[nodiscard]] virtual int code_when_gone() const { return 69; }
};

/// Defined once in each program. A database that does not start throws, which fails the test.
[[nodiscard]] std::unique_ptr<fence_database> make_fence_database();

}  // namespace cremone::test
