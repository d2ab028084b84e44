// SPDX-License-Identifier: Apache-2.0
//
// The command line of `run`: its options, their help, and what they may be. Knows nothing of processes.
#pragma once

#include "cli/parser.hpp"

#include <cremone/options.hpp>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace cremone::cli {

struct run_options {
  std::string name;
  std::vector<std::string> command;
  acquire_options how;  ///< its label is a view of the run_line's
  std::chrono::milliseconds grace{};
  std::optional<int> conflict_status;  ///< instead of 75 when the lock is in use
  bool verbose = false;
  bool ttl_chosen = false;  ///< by the caller; else by us
  bool grace_chosen = false;
};

/// Not movable: the options refer to its strings.
class run_line {
 public:
  run_line();
  run_line(const run_line&) = delete;
  run_line& operator=(const run_line&) = delete;
  run_line(run_line&&) = delete;
  run_line& operator=(run_line&&) = delete;
  ~run_line() = default;

  /// As parser::parse.
  [[nodiscard]] std::optional<int> parse(const arguments& given);

  /// What the caller did not choose is as the store allows.
  void adapt_to(const client& store);

  [[nodiscard]] const run_options& options() const noexcept { return options_; }
  [[nodiscard]] result<client> open_store() const { return parser_.open_store(); }

 private:
  [[nodiscard]] result<void> read_values();
  [[nodiscard]] result<void> read_grace();

  parser parser_;
  run_options options_;
  std::string label_;
  std::string conflict_;
  bool try_ = false;
};

}  // namespace cremone::cli
