// SPDX-License-Identifier: Apache-2.0
//
// Through the public client: input that is wrong is refused in the same words on every store, before the store
// hears of it; input at the limits is not.
#include "contract/suite.hpp"

#include "core/validate.hpp"
#include "core/validity.hpp"
#include "support/wait_for.hpp"

#include <chrono>
#include <string>
#include <vector>

namespace cremone::contract {

namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;
using test::generous;

class Input : public client_test {
 protected:
  void expect_invalid(const lock_name& name, const acquire_options& options, const std::string& culprit) {
    const auto no = ann_.acquire(name, options);
    ASSERT_FALSE(no) << "accepted: " << culprit;
    EXPECT_EQ(no.error().code(), errc::invalid_argument);
    EXPECT_NE(no.error().message().find(culprit), std::string::npos)
        << "'" << culprit << "' is not in: " << no.error().message();
  }

  /// Takes the lock, and finds it in the store as it was asked for. A machine that stalls for a short ttl lets a store
  /// that expires holds free it: then once more.
  void expect_accepted(const lock_name& name, const acquire_options& options) {
    for (int run = 0; run < 10; ++run) {
      const lease held = take(ann_, name, options);
      const auto holders = inspect(name).holders;
      if (!held.held() && !HasFailure()) {
        continue;
      }
      ASSERT_EQ(holders.size(), 1U);
      EXPECT_EQ(holders.front().owner.label, options.label);
      if (seam_.like().records) {
        EXPECT_EQ(holders.front().ttl, options.ttl.value_or(ann_.default_ttl()));
      } else {
        expect_expires_within(holders.front(), options.ttl.value_or(ann_.default_ttl()));
      }
      return;
    }
    ADD_FAILURE() << "ten times the lease was over before it could be looked at";
  }

  void expect_untouched() {
    const auto all = bob_.list();
    ASSERT_TRUE(all) << all.error().message();
    EXPECT_TRUE(all->empty());
  }
};

INSTANTIATE_TEST_SUITE_P(Contract, Input, ::testing::ValuesIn(tested_stores()), store_name);

TEST_P(Input, BadNamesAreRefused) {
  const std::vector<std::string> bad = {
      "", std::string(513, 'x'), "a\nb", std::string("a\0b", 3), "\x1fslot", "tab\t", "a\x7f"};
  for (const std::string& name : bad) {
    expect_invalid(name, {.wait = no_wait}, "name");
    const auto seen = ann_.inspect(name);
    ASSERT_FALSE(seen);
    EXPECT_EQ(seen.error().code(), errc::invalid_argument);
  }
  expect_untouched();
}

TEST_P(Input, BadTtlsAreRefused) {
  const milliseconds most = seam_.like().max_ttl;
  for (const milliseconds ttl :
       {milliseconds::min(), -1ms, 0ms, 1ms, core::min_ttl - 1ms, most + 1ms, milliseconds::max()}) {
    expect_invalid(lock_, {.ttl = ttl, .wait = no_wait}, "ttl");
  }
  expect_untouched();
}

TEST_P(Input, BadWaitsAndLabelsAreRefused) {
  expect_invalid(lock_, {.wait = -1ms}, "wait");
  expect_invalid(lock_, {.label = std::string(core::max_label_size + 1, 'x')}, "label");
  expect_invalid(lock_, {.label = "two\nlines"}, "label");
  expect_untouched();
}

TEST_P(Input, AtTheLimitsIsAccepted) {
  const std::string label(core::max_label_size, 'x');
  for (const milliseconds ttl : {core::min_ttl, seam_.like().max_ttl}) {
    for (const std::string& name : {std::string("x"), std::string(lock_name::max_size, 'x')}) {
      expect_accepted(name, {.ttl = ttl, .wait = generous, .label = label});
      expect_free(name);
    }
  }
}

TEST_P(Input, ModesThatTheStoreDoesNotKnowAreUnsupported) {
  const traits& like = seam_.like();
  for (const auto& [wanted, known] :
       {std::pair(mode::shared, like.shared), std::pair(mode::slot, like.slots)}) {
    const auto got = ann_.acquire(lock_, {.wait = no_wait, .mode = wanted});
    ASSERT_EQ(got.has_value(), known);
    if (!known) {
      EXPECT_EQ(got.error().code(), errc::unsupported);
      EXPECT_NE(got.error().message().find(to_string(wanted)), std::string::npos) << got.error().message();
    }
  }
  expect_untouched();
}

}  // namespace

}  // namespace cremone::contract
