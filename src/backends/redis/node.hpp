// SPDX-License-Identifier: Apache-2.0
//
// One Redis server as something that runs our scripts: EVALSHA, and EVAL where the server does not know the script
// yet; for scripts that are made for one life of a server, which life this is. Turns what comes back into the reply or into an error that names the server and the cause; knows nothing of
// what the scripts are for.
#pragma once

#include "backends/redis/info.hpp"
#include "backends/redis/pipeline.hpp"
#include "backends/redis/scripts.hpp"
#include "backends/redis/settings.hpp"

#include <cremone/callback.hpp>
#include <cremone/result.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace cremone::redis {

/// Why a request brought no reply to work with.
struct failure {
  error why{errc::unreachable};
  bool nothing_done = false;  ///< else it may have been carried out, or may be later
  /// Where the server's ACL denied it: what lacks, empty if the server does not say. Nothing else is a matter of rights.
  std::optional<std::string> lacks{};
};

using outcome = std::variant<reply, failure>;

/// Threads: all members from any thread; answers come on the executor, except those of close().
class node : public std::enable_shared_from_this<node> {
 public:
  node(std::shared_ptr<env> e, std::shared_ptr<transport> net, node_settings to);

  void start();
  void close() noexcept { line_->close(); }

  [[nodiscard]] const node_settings& settings() const noexcept { return to_; }

  /// Called on the executor when the connection is there (null), before anything is sent on it, and when it is lost. To be
  /// set before start().
  void on_change(callback<void(const error*)> tell) { tell_ = std::move(tell); }

  /// Called on the executor with what the server says of itself, for each new connection and for ask_about(). To be set
  /// before start().
  void on_facts(callback<void(const server_facts&)> tell) { facts_ = std::move(tell); }

  /// Asks the server about itself, before anything that waits. The answer is known when those to later requests come.
  void ask_about();

  /// For messages: the server that is spoken to.
  [[nodiscard]] std::string server() const { return line_->server(); }

  /// Where that is, for those that must be at the same server; see pipeline.
  [[nodiscard]] const std::shared_ptr<whereabouts>& place() const noexcept { return line_->place(); }

  /// `arguments`: the keys, then the rest. The answer is never an error reply: that is a failure.
  void run(const script& s, std::span<const std::string_view> arguments, std::size_t keys,
           std::chrono::milliseconds limit, order_tag tag, callback<void(outcome)> answer);

  /// The same with a script that is made for one life of the server. The last argument must be "-"; it is "+" where the
  /// text goes along. The answer is never {'R', …}, by which a script says that it was made for another life.
  void run(record_script which, std::span<const std::string_view> arguments, std::size_t keys,
           std::chrono::milliseconds limit, order_tag tag, callback<void(outcome)> answer);

  void command(std::span<const std::string_view> words, std::chrono::milliseconds limit,
               callback<void(outcome)> answer) {
    command(words, limit, {}, std::move(answer));
  }
  void command(std::span<const std::string_view> words, std::chrono::milliseconds limit, order_tag tag,
               callback<void(outcome)> answer);

  /// Is a release of this owner on its way, behind the request that was just answered? Then it has given up.
  [[nodiscard]] bool released(std::uint64_t owner) { return line_->released(owner); }

  /// The server's life that is known last, as the marker names it; empty before it was asked.
  [[nodiscard]] std::string life() { return book()->life(); }
  [[nodiscard]] std::uint64_t life_number() { return book()->life_number(); }

  /// Which commands that the scripts need does the server's ACL deny? Asked only as a named user; nobody else has an ACL to
  /// speak of. Empty: none, or it cannot be told.
  void check_rights(callback<void(std::optional<error>)> answer);

  /// The command that it asks: answered with the names of those that are denied.
  [[nodiscard]] std::vector<std::string> rights_words() const;

  /// Answers as if the server had refused, without asking it.
  void decline(error why, callback<void(outcome)> answer);

 private:
  /// A request with a script of one life, on its way.
  struct living {
    record_script which;
    order_tag tag;
    std::shared_ptr<const record_book> book;  // what it was sent with last
    int lives = 0;                            // of the server, met by this request
    callback<void(outcome)> answer;
  };

  void finish(callback<void(outcome)> answer, response&& r);
  void take(const std::shared_ptr<living>& l, response&& r);
  void learn(const std::shared_ptr<living>& l, std::string asked, instant due);
  [[nodiscard]] bool learnt(living& l, response& r);
  void send_text(const std::shared_ptr<living>& l, const std::string& asked, instant due);
  [[nodiscard]] std::shared_ptr<const record_book> book();
  void name_rights(callback<void(outcome)> answer, failure f, instant due);
  [[nodiscard]] std::optional<error> lacking(const response& r) const;

  void know(const server_facts& facts);
  void ask_life(std::string question, bool first, void (*then)(node&, const server_facts&));
  void ask_life_now_and_then();

  const std::shared_ptr<env> env_;
  const node_settings to_;
  const std::shared_ptr<pipeline> line_;
  callback<void(const error*)> tell_;
  callback<void(const server_facts&)> facts_;

  /// The server may not know the text of `release`, which goes along with the next one then: a release that has to be sent
  /// twice would come behind the next request for the same lock, which would find it held and wait.
  std::atomic<bool> release_unknown_ = false;

  std::mutex mutex_;
  std::shared_ptr<const record_book> book_;  // of the life known last; made when first needed
  instant life_asked_ = instant::min();      // when it was asked for last, on this connection
};

}  // namespace cremone::redis
