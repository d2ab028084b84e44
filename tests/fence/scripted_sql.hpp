// SPDX-License-Identifier: Apache-2.0
//
// A database that answers what it is told to, and remembers what it was asked: for answers that a real one gives too seldom.
#pragma once

#include <cremone/fence_sql.hpp>

#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace cremone::test {

/// What it says and has heard, which outlives the connection.
struct sql_script {
  std::deque<result<fence::sql_answer>> answers{};
  std::vector<std::string> asked{};
  bool open = false;  ///< a transaction: BEGIN and its like open one, COMMIT and ROLLBACK end it
  result<void> shape{};
  int examined = 0;

  void say(std::int64_t changed) { answers.emplace_back(fence::sql_answer{.changed = changed}); }
  void give(std::vector<fence::sql_value> row) {
    answers.emplace_back(fence::sql_answer{.changed = 0, .first = std::move(row)});
  }
  void fail(errc code) { answers.emplace_back(error(code, "the scripted failure")); }
};

class scripted_sql final : public fence::sql_connection {
 public:
  scripted_sql(fence::sql_dialect dialect, sql_script& script) : dialect_(dialect), script_(script) {}

  [[nodiscard]] fence::sql_dialect dialect() const noexcept override { return dialect_; }
  [[nodiscard]] std::string name() const override { return "the scripted database"; }

  [[nodiscard]] result<void> in_transaction() const override {
    return script_.open ? result<void>() : error(errc::misconfigured, "no transaction is open");
  }

  [[nodiscard]] result<fence::sql_answer> execute(const fence::sql_statement& what) override {
    script_.asked.push_back(what.text);
    if (script_.answers.empty()) {
      ADD_FAILURE() << "no answer was foreseen to: " << what.text;
      return error(errc::protocol_error, "no answer");
    }
    auto answer = std::move(script_.answers.front());
    script_.answers.pop_front();
    if (answer && (what.text.starts_with("BEGIN") || what.text.starts_with("START"))) {
      script_.open = true;
    } else if (answer && (what.text == "COMMIT" || what.text == "ROLLBACK")) {
      script_.open = false;
    }
    return answer;
  }

  [[nodiscard]] result<void> examine(std::string_view /*table*/) override {
    ++script_.examined;
    return script_.shape;
  }

 private:
  fence::sql_dialect dialect_;
  sql_script& script_;
};

}  // namespace cremone::test
