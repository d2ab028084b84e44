// SPDX-License-Identifier: Apache-2.0
//
// A store of its own for each test of the tool, and the tool on it.
#pragma once

#include "cli/tool.hpp"
#include "support/wait_for.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <signal.h>

#include <iostream>
#include <string>
#include <vector>

namespace cremone::test {

class Tool : public ::testing::Test {
 protected:
  Tool() { begin_story(); }

  void TearDown() override {
    if (HasFailure()) {
      std::cout << story();
    }
  }

  [[nodiscard]] virtual std::string url() const { return "sqlite://" + dir.file("locks.db"); }

  /// The surroundings of this test's store.
  [[nodiscard]] surroundings here() const {
    return {.environment = {{"CREMONE_URL", url()}, {"CREMONE_STATE_DIR", dir.path()}, {"NO_COLOR", ""}}};
  }

  [[nodiscard]] static std::vector<std::string> cremone_words(const std::vector<std::string>& words) {
    std::vector<std::string> all = {CREMONE_TOOL};
    all.insert(all.end(), words.begin(), words.end());
    return all;
  }

  [[nodiscard]] finished cremone(const std::vector<std::string>& words) const {
    return run(cremone_words(words), here());
  }

  [[nodiscard]] nlohmann::json who(const std::string& name) const {
    return nlohmann::json::parse(cremone({"who", "--json", name}).out, nullptr, false);
  }

  /// Until a file has something in it: how a command tells that it runs.
  [[nodiscard]] static bool appears(const std::string& path) {
    return wait_for([&] { return !contents(path).empty(); });
  }

  temp_directory dir;
};

/// Takes a lock and keeps it until it goes. The lock is held when the constructor returns.
class holding {
 public:
  holding(const temp_directory& dir, const surroundings& around, const std::string& name,
          std::vector<std::string> options = {})
      : sign_(dir.file("held-" + name)), process_(words(name, sign_, std::move(options)), around) {
    held_ = wait_for([&] { return !contents(sign_).empty(); });
  }

  holding(const holding&) = delete;
  holding& operator=(const holding&) = delete;
  /// The command is no child of ours and may outlive cremone: that is what some tests are about.
  ~holding() {
    if (held_ && alive(command())) {
      ::kill(command(), SIGKILL);
    }
  }

  [[nodiscard]] bool held() const noexcept { return held_; }
  [[nodiscard]] process& cremone() noexcept { return process_; }
  /// The pid of the command.
  [[nodiscard]] pid_t command() const { return std::stoi(contents(sign_)); }

 private:
  static std::vector<std::string> words(const std::string& name, const std::string& sign,
                                        std::vector<std::string> options) {
    std::vector<std::string> all = {CREMONE_TOOL, "run", name};
    all.insert(all.end(), options.begin(), options.end());
    for (const std::string& word :
         {std::string("--"), std::string("sh"), std::string("-c"),
          "echo $$ > " + sign + ".new; mv " + sign + ".new " + sign + "; exec sleep 1000"}) {
      all.push_back(word);
    }
    return all;
  }

  std::string sign_;
  process process_;
  bool held_ = false;
};

}  // namespace cremone::test
