// SPDX-License-Identifier: Apache-2.0
//
// One Redis server in the layout `classic`, which every Redis lock shares: the lock's name is the key, a value of the
// holder's alone stands there, and it expires. Says what the server answered; makes no policy.
#pragma once

#include "backends/redis/answers.hpp"
#include "backends/redis/fitness.hpp"
#include "backends/redis/node.hpp"
#include "backends/redis/notices.hpp"
#include "base/events.hpp"

#include <cremone/backend.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cremone::redis {

/// Keys: the locks, and one hash `<prefix>:classic:fence` with a counter per bucket of names. Channels:
/// `<prefix>:classic:free:<bucket>`.
class classic_backend final : public backend, public std::enable_shared_from_this<classic_backend> {
 public:
  /// Of a lock. The published algorithm's margin: a hundredth of the ttl and 2 ms.
  static constexpr std::int64_t drift_ppm = 10'000;

  classic_backend(std::shared_ptr<env> e, std::shared_ptr<transport> net, const node_settings& to,
                  std::shared_ptr<const event_hub> events);

  /// Begins to connect; calls made meanwhile wait for that, each no longer than its own limit.
  void start(const std::shared_ptr<roster>& all = nullptr, std::size_t number = 0);

  [[nodiscard]] traits describe() const override;
  void try_acquire(const acquire_request& request, callback<void(acquire_answer)> reply) override;
  void renew(std::span<const renewal> items, callback<void(std::vector<answer>)> reply) override;
  void release(const release_request& request, callback<void(answer)> reply) override;
  void evict(const lock_name& name, const hold_version& version, callback<void(answer)> reply) override;
  void force(const lock_name& name, const owner_id& holder, callback<void(answer)> reply) override;
  void inspect(const lock_name& name, callback<void(result<lock_record>)> reply) override;
  void list(callback<void(result<std::vector<lock_record>>)> reply) override;
  void examine(callback<void(result<std::vector<finding>>)> reply) override;
  void await_release(const lock_name& name, const owner_id& waiter,
                     const std::weak_ptr<hint_sink>& wake) override;
  void stop_awaiting(const lock_name& name, const owner_id& waiter, bool served) noexcept override;
  void close() noexcept override;

 private:
  struct renewing;
  struct listing;

  void vote(const acquire_request& request, std::string_view value, std::string_view ttl,
            callback<void(acquire_answer)> reply);
  void say_who(const lock_name& name, const owner_id& asking, callback<void(acquire_answer)> reply);
  [[nodiscard]] acquire_answer judge(const acquire_request& request, std::uint32_t heard, outcome&& o);
  [[nodiscard]] acquire_answer judge_refusal(const acquire_request& request, std::uint32_t heard, reply& r);
  [[nodiscard]] answer judge_removal(std::string_view script, outcome&& o) const;
  void remove(const lock_name& name, const owner_id& owner, std::string_view whose,
              callback<void(answer)> reply);
  void scan(const std::shared_ptr<listing>& l);
  void pick(const std::shared_ptr<listing>& l, const reply& keys);

  const std::shared_ptr<env> env_;
  const std::shared_ptr<node> node_;
  const std::shared_ptr<notices> notices_;
  const std::shared_ptr<const event_hub> events_;
  const std::string fence_;
  const std::shared_ptr<fitness> fitness_;
};

/// What stands at a lock's key; the PTTL as Redis tells it, -1 for none.
[[nodiscard]] hold_record hold_in(const reply& value, const reply& pttl);

}  // namespace cremone::redis
