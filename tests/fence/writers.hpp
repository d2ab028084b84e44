// SPDX-License-Identifier: Apache-2.0
//
// Sixteen writers, five hundred writes each, with tokens that come late and out of order, at a resource of any kind: what was accepted must be
// in order, and the last word that of the highest token. Knows tokens, and no resource.
#pragma once

#include <cremone/fence.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <iostream>
#include <memory>
#include <mutex>
#include <random>
#include <thread>
#include <utility>
#include <vector>

namespace cremone::test {

inline constexpr std::size_t writer_count = 16;
inline constexpr std::size_t writes_each = 500;

/// One writer's own way to the resource.
class fenced_writer {
 public:
  fenced_writer() = default;
  fenced_writer(const fenced_writer&) = delete;
  fenced_writer& operator=(const fenced_writer&) = delete;
  virtual ~fenced_writer() = default;

  /// In one step: the state becomes this token, and it is added to the log. *stale_token* is an answer; after *busy* it is called again.
  [[nodiscard]] virtual result<void> write(fence_token token) = 0;
};

class fenced_resource {
 public:
  fenced_resource() = default;
  fenced_resource(const fenced_resource&) = delete;
  fenced_resource& operator=(const fenced_resource&) = delete;
  virtual ~fenced_resource() = default;

  /// Called on the thread that will use it.
  [[nodiscard]] virtual std::unique_ptr<fenced_writer> connect() = 0;

  // When all have finished.
  [[nodiscard]] virtual std::vector<std::uint64_t> log() = 0;  ///< in the order of acceptance
  [[nodiscard]] virtual std::uint64_t state() = 0;
  [[nodiscard]] virtual std::uint64_t highest() = 0;
};

/// All tokens once, each up to some places later than its turn, and about every tenth twice.
inline std::vector<std::uint64_t> tokens_out_of_order(std::uint32_t seed) {
  constexpr double most_late = 48;  // three rounds of all writers
  std::mt19937 random(seed);
  std::vector<std::pair<double, std::uint64_t>> turns;
  for (std::uint64_t t = 1; turns.size() < writer_count * writes_each; ++t) {
    for (unsigned repeated = random() % 10 == 0 ? 2 : 1; repeated > 0; --repeated) {
      turns.emplace_back(static_cast<double>(t) + std::uniform_real_distribution<>(0, most_late)(random), t);
    }
  }
  turns.resize(writer_count * writes_each);
  std::sort(turns.begin(), turns.end());
  std::vector<std::uint64_t> tokens;
  for (const auto& [turn, token] : turns) {
    tokens.push_back(token);
  }
  return tokens;
}

/// Lets them all write, and looks at what is left. Each writer takes the next token and then delays it by itself, or not.
inline void contend(fenced_resource& resource, std::uint32_t seed = 1) {
  const std::vector<std::uint64_t> tokens = tokens_out_of_order(seed);
  std::atomic<std::size_t> next = 0;
  std::atomic<int> busy = 0;
  std::mutex mutex;
  std::vector<std::uint64_t> accepted;
  std::vector<std::thread> writers;
  for (std::size_t w = 0; w < writer_count; ++w) {
    writers.emplace_back([&, w] {
      std::mt19937 random(seed + static_cast<std::uint32_t>(w));
      const auto mine = resource.connect();
      for (std::size_t i = next++; i < tokens.size(); i = next++) {
        if (random() % 4 == 0) {
          std::this_thread::sleep_for(std::chrono::microseconds(random() % 2000));
        }
        auto done = mine->write(fence_token(tokens[i]));
        while (!done && done.error().code() == errc::busy) {
          ++busy;
          done = mine->write(fence_token(tokens[i]));
        }
        if (done) {
          const std::lock_guard lock(mutex);
          accepted.push_back(tokens[i]);
        } else if (done.error().code() != errc::stale_token) {
          ADD_FAILURE() << done.error().message();
          return;
        }
      }
    });
  }
  for (std::thread& w : writers) {
    w.join();
  }
  std::vector<std::uint64_t> log = resource.log();
  EXPECT_TRUE(std::is_sorted(log.begin(), log.end())) << "a lower token was accepted after a higher one";
  const std::uint64_t last = *std::max_element(tokens.begin(), tokens.end());
  EXPECT_EQ(resource.state(), last);
  EXPECT_EQ(resource.highest(), last);
  std::sort(accepted.begin(), accepted.end());
  EXPECT_EQ(log, accepted) << "what the writers were told is not what was written";
  EXPECT_GT(accepted.size(), writes_each) << "too few were accepted for this to show anything";
  EXPECT_LT(accepted.size(), tokens.size()) << "nothing came too late";
  std::cout << accepted.size() << " of " << tokens.size() << " accepted, " << busy << " had to begin again\n";
}

}  // namespace cremone::test
