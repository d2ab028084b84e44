// SPDX-License-Identifier: Apache-2.0
//
// Who waits for which lock in this client, and the one subscription connection that brings word of releases. A notice is
// a hint: it may be lost or come for nothing, and whoever waits has a timer too. Decides whom to tell; the waiter
// decides what to do about it.
#pragma once

#include "backends/redis/digest.hpp"
#include "backends/redis/session.hpp"

#include <cremone/backend.hpp>
#include <cremone/types.hpp>

#include <array>
#include <atomic>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace cremone::redis {

/// Threads: all members from any thread. Waiters are told with no lock held, on the executor or in the calling thread.
class notices final : public session_user, public std::enable_shared_from_this<notices> {
 public:
  /// `follow`: where the command connection is, with sentinels.
  notices(std::shared_ptr<env> e, std::shared_ptr<transport> net, const node_settings& to,
          std::shared_ptr<whereabouts> follow = nullptr);

  /// The channel on which releases of this bucket's locks are told; the message is the lock's name.
  [[nodiscard]] std::string channel_of(std::uint32_t bucket) const;

  /// How many releases of this bucket were heard of. Who asks for a lock and is refused compares: notices come by another
  /// connection than answers, and that of a release right after the refusal may have come before it.
  [[nodiscard]] std::uint32_t heard(std::uint32_t bucket) const noexcept { return heard_[bucket]; }

  /// This owner was refused and waits from now on. The first waiter brings the connection up. Whoever subscribes is told
  /// once when that is confirmed, so that a release in between is not missed.
  /// True when it did not wait before: only then can it have missed a notice.
  /// `heard`: of the bucket, when it asked. A notice that came since then counts as told, also if it now gives up.
  bool wait(const lock_name& name, const owner_id& owner, std::weak_ptr<hint_sink> sink, std::uint32_t heard);

  /// It waits no more. `served`: it has the lock; else, if it was told of a release and left, the next is told instead.
  void leave(const lock_name& name, const owner_id& owner, bool served);

  /// Why no notice can come, when the server has denied the subscription. Said once: whoever waits next asks the server
  /// again, which may have been told better meanwhile.
  [[nodiscard]] std::optional<error> take_denial();

  void close() noexcept;

 private:
  struct waiter {
    owner_id owner;
    std::weak_ptr<hint_sink> sink;
    bool told = false;  // of a release, and has not asked since
  };
  struct crowd {
    std::uint32_t bucket = 0;
    std::list<waiter> in_order;  // of their coming
  };

  void trying() override {}
  void up(std::shared_ptr<connection> by) override;
  void received(reply&& r) override;
  void down(const error& why) override;

  [[nodiscard]] std::shared_ptr<session> line();
  void subscribe(std::uint32_t bucket);
  /// Lets the first of each lock ask again; of all locks, or of those in this bucket.
  void tell_first_of_each(std::optional<std::uint32_t> bucket);
  void confirmed(std::string_view channel);
  [[nodiscard]] std::optional<std::uint32_t> bucket_in(std::string_view channel) const;
  void released(std::string_view channel, const lock_name& name);
  [[nodiscard]] std::shared_ptr<hint_sink> next_of(const lock_name& name);

  const std::shared_ptr<env> env_;
  const std::shared_ptr<transport> net_;
  const node_settings to_;
  const std::shared_ptr<whereabouts> follow_;
  const std::string channels_;  // what all channels begin with

  std::atomic<std::size_t> waiting_ = 0;  // so that those who never wait pay nothing
  std::array<std::atomic<std::uint32_t>, bucket_count> heard_{};

  std::mutex mutex_;
  bool closed_ = false;
  std::shared_ptr<session> session_;
  std::shared_ptr<connection> connection_;
  std::unordered_map<lock_name, crowd> crowds_;
  std::vector<bool> wanted_;     // by bucket; never unsubscribed: there are no more than bucket_count
  std::size_t unconfirmed_ = 0;  // of those that a new connection subscribed to at once
  std::optional<error> denied_;
};

}  // namespace cremone::redis
