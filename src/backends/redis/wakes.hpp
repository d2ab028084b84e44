// SPDX-License-Identifier: Apache-2.0
//
// Those of this client who wait in a server's queues, and the one connection by which each hears of its turn. The server names
// the waiter and tells nobody else. A wake is a hint: it may be lost, and whoever waits has a timer too.
#pragma once

#include "backends/redis/session.hpp"

#include <cremone/backend.hpp>
#include <cremone/callback.hpp>
#include <cremone/types.hpp>

#include <atomic>
#include <cstddef>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cremone::redis {

/// Threads: all members from any thread. Waiters are told with no lock held, on the executor or in the calling thread.
class wakes final : public session_user, public std::enable_shared_from_this<wakes> {
 public:
  /// `follow`: where the command connection is, with sentinels.
  wakes(std::shared_ptr<env> e, std::shared_ptr<transport> net, const node_settings& to,
        std::shared_ptr<whereabouts> follow = nullptr);

  /// The channel of this client, which no other has, as the server is told of it: with a '-' before it while nobody listens
  /// yet. The server passes over those who cannot be told, and who is about to listen must not be taken for one who is gone.
  [[nodiscard]] std::string_view channel() const noexcept {
    return listening_ ? std::string_view(channel_).substr(1) : std::string_view(channel_);
  }

  /// Called on the executor when the connection listens for the first time, for each lock with those who wait for it: the
  /// server is to be told. Before the first wait().
  using listening_note = callback<void(const lock_name& name, const std::vector<owner_id>& owners)>;
  void on_listening(listening_note note) { note_ = std::move(note); }

  /// This owner is in a lock's queue from now on, as one who listens or who was about to. The first brings the connection up.
  /// When that listens after it was lost, all ask again.
  void wait(const lock_name& name, const owner_id& owner, std::weak_ptr<hint_sink> sink, bool listened);

  /// It waits no more.
  void leave(const owner_id& owner) noexcept;

  /// Why no wake can come, when the server has denied the subscription. Said once: whoever waits next asks the server
  /// again, which may have been told better meanwhile.
  [[nodiscard]] std::optional<error> take_denial();

  void close() noexcept;

 private:
  void trying() override {}
  void up(std::shared_ptr<connection> by) override;
  void received(reply&& r) override;
  void down(const error& why) override;

  [[nodiscard]] std::shared_ptr<session> line();
  void subscribe();
  void called(const owner_id& owner);
  void tell_all();
  void note_all();

  const std::shared_ptr<env> env_;
  const std::shared_ptr<transport> net_;
  const node_settings to_;
  const std::shared_ptr<whereabouts> follow_;
  const std::string channel_;  // with the '-'
  listening_note note_;

  std::atomic<bool> listening_ = false;

  std::mutex mutex_;
  bool closed_ = false;
  std::shared_ptr<session> session_;
  std::shared_ptr<connection> connection_;
  struct waiter {
    lock_name name;
    std::weak_ptr<hint_sink> sink;
  };
  std::map<owner_id, waiter> waiting_;
  bool was_lost_ = false;  // the connection, after it had listened; on the executor only
  // Called before it was known that they wait: wakes come by another connection than answers. As many as can be refused at
  // about the same moment; who falls out asks again by its timer.
  std::deque<owner_id> early_;
  std::optional<error> denied_;
};

}  // namespace cremone::redis
