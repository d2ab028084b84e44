// SPDX-License-Identifier: Apache-2.0
//
// What tests do behind a client's back, through the seam: look at the store, take a lock away. Nothing here knows
// how the engine works.
#pragma once

#include "engine/engine.hpp"
#include "support/wait_for.hpp"

#include <cremone/cremone.hpp>

#include <gtest/gtest.h>

#include <future>
#include <stdexcept>
#include <string>

namespace cremone::test {

/// A client of a memory store that no other test uses.
[[nodiscard]] inline client open_store(const std::string& suffix = "") {
  const auto* const test = ::testing::UnitTest::GetInstance()->current_test_info();
  return open("memory://" + std::string(test->test_suite_name()) + "." + test->name() + suffix).value();
}

/// Removes the present holder behind its back. False if there is none. The holder learns of it with its next renewal. For
/// stores that answer inline.
inline bool evict_holder(const client& locks, const lock_name& name) {
  backend& store = detail::access::engine_of(locks)->store();
  lock_record seen;
  store.inspect(name, [&](result<lock_record> r) { seen = std::move(r).value(); });
  if (seen.holders.empty()) {
    return false;
  }
  bool removed = false;
  store.force(name, seen.holders.front().version.owner,
              [&](const answer& a) { removed = std::holds_alternative<done>(a); });
  return removed;
}

[[nodiscard]] inline std::size_t waiters(const client& locks, const lock_name& name) {
  return locks.inspect(name).value().waiters.size();
}

[[nodiscard]] inline bool wait_for_waiters(const client& locks, const lock_name& name, std::size_t count) {
  return wait_for([&] { return waiters(locks, name) == count; });
}

/// What a future holds, within the bound; else throws, which fails the test.
template <class T>
[[nodiscard]] T soon(std::future<T> f) {
  if (f.wait_for(generous) != std::future_status::ready) {
    throw std::runtime_error("nothing came within the bound");
  }
  return f.get();
}

/// Is the lock free for one who comes now?
[[nodiscard]] inline bool is_free(client& locks, const lock_name& name) {
  return locks.acquire(name, {.wait = no_wait}).has_value();
}

}  // namespace cremone::test
