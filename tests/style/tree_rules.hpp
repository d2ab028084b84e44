// SPDX-License-Identifier: Apache-2.0
//
// Decides whether one source file keeps the rules of this tree: who may include whom, what may not be called
// where, and how a file begins. The rules are tables at the top of tree_rules.cpp. Everything here is a
// function of (path, text); it opens no file and must not know where the tree lies on disk.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace cremone::style {

struct violation {
  std::string path;
  std::size_t line = 0;  // counted from 1
  std::string rule;      // the rule's name in its table
  std::string why;       // what was found, and the reason it is refused
};

// The folders whose .hpp and .cpp files are checked, relative to the root of the tree, each with its slash.
[[nodiscard]] const std::vector<std::string_view>& checked_folders();

// Everything `text` does against the rules, were it the file `path` (relative to the root, with slashes).
[[nodiscard]] std::vector<violation> check_file(std::string_view path, std::string_view text);

}  // namespace cremone::style
