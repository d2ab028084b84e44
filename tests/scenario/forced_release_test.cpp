// SPDX-License-Identifier: Apache-2.0
//
// A person takes a lock away from a holder that is at work, and so renews at any moment.
#include "backends/memory/backend.hpp"
#include "engine/asio_env.hpp"
#include "scenario/forwarding_backend.hpp"
#include "scenario/seam.hpp"
#include "support/seam_words.hpp"

#include <gtest/gtest.h>

#include <memory>

namespace cremone::test {
namespace {

/// Whoever holds a lock renews it each time somebody has looked at it.
class restless_backend final : public forwarding_backend {
 public:
  explicit restless_backend(const std::shared_ptr<backend>& to) : forwarding_backend(to), inside_(to) {}

  void inspect(const lock_name& name, callback<void(result<lock_record>)> reply) override {
    inside_->inspect(name, [&](result<lock_record> seen) {
      for (const hold_record& h : seen->holders) {
        const renewal again{&name, h.version.owner, h.version.seq + 1, h.token, h.ttl};
        inside_->renew({&again, 1}, [](const std::vector<answer>& answers) {
          EXPECT_TRUE(std::holds_alternative<done>(answers.at(0)));
        });
      }
      reply(std::move(seen));
    });
  }

 private:
  const std::shared_ptr<backend> inside_;
};

/// Whoever holds a lock gives it back when somebody has looked at it, and another takes it.
class passing_backend final : public forwarding_backend {
 public:
  explicit passing_backend(const std::shared_ptr<backend>& to) : forwarding_backend(to), inside_(to) {}

  void inspect(const lock_name& name, callback<void(result<lock_record>)> reply) override {
    inside_->inspect(name, [&](result<lock_record> seen) {
      for (const hold_record& h : seen->holders) {
        inside_->release({name, h.version.owner}, [](const answer&) {});
        inside_->try_acquire(wanting(name.str(), fresh_owner()),
                             [](const acquire_answer& a) { EXPECT_TRUE(std::holds_alternative<grant>(a)); });
      }
      reply(std::move(seen));
    });
  }

 private:
  const std::shared_ptr<backend> inside_;
};

/// A client of a store in memory that nobody else has.
template <class Between>
client open_through() {
  auto env = std::make_shared<detail::asio_env>();
  auto store = std::make_shared<memory::memory_backend>(env, std::make_shared<memory::store>(), "memory://");
  return detail::access::make_client(std::make_shared<detail::engine>(env, std::make_shared<Between>(store)));
}

TEST(ForcedRelease, HitsNobodyWhoGotTheLockMeanwhile) {
  const client locks = open_through<passing_backend>();
  const auto held = locks.acquire("x");
  ASSERT_TRUE(held);
  const error no = locks.force_release("x").error();
  EXPECT_EQ(no.code(), errc::busy) << no;
  EXPECT_EQ(locks.inspect("x")->holders.size(), 1U);
}

TEST(ForcedRelease, HitsAHolderThatRenewsWhenItHasBeenSeen) {
  const client locks = open_through<restless_backend>();
  const auto held = locks.acquire("x");
  ASSERT_TRUE(held);
  EXPECT_EQ(locks.force_release("x").value(), 1U);
  EXPECT_TRUE(locks.inspect("x")->holders.empty());
  EXPECT_EQ(locks.force_release("x").error().code(), errc::not_held);
}

}  // namespace
}  // namespace cremone::test
