// SPDX-License-Identifier: Apache-2.0
//
// One Redis server in the layout `record`: a record of our own for each lock, which no clock of the server's can end, a queue,
// and a marker by which a server that may have forgotten is noticed. Says what the server answered; makes no policy. The rules
// of the records are in lua/record.
#pragma once

#include "backends/redis/admission.hpp"
#include "backends/redis/answers.hpp"
#include "backends/redis/clock_watch.hpp"
#include "backends/redis/fitness.hpp"
#include "backends/redis/node.hpp"
#include "backends/redis/notices.hpp"
#include "backends/redis/wakes.hpp"
#include "base/events.hpp"

#include <cremone/backend.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cremone::redis {

/// Keys, all of which begin with the prefix: `boot`, the marker; `count:<bucket>`, a counter for each bucket of names;
/// `lock:<name>`, `queue:<name>`, `wait:<name>`, which go again. Channels: `wake:<client>`.
class record_backend final : public backend, public std::enable_shared_from_this<record_backend> {
 public:
  record_backend(std::shared_ptr<env> e, std::shared_ptr<transport> net, const node_settings& to,
                 std::shared_ptr<const event_hub> events);

  /// Begins to connect; calls made meanwhile wait for that, each no longer than its own limit.
  void start(const std::shared_ptr<roster>& all = nullptr, std::size_t number = 0);

  [[nodiscard]] traits describe() const override;
  void try_acquire(const acquire_request& request, callback<void(acquire_answer)> reply) override;
  void renew(std::span<const renewal> items, callback<void(std::vector<answer>)> reply) override;
  void release(const release_request& request, callback<void(answer)> reply) override;
  /// Of the hold that stands for a quarantine: ends that.
  void evict(const lock_name& name, const hold_version& version, callback<void(answer)> reply) override;
  void force(const lock_name& name, const owner_id& holder, callback<void(answer)> reply) override;
  void inspect(const lock_name& name, callback<void(result<lock_record>)> reply) override;
  void list(callback<void(result<std::vector<lock_record>>)> reply) override;
  void sweep(std::uint64_t cursor, callback<void(result<sweep_step>)> reply) override;
  void examine(callback<void(result<std::vector<finding>>)> reply) override;
  void quarantine(callback<void(result<std::vector<quarantine_state>>)> reply) override;
  void end_quarantine(callback<void(answer)> reply) override;
  void commit(const lock_name& name, const owner_id& owner, fence_token token,
              callback<void(acquire_answer)> reply) override;
  void floor(callback<void(result<token_floor>)> reply) override;
  void admit(const admission& order, callback<void(answer)> reply) override;
  void await_release(const lock_name& name, const owner_id& waiter,
                     const std::weak_ptr<hint_sink>& wake) override;
  void stop_awaiting(const lock_name& name, const owner_id& waiter, bool served) noexcept override;
  void close() noexcept override;

 private:
  struct renewing;
  struct listing;

  /// The keys of one lock.
  struct lock_keys {
    std::string count;
    std::string lock;
    std::string queue;
    std::string wait;
  };
  /// Where several servers vote there is no queue, and nothing of it is sent along.
  [[nodiscard]] bool queues() const noexcept { return node_->settings().voters == 1; }
  [[nodiscard]] lock_keys keys_of(const lock_name& name) const;
  [[nodiscard]] std::string lock_key(const lock_name& name) const { return locks_ + name.str(); }
  [[nodiscard]] std::string count_key(const lock_name& name) const;

  void tell_that_they_listen(const lock_name& name, const std::vector<owner_id>& owners);
  /// What it takes to judge the answer to an acquire.
  struct asked {
    const acquire_request& request;
    instant sent{};
    bool listened = false;  // could it have been told of its turn?
  };
  void judge(const asked& by, outcome&& o, callback<void(acquire_answer)> reply);
  [[nodiscard]] acquire_answer judge_refusal(const asked& by, reply& r);
  [[nodiscard]] answer judge_removal(record_script which, instant sent, outcome&& o);
  void remove(const lock_name& name, const hold_version& version, std::string_view by,
              callback<void(answer)> reply);

  // Quarantine.
  void refuse_for_now(const std::string& marker, std::optional<wall_time> theirs,
                      callback<void(acquire_answer)> reply);
  [[nodiscard]] rejection quarantined(const quarantine_mark& mark, bool nothing_forgotten,
                                      std::optional<wall_time> theirs) const;
  /// Why the clocks keep the quarantine from ending by itself, if they do.
  [[nodiscard]] std::optional<std::string> kept_by_clocks(std::optional<wall_time> theirs) const;
  void admit(const std::string& mark, fence_token floor, bool by_clock, callback<void(answer)> reply);
  [[nodiscard]] error other_settings(std::string_view theirs) const;
  [[nodiscard]] answer judge_admission(instant sent, outcome&& o);
  [[nodiscard]] result<quarantine_state> state_in(std::string_view marker) const;

  void scan(const std::string& cursor, std::string_view count,
            callback<void(result<std::pair<std::string, std::vector<lock_record>>>)> reply);
  void scan_on(const std::shared_ptr<listing>& l);
  void look(std::vector<lock_name> names, std::string_view which,
            callback<void(result<std::vector<lock_record>>)> reply);
  [[nodiscard]] result<std::vector<lock_record>> locks_in(const std::vector<lock_name>& names,
                                                          const reply& r) const;

  [[nodiscard]] node_vote vote_on(const lock_record& lock, const reply& r, wall_time before) const;

  /// Every answer has the server's time in its second place.
  void check_clock(instant sent, const reply& r);
  [[nodiscard]] error nonsense(record_script which, const reply& r) const;

  const std::shared_ptr<env> env_;
  const std::shared_ptr<node> node_;
  const std::shared_ptr<wakes> wakes_;
  const std::shared_ptr<notices> notices_;  // of releases, where several vote and there is no queue
  const std::shared_ptr<const event_hub> events_;
  const std::shared_ptr<fitness> fitness_;
  const std::string boot_;
  const std::string locks_;       // what the keys of all locks begin with
  const std::string settings_;    // what all who use the prefix must agree on
  const std::string remembered_;  // for how long a free lock is, in ms

  std::mutex mutex_;
  std::string self_;  // who we are, as of the first request
  clock_watch clock_;
  /// The quarantine seen last.
  struct seen_quarantine {
    std::string marker;
    owner_id life{};  // stands for it in the seam
    std::optional<bool> nothing_forgotten{};
  };
  seen_quarantine quarantine_;
};

}  // namespace cremone::redis
