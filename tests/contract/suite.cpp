// SPDX-License-Identifier: Apache-2.0
#include "contract/suite.hpp"

#include "engine/asio_env.hpp"
#include "engine/engine.hpp"
#include "support/wait_for.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <ostream>

namespace cremone::contract {

using test::granted;
using test::rejected;
using test::shown;
using test::wait_for;

namespace {

lock_record inspect_through(test::blocking_backend& by, const lock_name& name) {
  const auto seen = by.inspect(name);
  if (!seen) {
    ADD_FAILURE() << "inspect: " << seen.error().message();
    return {};
  }
  return *seen;
}

}  // namespace

test::blocking_backend store_under_test::open_backend() {
  const auto outside = std::make_shared<detail::asio_env>();
  return {outside, connect(outside)};
}

client store_under_test::open_client() {
  const auto outside = std::make_shared<detail::asio_env>();
  return detail::access::make_client(std::make_shared<detail::engine>(outside, connect(outside)));
}

std::ostream& operator<<(std::ostream& out, const store_kind& kind) { return out << kind.name; }

void expect_expires_within(const hold_record& seen, std::chrono::milliseconds most) {
  ASSERT_TRUE(seen.expires_in) << "a hold without an end";
  EXPECT_GT(seen.expires_in->count(), 0);
  EXPECT_LE(seen.expires_in->count(), most.count());
}

std::vector<hold_version> versions_in(const lock_record& seen) {
  std::vector<hold_version> found;
  for (const hold_record& h : seen.holders) {
    found.push_back(h.version);
  }
  for (const node_vote& v : seen.votes) {  // without records they are all the same
    if (v.holder && std::find(found.begin(), found.end(), *v.holder) == found.end()) {
      found.push_back(*v.holder);
    }
  }
  return found;
}

void expect_untouched(const lock_record& after, const lock_record& before) {
  const auto stood = versions_in(before);
  const auto stands = versions_in(after);
  if (before.votes.empty()) {
    EXPECT_EQ(stands, stood);
  } else {
    EXPECT_THAT(stands, ::testing::IsSupersetOf(stood));
  }
}

void expect_later(const traits& store, fence_token later, fence_token earlier) {
  if (store.tokens) {
    EXPECT_GT(later, earlier);
  } else {
    EXPECT_EQ(later, fence_token(0)) << "a token where there is no order";
  }
}

/// Of several servers one that is not needed for a majority may still be getting to know us when a test looks at its vote: what
/// is asked first is then done later. Whoever has inspected has been answered by all.
seam_test::seam_test() {
  for (auto* by : {&here_, &there_}) {
    EXPECT_TRUE(like().voters == 1 || by->inspect(lock_).has_value());
  }
}

grant seam_test::take(const lock_name& name, const owner_id& owner) {
  return granted(here_.try_acquire(test::wanting(name, owner)));
}

acquire_request seam_test::queueing(const lock_name& name, const owner_id& who,
                                    const std::shared_ptr<hint_sink>& wake) {
  acquire_request request = test::queueing(name, who, wake);
  request.waiter = who;
  if (like().voters > 1) {
    request.owner = attempts_[who] = test::fresh_owner();
  }
  return request;
}

owner_id seam_test::latest(const owner_id& who) const {
  const auto known = attempts_.find(who);
  return known == attempts_.end() ? who : known->second;
}

void seam_test::enqueue(const acquire_request& request) {
  const rejection no = rejected(here_.try_acquire(request));
  EXPECT_EQ(no.why.code(), errc::busy);
  EXPECT_EQ(no.place.has_value(), like().fifo);
  EXPECT_EQ(no.spent, like().voters > 1);
}

void seam_test::leave(test::blocking_backend& by, const lock_name& name, const owner_id& owner) {
  const bool known = like().fifo || (like().voters > 1 && &by == &here_);
  EXPECT_EQ(shown(by.release(name, latest(owner))), known ? "done" : "refused: not_held");
}

void seam_test::evict(test::blocking_backend& by, const lock_name& name) {
  const auto versions = versions_of(name);
  EXPECT_EQ(versions.size(), like().records ? like().voters : 1U);
  for (const hold_version& v : versions) {
    EXPECT_EQ(shown(by.evict(name, v)), "done");
  }
}

lock_record seam_test::inspect(const lock_name& name) { return inspect_through(here_, name); }

hold_record seam_test::holder_of(const lock_name& name) {
  const lock_record seen = inspect(name);
  if (seen.holders.size() != 1) {
    ADD_FAILURE() << "'" << name.str() << "' has " << seen.holders.size() << " holders, not one";
    return {};
  }
  return seen.holders.front();
}

void seam_test::expect_names_holder(const rejection& no, const lock_name& name) {
  const auto standing = versions_of(name);
  EXPECT_GT(no.holders.size(), like().voters / 2) << "too few to know who holds it";
  EXPECT_LE(no.holders.size(), like().voters);
  EXPECT_TRUE(no.complete || no.holders.size() < like().voters);  // one that was slow may have voted for us
  EXPECT_FALSE(no.split);
  for (auto h = no.holders.begin(); h != no.holders.end(); ++h) {
    EXPECT_NE(std::find(standing.begin(), standing.end(), h->version), standing.end());
    EXPECT_TRUE(!like().records || std::none_of(no.holders.begin(), h, [&](const hold_record& other) {
      return other.version == h->version;
    })) << "one server's twice";
  }
}

void seam_test::expect_shown(const hold_record& seen, const acquire_request& by, const grant& yes) {
  EXPECT_EQ(seen.version.owner, by.owner);
  EXPECT_EQ(seen.mode, by.mode);
  EXPECT_EQ(seen.owner.host, by.who.host);
  EXPECT_EQ(seen.owner.pid, by.who.pid);
  EXPECT_EQ(seen.owner.label, by.who.label);
  EXPECT_EQ(seen.foreign, "");
  if (like().records) {
    EXPECT_EQ(seen.ttl, by.ttl);
    EXPECT_EQ(seen.token, yes.token);
    EXPECT_EQ(seen.owner.user, by.who.user);
    EXPECT_EQ(seen.owner.since, by.who.since);
  } else {
    EXPECT_EQ(seen.version.seq, 0U) << "a value without a version";
    EXPECT_EQ(seen.ttl.count(), 0) << "there is no place for it";
    EXPECT_EQ(seen.token, fence_token(0)) << "there is no place for it";
    EXPECT_EQ(seen.owner.user, "") << "there is no place for it";
    EXPECT_EQ(seen.owner.since, wall_time{}) << "there is no place for it";
    expect_expires_within(seen, by.ttl);
  }
}

void seam_test::expect_highest(const lock_record& seen, const grant& latest) {
  if (like().records) {
    EXPECT_EQ(seen.last, latest.token);
  } else {  // names may share a counter, and then the next of another name has moved it on
    EXPECT_TRUE(seen.last == fence_token(0) || seen.last >= latest.token) << seen.last;
  }
}

void seam_test::expect_repeated(const grant& again, const grant& first) {
  EXPECT_TRUE(again.repeated);
  if (like().records && like().voters == 1) {
    EXPECT_EQ(again.token, first.token);
  } else {
    EXPECT_GE(again.token, first.token) << "a resource would refuse it, though it has seen no later holder";
  }
}

void seam_test::expect_nothing_left() {
  const auto all = here_.list();
  ASSERT_TRUE(all) << all.error().message();
  for (const lock_record& left : *all) {
    ADD_FAILURE() << "the store still shows '" << left.name.str() << "' with " << left.holders.size()
                  << " holders and " << left.waiters.size() << " waiters";
  }
}

lease client_test::take(client& by, const lock_name& name, const acquire_options& options) {
  auto got = by.acquire(name, options);
  if (!got) {
    ADD_FAILURE() << got.error().message();
    return {};
  }
  return std::move(*got);
}

lock_record client_test::inspect(const lock_name& name) { return inspect_through(seam_, name); }

void client_test::expect_waiting(const lock_name& name, std::size_t waiters) {
  if (seam_.like().fifo) {
    EXPECT_TRUE(wait_for([&] { return inspect(name).waiters.size() == waiters; }))
        << "'" << name.str() << "' never had " << waiters << " waiters";
  }
}

void client_test::expect_free(const lock_name& name) {
  EXPECT_TRUE(wait_for([&] {
    const lock_record seen = inspect(name);
    return seen.holders.empty() && seen.waiters.empty();
  })) << "somebody holds '"
      << name.str() << "' or waits for it still";
}

}  // namespace cremone::contract
