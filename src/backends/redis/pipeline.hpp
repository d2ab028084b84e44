// SPDX-License-Identifier: Apache-2.0
//
// The one command connection to a server, shared by all locks and threads: requests go out in the order in which they
// were made, many in one write, and replies come back in that order. Decides what becomes of a request when the
// connection is not there, is lost, is silent, or leads to who is no longer the master; knows nothing of locks. A request is sent at most once: whether one
// without an answer was carried out is not known here, and never guessed.
#pragma once

#include "backends/redis/errors.hpp"
#include "backends/redis/pace.hpp"
#include "backends/redis/session.hpp"

#include <cremone/callback.hpp>
#include <cremone/types.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace cremone::redis {

/// What became of a request.
struct response {
  enum class fate : std::uint8_t {
    answered,   ///< `got` is the reply
    not_sent,   ///< it was not carried out and will not be; `why` says why
    no_answer,  ///< it may have been carried out, or may be later
  };
  fate what = fate::not_sent;
  reply got;
  error why{errc::unreachable};
  std::string asked;  ///< answered: the command's bytes, for one that may be asked again in another way,
  instant due{};      ///< and until when
};

/// What the order of requests of one owner depends on. 0: nothing.
struct order_tag {
  std::uint64_t owner = 0;
  bool ends = false;  ///< a release: an acquire of the same owner must not come after it
  /// Keeps or ends a hold: there is room for it also when there is none for more of the others. A release that undoes a
  /// request in doubt must not be turned away because of those requests.
  bool reserved = false;
  /// Renews a hold: if the connection is down, the next attempt to connect comes soon.
  bool renews = false;
  /// Goes before those that wait for a connection: it asks about the server that all the others depend on.
  bool first = false;
};

/// Threads: all members from any thread. Answers come on the executor, except those of close().
class pipeline final : public session_user, public std::enable_shared_from_this<pipeline> {
 public:
  /// Requests without an answer, of all threads. A healthy server has hundreds at most; more only wait longer.
  static constexpr std::size_t most_outstanding = 16'384;

  /// A connection on which nothing came for this long while something was due is given up. Long, because what was
  /// sent on it is still carried out in order when the server wakes up, a release right behind its acquire; on a new
  /// connection it could overtake. A server whose machine is gone is noticed sooner, by TCP itself.
  static constexpr std::chrono::milliseconds stall_limit{10'000};

  pipeline(std::shared_ptr<env> e, std::shared_ptr<transport> net, const node_settings& to);

  /// Called on the executor when the connection is there (null), before anything is sent on it, and when it is lost, with the
  /// reason. To be set before start().
  void on_change(callback<void(const error*)> tell) { tell_ = std::move(tell); }

  /// Begins to connect.
  void start();

  /// For messages: the server that is spoken to, else as the settings name it.
  [[nodiscard]] std::string server();

  /// Where it is, for those that must be at the same server. None without sentinels.
  [[nodiscard]] const std::shared_ptr<whereabouts>& place() const noexcept { return place_; }

  /// Sends a command, given as bytes. The answer comes at most `limit` later, whatever the server does.
  void send(std::string bytes, std::chrono::milliseconds limit, order_tag tag,
            callback<void(response)> answer);

  /// The same for one that the server has just declined to run, from within its answer and for what is left of its time:
  /// not if its owner has been released since.
  void send_again(std::string bytes, instant due, order_tag tag, callback<void(response)> answer);

  /// Is a release of this owner on its way?
  [[nodiscard]] bool released(std::uint64_t owner);

  /// Answers a request that need not be sent to be refused, as if the server had: on the executor.
  void decline(error why, callback<void(response)> answer);

  void close() noexcept;

 private:
  struct request {
    instant asked{};
    instant due{};
    order_tag tag{};
    callback<void(response)>
        answer;  // empty: it was told that there is no answer, and a late one goes nowhere
    std::string bytes;
  };
  enum class state : std::uint8_t { connecting, up, down, closed };

  void trying() override;
  void up(std::shared_ptr<connection> by) override;
  void received(reply&& r) override;
  void down(const error& why) override;

  void answer_refused_by(standing s, request&& of, const reply& r);
  void submit(request r, bool again);
  void put(request&& r);
  void refuse(callback<void(response)> answer, error why);
  void answer_refused();
  void watch(instant due);
  void arm(instant when);
  void on_timer();
  void sweep(instant now);
  [[nodiscard]] error too_many() const;
  [[nodiscard]] bool released_since(std::uint64_t owner) const;

  const std::shared_ptr<env> env_;
  callback<void(const error*)> tell_;  // used on the executor only
  std::shared_ptr<session> session_;
  const std::shared_ptr<transport> net_;
  const node_settings to_;
  const std::shared_ptr<whereabouts> place_;

  std::mutex mutex_;
  std::string node_;  // who is spoken to, for messages; changed on the executor only
  state state_ = state::connecting;
  error trouble_{errc::unreachable};  // why it is down
  std::shared_ptr<connection> connection_;
  std::deque<request> sent_;                                         // in the order of their replies
  std::deque<request> waiting_;                                      // for the connection
  std::vector<std::pair<callback<void(response)>, error>> refused_;  // to be answered on the executor
  std::unique_ptr<timer> timer_;
  instant due_from_ = instant::max();  // no request is due before
  instant armed_ = instant::max();     // when the timer fires
  pace pace_;
  instant heard_{};  // the last reply, or the first request after a quiet time
};

}  // namespace cremone::redis
