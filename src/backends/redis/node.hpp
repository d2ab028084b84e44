// SPDX-License-Identifier: Apache-2.0
//
// One Redis server as something that runs our scripts: EVALSHA, and EVAL where the server does not know the script
// yet. Turns what comes back into the reply or into an error that names the server and the cause; knows nothing of
// what the scripts are for.
#pragma once

#include "backends/redis/pipeline.hpp"
#include "backends/redis/scripts.hpp"
#include "backends/redis/settings.hpp"

#include <cremone/callback.hpp>
#include <cremone/result.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
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
};

using outcome = std::variant<reply, failure>;

/// Threads: all members from any thread; answers come on the executor, except those of close().
class node : public std::enable_shared_from_this<node> {
 public:
  node(std::shared_ptr<env> e, std::shared_ptr<transport> net, node_settings to);

  void start() { line_->start(); }
  void close() noexcept { line_->close(); }

  [[nodiscard]] const node_settings& settings() const noexcept { return to_; }

  /// For messages: the server that is spoken to.
  [[nodiscard]] std::string server() const { return line_->server(); }

  /// Where that is, for those that must be at the same server; see pipeline.
  [[nodiscard]] const std::shared_ptr<whereabouts>& place() const noexcept { return line_->place(); }

  /// `arguments`: the keys, then the rest. The answer is never an error reply: that is a failure.
  void run(const script& s, std::span<const std::string_view> arguments, std::size_t keys,
           std::chrono::milliseconds limit, order_tag tag, callback<void(outcome)> answer);

  void command(std::span<const std::string_view> words, std::chrono::milliseconds limit,
               callback<void(outcome)> answer);

  /// Is a release of this owner on its way, behind the request that was just answered? Then it has given up.
  [[nodiscard]] bool released(std::uint64_t owner) { return line_->released(owner); }

  /// Which commands that the scripts need does the server's ACL deny? Asked only as a named user; nobody else has an ACL to
  /// speak of. Empty: none, or it cannot be told.
  void check_rights(callback<void(std::optional<error>)> answer);

  /// Answers as if the server had refused, without asking it.
  void decline(error why, callback<void(outcome)> answer);

 private:
  void finish(callback<void(outcome)> answer, response&& r);
  void name_rights(callback<void(outcome)> answer, failure f, instant due);
  [[nodiscard]] std::string rights_command() const;
  [[nodiscard]] std::optional<error> lacking(const response& r) const;

  const node_settings to_;
  const std::shared_ptr<pipeline> line_;
};

}  // namespace cremone::redis
