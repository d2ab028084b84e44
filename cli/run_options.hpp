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

/// A `run` has one lease, so it can renew it often. With 15 renewals per ttl and a grace of a sixth
/// of the ttl, an outage of two thirds of the ttl at the worst moment ends no command: a fifteenth
/// passes before the first renewal fails, a sixth is left when SIGTERM is due, and a tenth remains
/// for connecting and the answer.
inline constexpr int run_renewals_per_ttl = 15;

/// From SIGTERM to SIGKILL, as a part of the ttl: time for a command to clean up.
inline constexpr int default_grace_divisor = 6;

struct run_options {
  std::string name;
  std::vector<std::string> command;
  acquire_options how;  ///< its label is a view of the run_line's
  std::chrono::milliseconds grace{};
  std::optional<int> conflict_status;  ///< instead of 75 when the lock is in use
  bool verbose = false;
  bool quiet = false;
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

  /// Sets the values that depend on the store's default ttl. Any error is a usage error.
  [[nodiscard]] result<void> adapt_to(const client& store);

  [[nodiscard]] const run_options& options() const noexcept { return options_; }
  [[nodiscard]] result<client> open_store() const { return parser_.open_store(); }

 private:
  [[nodiscard]] result<void> read_values();
  [[nodiscard]] result<void> read_grace(std::chrono::milliseconds default_ttl);

  parser parser_;
  run_options options_;
  std::string label_;
  std::string conflict_;
  bool try_ = false;
};

}  // namespace cremone::cli
