// SPDX-License-Identifier: Apache-2.0
//
// One client's engine: its env, its store, its leases, its waiting acquires, and an end that is bounded. It does
// what core decides.
#pragma once

#include "base/env.hpp"
#include "base/events.hpp"
#include "base/process.hpp"
#include "engine/keeper.hpp"
#include "engine/lookout.hpp"
#include "engine/sweeper.hpp"
#include "engine/warden.hpp"

#include <cremone/backend.hpp>
#include <cremone/client.hpp>
#include <cremone/options.hpp>
#include <cremone/result.hpp>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

namespace cremone::detail {

class acquire_op;
class release_op;

/// The answer to whatever is asked of a client after close(), or is cut short by it.
[[nodiscard]] inline error client_closed() { return {errc::cancelled, "the client was closed"}; }

/// Threads: all members from any thread.
class engine : public std::enable_shared_from_this<engine> {
 public:
  /// `seen`: where what is seen of holders outlives this process; null: nowhere. `me`: what others are shown of it.
  engine(std::shared_ptr<env> e, std::shared_ptr<backend> store, std::unique_ptr<seen_notes> seen = nullptr,
         std::shared_ptr<const event_hub> events = std::make_shared<const event_hub>(),
         process_identity me = this_process());

  /// False in a forked child, which must touch nothing. Checked before any mutex.
  [[nodiscard]] bool at_home() const noexcept { return stamp_ == process_stamp(); }
  [[nodiscard]] error not_at_home() const;

  /// Would these be taken? Asks no store.
  [[nodiscard]] result<void> check(const lock_name& name, const acquire_options& options) const;

  /// Starts an acquisition. `done` is called once, on any thread, perhaps before this returns; it must not block
  /// and must not call user code. The returned operation can be cancelled; null when it was refused at once.
  std::shared_ptr<acquire_op> acquire(const lock_name& name, const acquire_options& options,
                                      callback<void(result<lease>)> done);

  /// Makes the store forget an owner, trying again while `patience` lasts. `done` as above.
  void release(const lock_name& name, const owner_id& owner, std::chrono::milliseconds patience,
               callback<void(result<void>)> done);

  /// Gives one handle of a hold back; the last one releases it.
  void end_handle(const std::shared_ptr<hold>& h, callback<void(result<void>)> done);

  /// Waits at most `grace` on the system's own clock for answers that are outstanding.
  void close(std::chrono::milliseconds grace = client::close_grace) noexcept;

  // For the operations.
  [[nodiscard]] env& outside() noexcept { return *env_; }
  [[nodiscard]] backend& store() noexcept { return *store_; }
  [[nodiscard]] const traits& store_traits() const noexcept { return traits_; }
  [[nodiscard]] keeper& leases() noexcept { return *leases_; }
  [[nodiscard]] const event_hub& events() const noexcept { return *events_; }
  [[nodiscard]] lookout& holders() noexcept { return holders_; }
  [[nodiscard]] std::chrono::nanoseconds phase() const noexcept { return phase_; }
  [[nodiscard]] owner_id fresh_owner() noexcept;
  /// Of an operation, in the order in which they began.
  [[nodiscard]] std::uint64_t next_number() noexcept { return ++numbers_; }
  [[nodiscard]] bool closed() const noexcept { return closed_; }

  /// Says how long it still takes; whoever asks has seen it from now on.
  void watch_quarantine(quarantine_state& state);

  /// Some of the store's servers are in quarantine, and the others decide without them.
  void look_after_quarantines();

  /// A lock was granted, or is held by another: the store gives out locks.
  void gave_out();

  /// Waiting acquires register, so that close() can end them. False once closed.
  [[nodiscard]] bool register_waiting(const std::shared_ptr<acquire_op>& op);
  void unregister_waiting(const std::shared_ptr<acquire_op>& op) noexcept;

  // An acquisition or a release is over.
  void finished() noexcept;
  void finished(const std::shared_ptr<release_op>& op) noexcept;

 private:
  /// Counts one acquisition, release or sweep among those under way, for as long as it lives or, once handed over, until the
  /// operation says finished().
  class activity {
   public:
    explicit activity(engine& e) noexcept : engine_(&e) { ++e.under_way_; }
    activity(const activity&) = delete;
    activity& operator=(const activity&) = delete;
    ~activity() {
      if (engine_ != nullptr) {
        engine_->finished();
      }
    }
    void hand_over() noexcept { engine_ = nullptr; }

   private:
    engine* engine_;
  };

  void part(hold& h, callback<void(result<void>)> done);

  const std::uint64_t stamp_ = process_stamp();
  const process_identity me_;
  const std::shared_ptr<env> env_;
  const std::shared_ptr<backend> store_;
  const traits traits_;
  const std::shared_ptr<const event_hub> events_;
  const std::shared_ptr<keeper> leases_;
  const std::chrono::nanoseconds
      phase_;  // of this client's renewals, so that many clients do not renew at once

  lookout holders_;
  std::atomic<bool> seen_open_ = false;
  const std::shared_ptr<warden> warden_;    // null where there is one server, or none that forgets
  const std::shared_ptr<sweeper> sweeper_;  // null where nothing needs to be swept

  std::atomic<bool> closed_ = false;
  std::atomic<std::uint64_t> numbers_ = 0;
  std::atomic<std::size_t> under_way_ = 0;  // acquisitions and releases

  std::mutex mutex_;
  std::condition_variable quiet_;
  // In the order in which they began, so that a simulated close() does the same each time.
  std::map<std::uint64_t, std::shared_ptr<acquire_op>> waiting_;
  std::map<std::uint64_t, std::shared_ptr<release_op>>
      releases_;           // those that have to wait: their timers reach them weakly
  bool given_up_ = false;  // no release waits any more
};

/// What the public classes let the library, and its tests, do behind them.
struct access {
  [[nodiscard]] static client make_client(std::shared_ptr<engine> e) { return client(std::move(e)); }
  [[nodiscard]] static const std::shared_ptr<engine>& engine_of(const client& c) { return c.engine_; }
};

}  // namespace cremone::detail
