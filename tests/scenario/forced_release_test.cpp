// SPDX-License-Identifier: Apache-2.0
//
// A person takes a lock away from a holder that is at work, and so renews it or gives it back at any moment.
#include "backends/memory/backend.hpp"
#include "engine/asio_env.hpp"
#include "scenario/forwarding_backend.hpp"
#include "scenario/seam.hpp"
#include "support/seam_words.hpp"

#include <gtest/gtest.h>

#include <memory>

namespace cremone::test {
namespace {

/// What somebody does to a lock when another has just looked at it.
using meddling = void (*)(backend& store, const lock_name& name, const hold_record& holder);

class meddled_backend final : public forwarding_backend {
 public:
  meddled_backend(const std::shared_ptr<backend>& to, meddling what)
      : forwarding_backend(to), inside_(to), meddle_(what) {}

  void inspect(const lock_name& name, callback<void(result<lock_record>)> reply) override {
    inside_->inspect(name, [&](result<lock_record> seen) {
      for (const hold_record& holder : seen->holders) {
        meddle_(*inside_, name, holder);
      }
      reply(std::move(seen));
    });
  }

 private:
  const std::shared_ptr<backend> inside_;
  const meddling meddle_;
};

void renew(backend& store, const lock_name& name, const hold_record& holder) {
  const renewal again{&name, holder.version.owner, holder.version.seq + 1, holder.token, holder.ttl};
  store.renew({&again, 1}, [](const std::vector<answer>& answers) {
    EXPECT_TRUE(std::holds_alternative<done>(answers.at(0)));
  });
}

void pass_on(backend& store, const lock_name& name, const hold_record& holder) {
  store.release({name, holder.version.owner},
                [](const answer& a) { EXPECT_TRUE(std::holds_alternative<done>(a)); });
  store.try_acquire(wanting(name.str(), fresh_owner()),
                    [](const acquire_answer& a) { EXPECT_TRUE(std::holds_alternative<grant>(a)); });
}

/// A client of a store in memory that nobody else has.
client open_with(meddling what) {
  auto env = std::make_shared<detail::asio_env>();
  auto store = std::make_shared<memory::memory_backend>(env, std::make_shared<memory::store>(), "memory://");
  return detail::access::make_client(
      std::make_shared<detail::engine>(env, std::make_shared<meddled_backend>(store, what)));
}

TEST(ForcedRelease, HitsNobodyWhoGotTheLockMeanwhile) {
  const client locks = open_with(pass_on);
  const auto held = locks.acquire("x");
  ASSERT_TRUE(held);
  const error no = locks.force_release("x").error();
  EXPECT_EQ(no.code(), errc::busy) << no;
  EXPECT_EQ(locks.inspect("x")->holders.size(), 1U);
}

TEST(ForcedRelease, HitsAHolderThatRenewsWhenItHasBeenSeen) {
  const client locks = open_with(renew);
  const auto held = locks.acquire("x");
  ASSERT_TRUE(held);
  EXPECT_EQ(locks.force_release("x").value(), 1U);
  EXPECT_TRUE(locks.inspect("x")->holders.empty());
  EXPECT_EQ(locks.force_release("x").error().code(), errc::not_held);
}

}  // namespace
}  // namespace cremone::test
