// SPDX-License-Identifier: Apache-2.0
//
// Keeps all leases of one client alive: ticks their watchdogs when due, sends the renewals of all that are due
// in batches, and tells holders of their loss. Which lease is due, extended or lost is decided by core::watchdog.
#pragma once

#include "base/env.hpp"
#include "engine/hold.hpp"

#include <cremone/backend.hpp>

#include <boost/intrusive/list.hpp>

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <vector>

namespace cremone::detail {

/// Threads: all members from any thread. Holds no lock while it calls the backend or user code.
class keeper : public std::enable_shared_from_this<keeper> {
 public:
  /// Leases per renew call of the backend: bounds what one slow answer can delay.
  static constexpr std::size_t batch_limit = 100;

  keeper(std::shared_ptr<env> e, std::shared_ptr<backend> store)
      : env_(std::move(e)), store_(std::move(store)), store_name_(store_->describe().store) {}

  /// False once closed: the caller must release what it got.
  [[nodiscard]] bool add(hold& h);

  /// Reads the clock, and finds out about a loss if no tick has yet.
  [[nodiscard]] bool held(hold& h);

  /// One more handle; lost or not_held when there is nothing to hold on to.
  [[nodiscard]] result<void> add_handle(hold& h);

  /// What giving back one handle leaves to do.
  enum class parting : std::uint8_t {
    others,        ///< other handles keep the hold
    release,       ///< it was held: release it in the store and tell the caller how that went
    release_lost,  ///< it was lost: clear the store behind it; the caller gets `lost`
    lost,          ///< it is lost and other handles know it still
  };
  [[nodiscard]] parting drop_handle(hold& h);

  /// Why the last renewal has not succeeded, if so; why the lease was lost, if it was.
  [[nodiscard]] result<void> last_renewal(hold& h);

  [[nodiscard]] std::stop_token stop_token_of(hold& h);
  void on_lost(hold& h, callback<void(const error&)> fn);

  /// Ends all leases, telling their holders, and returns them for release.
  [[nodiscard]] std::vector<std::shared_ptr<hold>> close();

 private:
  struct batch;
  using due_together = boost::intrusive::list<hold, boost::intrusive::constant_time_size<false>>;
  using due_order = std::map<instant, due_together>;  // never with an empty list

  void tick();
  void send(std::shared_ptr<batch> b);
  void answered(const batch& b, const std::vector<answer>& answers);
  void link(hold& h);
  void requeue(hold& h);
  void unlink(hold& h) noexcept;
  void arm(instant when);
  void lose(hold& h, error why);
  [[nodiscard]] std::string silence_of(const hold& h, instant now) const;
  [[nodiscard]] error ran_out(const hold& h, instant now) const;
  void announce(const std::shared_ptr<hold>& h);

  const std::shared_ptr<env> env_;
  const std::shared_ptr<backend> store_;
  const std::string store_name_;  // for messages

  std::mutex mutex_;
  bool closed_ = false;
  due_order due_;               // by their wake. Few moments for many holds: renewals are due on a grid
  due_order::node_type spare_;  // of a moment that is over: a lock and unlock allocates nothing here
  std::unique_ptr<timer> timer_;
  instant timer_at_ = instant::max();
};

}  // namespace cremone::detail
