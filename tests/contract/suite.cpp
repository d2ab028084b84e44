// SPDX-License-Identifier: Apache-2.0
#include "contract/suite.hpp"

#include "engine/asio_env.hpp"
#include "engine/engine.hpp"
#include "support/wait_for.hpp"

#include <ostream>

namespace cremone::contract {

using test::granted;
using test::rejected;
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

grant seam_test::take(const lock_name& name, const owner_id& owner) {
  return granted(here_.try_acquire(test::wanting(name, owner)));
}

void seam_test::enqueue(const acquire_request& request) {
  const rejection no = rejected(here_.try_acquire(request));
  EXPECT_EQ(no.why.code(), errc::busy);
  EXPECT_EQ(no.place.has_value(), like().fifo);
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
