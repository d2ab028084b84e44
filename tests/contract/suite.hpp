// SPDX-License-Identifier: Apache-2.0
//
// The contract that every store keeps, as tests: the seam_* files are <cremone/backend.hpp> in executable form,
// the client_* files what a user may expect of any store through <cremone/client.hpp>. This file says what a
// store must bring to be tested. The tests know a store by its traits only.
#pragma once

#include "support/blocking_backend.hpp"
#include "support/seam_words.hpp"

#include <cremone/backend.hpp>
#include <cremone/client.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <iosfwd>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace cremone::contract {

/// A store for one test: running, reachable, and without a lock in it. Its destructor takes it away again.
class store_under_test {
 public:
  store_under_test() = default;
  store_under_test(const store_under_test&) = delete;
  store_under_test& operator=(const store_under_test&) = delete;
  virtual ~store_under_test() = default;

  /// For messages: which store, where.
  [[nodiscard]] virtual std::string url() const = 0;

  /// One more backend onto this store, as another process would open it: it shares nothing with the others but
  /// the store.
  [[nodiscard]] virtual std::shared_ptr<backend> connect(const std::shared_ptr<env>& outside) = 0;

  [[nodiscard]] test::blocking_backend open_backend();
  [[nodiscard]] client open_client();
};

/// A kind of store: its name in the names of the tests, and how to start one.
struct store_kind {
  const char* name;
  std::unique_ptr<store_under_test> (*start)();

  friend std::ostream& operator<<(std::ostream& out, const store_kind& kind);
};

template <class Store>
[[nodiscard]] std::unique_ptr<store_under_test> start() {
  return std::make_unique<Store>();
}

/// What this program tests: one store, or its layouts. The one function that a store's file defines.
[[nodiscard]] std::vector<store_kind> tested_stores();

/// What every test has: a fresh store, named in each failure.
class store_test : public ::testing::TestWithParam<store_kind> {
 protected:
  [[nodiscard]] store_under_test& store() noexcept { return *store_; }

 private:
  std::unique_ptr<store_under_test> store_ = GetParam().start();
  ::testing::ScopedTrace trace_{__FILE__, __LINE__, "store " + store_->url()};
};

/// Without records a hold is a value and an expiry: it ends by itself, in at most this time and not yet.
void expect_expires_within(const hold_record& seen, std::chrono::milliseconds most);

/// The holds that stand in the way: that of the holder or, where several servers vote, each server's. Whoever evicts all of these
/// has removed the holder.
[[nodiscard]] std::vector<hold_version> versions_in(const lock_record& seen);

/// Fails the test unless all that stood there before still does, and nothing else. Where several servers vote, one that a majority did not
/// need may have given its vote in between.
void expect_untouched(const lock_record& after, const lock_record& before);

/// Fails the test unless this store gave `later` after `earlier`; where it gives no tokens, unless there is none.
void expect_later(const traits& store, fence_token later, fence_token earlier);

/// A renewal brings back votes of which the servers know nothing.
[[nodiscard]] inline bool repairs(const traits& store) { return store.voters > 1 && store.records; }

/// For tests of the seam: two backends on one store, and what a test asks of them again and again.
class seam_test : public store_test {
 protected:
  seam_test();

  [[nodiscard]] const traits& like() const noexcept { return here_.like(); }

  /// Takes a free lock, or fails the test.
  grant take(const lock_name& name, const owner_id& owner);

  /// The next request of one that waits. Where several servers vote, `who` stands for it through all its attempts, and each of
  /// them has an owner id of its own.
  [[nodiscard]] acquire_request queueing(const lock_name& name, const owner_id& who,
                                         const std::shared_ptr<hint_sink>& wake);

  /// The same, of one of whose hints the test wants to know nothing.
  [[nodiscard]] acquire_request queueing(const lock_name& name, const owner_id& who) {
    return queueing(name, who, unheard_);
  }

  /// The owner id of the latest request that queueing() made for `who`.
  [[nodiscard]] owner_id latest(const owner_id& who) const;

  /// Lets one wait for a lock that is held, through `here_`, or fails the test.
  void enqueue(const acquire_request& request);

  /// Ends the wait of one that was enqueued. Fails the test unless the answer says what there was to remove: a place in the
  /// queue, or, where several servers vote, what the backend remembers of it with which it waits.
  void leave(test::blocking_backend& by, const lock_name& name, const owner_id& owner);

  /// Removes the holder of this lock by evictions, or fails the test.
  void evict(test::blocking_backend& by, const lock_name& name);

  /// The lock as the store shows it; fails the test when it does not.
  [[nodiscard]] lock_record inspect(const lock_name& name);

  /// The only hold of this lock; fails the test when there is none or more than one.
  [[nodiscard]] hold_record holder_of(const lock_name& name);

  /// In which version the holder of this lock is, on each server where several vote: as long as nothing is done to it, that
  /// stays as it is.
  [[nodiscard]] std::vector<hold_version> versions_of(const lock_name& name) {
    return versions_in(inspect(name));
  }

  /// Fails the test unless `no` names the holder of this lock and nobody else, where several servers vote once for each that was
  /// heard.
  void expect_names_holder(const rejection& no, const lock_name& name);

  /// Fails the test unless `seen` shows the hold that this request was granted, as much of it as this store keeps.
  void expect_shown(const hold_record& seen, const acquire_request& by, const grant& yes);

  /// Fails the test unless a lock on which `latest` was the latest grant shows that as its highest token, or says that
  /// nothing is known of it.
  void expect_highest(const lock_record& seen, const grant& latest);

  /// Fails the test unless `again` is what a holder gets that asks once more.
  void expect_repeated(const grant& again, const grant& first);

  /// Fails the test unless the store shows nothing at all.
  void expect_nothing_left();

  const lock_name lock_ = "lock";  // the lock of tests that need one
  test::blocking_backend here_ = store().open_backend();
  test::blocking_backend there_ = store().open_backend();

 private:
  // Lives as long as the test: a waiter whose sink is gone counts as one that has vanished.
  const std::shared_ptr<hint_sink> unheard_ = std::make_shared<test::hint_counter>();
  std::map<owner_id, owner_id> attempts_;  // of those who wait
};

/// For tests through the public client: two clients on one store, and a backend to see and to meddle with.
class client_test : public store_test {
 protected:
  /// Takes a lock through `by`, or fails the test.
  [[nodiscard]] lease take(client& by, const lock_name& name, const acquire_options& options = {});

  [[nodiscard]] lock_record inspect(const lock_name& name);

  void expect_later(fence_token later, fence_token earlier) {
    contract::expect_later(seam_.like(), later, earlier);
  }

  /// Waits until `waiters` of this lock can be seen in its queue, where the store keeps one; where not, there is
  /// nothing to be seen.
  void expect_waiting(const lock_name& name, std::size_t waiters);

  /// Waits until the store shows neither holder nor waiter; a withdrawal may be on its way when a call returns.
  void expect_free(const lock_name& name);

  const lock_name lock_ = "lock";
  test::blocking_backend seam_ = store().open_backend();
  client ann_ = store().open_client();
  client bob_ = store().open_client();
};

/// For INSTANTIATE_TEST_SUITE_P.
[[nodiscard]] inline std::string store_name(const ::testing::TestParamInfo<store_kind>& info) {
  return info.param.name;
}

}  // namespace cremone::contract
