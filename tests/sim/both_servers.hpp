// SPDX-License-Identifier: Apache-2.0
//
// A simulated Redis and a real one, asked the same at the same time: their clocks stand still and are moved together. Whatever
// they answer differently fails the test, with the seed and the command.
#pragma once

#include "sim/redis/server.hpp"
#include "support/redis_server.hpp"

#include <cremone/types.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace cremone::test {

/// Choices of one seed.
class chooser {
 public:
  explicit chooser(std::uint64_t seed) : from_(seed) {}

  /// Below n.
  [[nodiscard]] std::size_t below(std::size_t n) { return static_cast<std::size_t>(from_() % n); }
  [[nodiscard]] bool once_in(std::size_t n) { return below(n) == 0; }
  template <class All>
  [[nodiscard]] const auto& one_of(const All& all) {
    return *(all.begin() + static_cast<std::ptrdiff_t>(below(all.size())));
  }

 private:
  std::mt19937_64 from_;
};

/// A text that tells types apart, for comparing.
[[nodiscard]] std::string spelled(const resp& r);

class both_servers {
 public:
  both_servers();

  /// To both. The simulated one's answer; the test has failed if the real one's was another.
  resp ask(const std::vector<std::string>& words);
  /// The same on a second connection, which listens. Only SUBSCRIBE and UNSUBSCRIBE of one channel.
  void listen(const std::vector<std::string>& words);
  /// What that has heard since it was last asked for must be the same.
  void compare_heard();
  /// All keys, values and ends must be the same, and how often each command has run since this was last asked for.
  void compare();
  /// Empties both.
  void start_over(std::uint64_t seed);

  void move_clock(std::chrono::microseconds by);
  [[nodiscard]] wall_time now() const noexcept { return now_; }
  [[nodiscard]] const std::string& run_id() const noexcept { return run_id_; }
  [[nodiscard]] const sim::keyspace& keys() const { return simulated_.keys(); }

 private:
  [[nodiscard]] std::string place() const;
  std::vector<resp> say(std::uint64_t connection, const std::vector<std::string>& words);
  void expect_changes_noted(const sim::keyspace::map& before);
  [[nodiscard]] sim::keyspace real_keys();
  void compare_counts();

  redis_server real_;
  redis_link link_;
  redis_link listener_;
  std::string run_id_;
  wall_time now_;
  sim::lua lua_;
  sim::redis_server simulated_;
  std::vector<std::string> changed_;
  std::vector<std::string> heard_;  // by the simulated one's listener
  std::uint64_t seed_ = 0;
  std::string last_;  // command, for messages
};

}  // namespace cremone::test
