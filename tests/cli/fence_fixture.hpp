// SPDX-License-Identifier: Apache-2.0
//
// `cremone fence` for tests: with a token and an input, and with nothing of what the test's own environment may have.
#pragma once

#include "cli/fixture.hpp"

#include <optional>
#include <string>
#include <vector>

namespace cremone::test {

/// What `fence` gets besides its words.
struct fence_call {
  std::optional<std::string> token{};  ///< CREMONE_TOKEN
  std::string input{};
  std::vector<std::string> variables{};  ///< "NAME=value"
  std::string tool = CREMONE_TOOL;
};

class FenceTool : public Tool {
 protected:
  /// The words of a process, not of a shell.
  [[nodiscard]] static std::vector<std::string> fence_words(const std::vector<std::string>& words,
                                                            const fence_call& call = {}) {
    std::vector<std::string> all = {"env"};
    for (const char* const name : {"CREMONE_TOKEN", "CREMONE_FENCE_URL", "PGPASSWORD", "MYSQL_PWD"}) {
      all.insert(all.end(), {"-u", name});
    }
    if (call.token) {
      all.push_back("CREMONE_TOKEN=" + *call.token);
    }
    all.insert(all.end(), call.variables.begin(), call.variables.end());
    all.insert(all.end(), {call.tool, "fence"});
    all.insert(all.end(), words.begin(), words.end());
    return all;
  }

  [[nodiscard]] finished fence(const std::vector<std::string>& words, const fence_call& call = {}) const {
    auto around = here();
    around.input = call.input;
    return run(fence_words(words, call), around);
  }

  [[nodiscard]] finished write(const std::string& path, const std::string& token,
                               const std::string& content) const {
    return fence({"write", path}, {.token = token, .input = content});
  }

  /// "57", or nothing.
  [[nodiscard]] std::string highest(const std::string& path) const {
    const std::string shown = fence({"show", path}).out;
    return shown.substr(0, shown.find('\n'));
  }
};

}  // namespace cremone::test
