// SPDX-License-Identifier: Apache-2.0
//
// Many threads that start together. Knows nothing of locks.
#pragma once

#include <cstddef>
#include <latch>
#include <thread>
#include <vector>

namespace cremone::test {

/// Calls `work(0)` … `work(size - 1)`, each on a thread of its own, none before all threads run; returns when all
/// are done.
template <class F>
void crowd(std::size_t size, F work) {
  std::latch start(static_cast<std::ptrdiff_t>(size));
  std::vector<std::jthread> threads;
  threads.reserve(size);
  for (std::size_t i = 0; i < size; ++i) {
    threads.emplace_back([&start, &work, i] {
      start.arrive_and_wait();
      work(i);
    });
  }
}

}  // namespace cremone::test
