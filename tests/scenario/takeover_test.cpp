// SPDX-License-Identifier: Apache-2.0
//
// Taking over from a holder that fell silent, from the first refusal to the grant: once call by call over a
// scripted store, once over the memory store with two clients. How long the silence must be is core's.
#include "backends/memory/backend.hpp"
#include "core/validity.hpp"
#include "scenario/engine_rig.hpp"

namespace cremone::test {
namespace {

using namespace std::chrono_literals;

constexpr std::chrono::milliseconds victims_ttl{10s};

class Takeover : public engine_rig {
 protected:
  Takeover() {
    victim_.version = {owner_id({1, 2, 3}), 5};
    victim_.ttl = victims_ttl;
    script s = script::yes();
    s.acquire = [this](const acquire_request&) -> acquire_answer {
      if (gone_) {
        return grant{.token = fence_token(9), .ticket = 1};
      }
      rejection no;
      no.holders.push_back(victim_);
      no.place = 0;
      return no;
    };
    s.evict = [this](const lock_name&, const hold_version& version) -> cremone::answer {
      gone_ = version == victim_.version;
      return gone_ ? cremone::answer(done{}) : cremone::answer(refused{error(errc::not_held)});
    };
    store_->follow(s);
  }

  /// The holder renews.
  void renew_victim() { ++victim_.version.seq; }

  hold_record victim_;
  bool gone_ = false;
};

TEST_F(Takeover, EvictsTheVersionThatWasSilentForItsWholeTtlAndNotSooner) {
  const auto a = ask("ledger");
  const auto silence = core::silence_of(victims_ttl, store_->describe().drift_ppm);
  env_->advance(silence - 1ms);
  EXPECT_EQ(count(kind::evict), 0U);
  env_->advance(1'001ms);

  ASSERT_EQ(count(kind::evict), 1U);
  EXPECT_EQ(last(kind::evict).version, victim_.version);
  EXPECT_EQ(last(kind::evict).name, lock_name("ledger"));
  ASSERT_TRUE(a->answered());
  EXPECT_EQ(a->answers.front()->token(), fence_token(9));
  EXPECT_GT(last(kind::acquire).index, last(kind::evict).index) << "the store grants, not the eviction";
  EXPECT_EQ(last(kind::acquire).owner, store_->calls(kind::acquire).front().owner);
}

TEST_F(Takeover, StartsOverWhenTheHolderRenews) {
  const auto a = ask("ledger");
  for (int i = 0; i < 10; ++i) {
    env_->advance(victims_ttl * 9 / 10);
    renew_victim();
  }
  EXPECT_EQ(count(kind::evict), 0U);
  env_->advance(victims_ttl + 3s);
  EXPECT_TRUE(a->answered());
}

TEST_F(Takeover, ByATryUsesWhatTheClientSawBefore) {
  EXPECT_EQ(ask("ledger", {.wait = no_wait})->code(), errc::busy);
  env_->advance(victims_ttl + 1s);
  const auto later = ask("ledger", {.wait = no_wait});
  ASSERT_TRUE(later->answered());
  EXPECT_TRUE(later->answers.front().has_value());
}

TEST_F(Takeover, IsNotTriedByThoseFarBackInTheQueue) {
  script s = script::yes();
  s.acquire = [this](const acquire_request&) -> acquire_answer {
    rejection no;
    no.holders.push_back(victim_);
    no.place = 7;
    return no;
  };
  store_->follow(s);
  const auto a = ask("ledger");
  env_->advance(1s);
  EXPECT_LE(count(kind::acquire), 2U) << "they ask slowly";
}

traits forgetful() {
  traits t = network_traits();
  t.quarantines = true;
  return t;
}

/// A store that says it is new to us and has forgotten nothing.
class TakeoverOfAQuarantine : public engine_rig {
 protected:
  TakeoverOfAQuarantine() : engine_rig(forgetful()) {}

  void begin_quarantine() {
    script s = script::yes();
    s.acquire = [](const acquire_request&) -> acquire_answer {
      rejection no{.why = error(errc::quarantined)};
      hold_record stands_for_it;
      stands_for_it.version = {owner_id({7}), 0};
      stands_for_it.ttl = victims_ttl;
      no.holders.push_back(stands_for_it);
      no.nothing_forgotten = true;
      return no;
    };
    store_->follow(s);
  }
};

TEST_F(TakeoverOfAQuarantine, IsImmediateWhereNobodyHereHasEverSeenItGiveOutLocks) {
  begin_quarantine();
  (void)ask("ledger", {.wait = no_wait});
  EXPECT_EQ(count(kind::evict), 1U);
}

TEST_F(TakeoverOfAQuarantine, TakesItsTimeWhereALockWasGrantedBefore) {
  (void)take("other");
  begin_quarantine();
  EXPECT_EQ(ask("ledger", {.wait = no_wait})->code(), errc::quarantined);
  EXPECT_EQ(count(kind::evict), 0U);
}

TEST_F(TakeoverOfAQuarantine, TakesItsTimeWhereALockWasSeenInUseBefore) {
  script s = script::yes();
  s.acquire = [](const acquire_request&) -> acquire_answer { return rejection{.why = error(errc::busy)}; };
  store_->follow(s);
  EXPECT_EQ(ask("ledger", {.wait = no_wait})->code(), errc::busy);
  begin_quarantine();
  EXPECT_EQ(ask("ledger", {.wait = no_wait})->code(), errc::quarantined);
  EXPECT_EQ(count(kind::evict), 0U) << "it was open then, so that it has forgotten something";
}

/// Two clients on one virtual clock and one memory store; one of them stops being served.
TEST(TakeoverOnMemory, GivesADeadClientsLockToTheNextWithAGreaterToken) {
  const auto env = std::make_shared<manual_env>();
  const auto shared = std::make_shared<memory::store>();
  const auto client_on = [&](const std::shared_ptr<cremone::env>& e) {
    return std::make_shared<detail::engine>(e,
                                            std::make_shared<memory::memory_backend>(e, shared, "memory://"));
  };
  const auto dead_env = std::make_shared<manual_env>(2);  // its time stands still: it never renews
  const auto dead = client_on(dead_env);
  const auto alive = client_on(env);

  std::optional<lease> old_lease;
  dead->acquire("ledger", {.ttl = 10s}, [&](result<lease> r) { old_lease = std::move(r).value(); });
  std::optional<result<lease>> got;
  alive->acquire("ledger", {.ttl = 10s}, [&](result<lease> r) { got = std::move(r); });
  ASSERT_TRUE(old_lease);
  EXPECT_FALSE(got);

  env->advance(10s);
  EXPECT_FALSE(got);
  env->advance(2s);  // ttl(1 + ρ) and one poll
  ASSERT_TRUE(got && got->has_value());
  EXPECT_GT((*got)->token(), old_lease->token());

  const auto stop = old_lease->get_stop_token();
  dead_env->advance(4s);  // it wakes up and renews: too late
  EXPECT_TRUE(stop.stop_requested());
  EXPECT_FALSE(old_lease->held());
  old_lease.reset();
  EXPECT_EQ(shared->list({env->now(), env->wall_now()}).size(), 1U) << "its release frees nothing of ours";
  dead->close();
  got.reset();
  alive->close();
}

}  // namespace
}  // namespace cremone::test
