// SPDX-License-Identifier: Apache-2.0
//
// One acquire on its way to several nodes: sends what core::coordinator says and tells it what comes back.
#pragma once

#include "core/coordinator.hpp"
#include "engine/quorum/quorum.hpp"

#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace cremone::detail {

/// What the nodes said against it, each once: "a and b: …; c: …". The name of a node is the first word of what it says.
[[nodiscard]] error merged(errc code, const std::vector<error>& reasons);

/// Threads: answers come on any thread. Lives until the last of them is in.
class quorum::acquiring : public std::enable_shared_from_this<acquiring> {
 public:
  acquiring(std::shared_ptr<quorum> by, const acquire_request& request, bool tokens,
            callback<void(acquire_answer)> reply);

  void start();

 private:
  void ask(std::size_t node);
  void take(std::size_t node, acquire_answer&& a);
  void take_commit(std::size_t node, const acquire_answer& a);
  void tick();
  void perform(core::coordinator_action&& action);
  void commit(const core::coordinator_action& action);
  void arm(instant when);
  void succeed(std::uint64_t token);
  void fail();
  void take_back(std::size_t node);
  [[nodiscard]] bool has_failed();
  [[nodiscard]] core::vote_answer note(std::size_t node, acquire_answer&& a, std::uint64_t& number);
  [[nodiscard]] rejection refusal();
  [[nodiscard]] errc code_of_failure() const;

  const std::shared_ptr<quorum> by_;
  acquire_request request_;  // a copy: stragglers read it when the caller's is gone
  const bool join_;
  const std::weak_ptr<hint_sink> wake_;
  instant sent_{};
  callback<void(acquire_answer)> reply_;

  std::mutex mutex_;
  core::coordinator votes_;
  std::vector<std::uint8_t> asked_;  // set before any answer; no bits, which share their bytes
  std::vector<error> reasons_;
  rejection no_;
  std::size_t forgot_nothing_ = 0;  // of those in quarantine
  bool repeated_ = false;
  bool failed_ = false;
  std::unique_ptr<timer> timer_;
};

}  // namespace cremone::detail
