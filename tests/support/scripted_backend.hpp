// SPDX-License-Identifier: Apache-2.0
//
// A store that says what the test tells it to say, when the test tells it to, and remembers what it was asked. It
// keeps no locks: exclusion, queues and tokens are the memory store's business.
#pragma once

#include "base/env.hpp"

#include <cremone/backend.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <variant>
#include <vector>

namespace cremone::test {

/// Answers that are known in advance. A function that is missing, or returns nothing, leaves the call to be
/// answered by scripted_backend::answer(), or not at all.
struct script {
  std::function<std::optional<acquire_answer>(const acquire_request&)> acquire;
  std::function<std::optional<std::vector<answer>>(std::span<const renewal>)> renew;
  std::function<std::optional<answer>(const release_request&)> release;
  std::function<std::optional<answer>(const lock_name&, const hold_version&)> evict;
  std::function<std::optional<answer>(const lock_name&, const owner_id&)> force;

  /// Says yes to everything, with growing tokens.
  [[nodiscard]] static script yes();
};

/// One call as it came in. Names are copies, so that it can be read when the call is long over.
struct store_call {
  enum class kind : std::uint8_t { acquire, renew, release, evict, force, inspect, list };
  struct item {
    lock_name name{""};
    owner_id owner;
    std::uint64_t seq = 0;
    fence_token token;
    std::chrono::milliseconds ttl{};
  };

  kind what{};
  std::size_t index = 0;      ///< its place among all calls; what answer() takes
  instant at{};               ///< when it was made
  lock_name name{""};         ///< of all but renew and list
  owner_id owner{};           ///< of acquire, release and force
  acquire_request request{};  ///< of acquire
  hold_version version{};     ///< of evict
  std::vector<item> items{};  ///< of renew
};

/// A store at a network, over which nothing has been said yet.
[[nodiscard]] traits network_traits();

/// Threads: all members from any thread, as the seam asks.
class scripted_backend final : public backend {
 public:
  /// What close() does about calls that were never answered.
  enum class manners : bool {
    proper,  ///< answers them with unknown, as the seam demands
    rude,    ///< leaves them for ever
  };

  explicit scripted_backend(std::shared_ptr<env> e, traits t = network_traits());

  void follow(script s);
  void behave(manners m);

  /// Answers a call that waits, in the way the traits promise: at once, or on the executor.
  void answer(std::size_t index, acquire_answer a);
  void answer(std::size_t index, cremone::answer a);
  void answer(std::size_t index, std::vector<cremone::answer> a);

  /// Forgets the calls that wait. They hold on to the engine, which holds on to this.
  void drop_waiting();

  [[nodiscard]] std::vector<store_call> calls() const;
  [[nodiscard]] std::vector<store_call> calls(store_call::kind what) const;
  [[nodiscard]] std::size_t waiting() const;
  [[nodiscard]] bool closed() const;

  // The seam.
  [[nodiscard]] traits describe() const override { return traits_; }
  void try_acquire(const acquire_request& request, callback<void(acquire_answer)> reply) override;
  void renew(std::span<const renewal> items, callback<void(std::vector<cremone::answer>)> reply) override;
  void release(const release_request& request, callback<void(cremone::answer)> reply) override;
  void evict(const lock_name& name, const hold_version& version,
             callback<void(cremone::answer)> reply) override;
  void force(const lock_name& name, const owner_id& holder, callback<void(cremone::answer)> reply) override;
  void inspect(const lock_name& name, callback<void(result<lock_record>)> reply) override;
  void list(callback<void(result<std::vector<lock_record>>)> reply) override;
  void close() noexcept override;

 private:
  using reply_to_acquire = callback<void(acquire_answer)>;
  using reply_to_renew = callback<void(std::vector<cremone::answer>)>;
  using reply_to_one = callback<void(cremone::answer)>;
  using waiting_reply = std::variant<reply_to_acquire, reply_to_renew, reply_to_one>;

  std::size_t note(store_call call);
  template <class Answer, class Script>
  void take(store_call call, callback<void(Answer)> reply, Answer when_closed, Script&& scripted);
  template <class Answer>
  void answer_waiting(std::size_t index, Answer a);
  template <class Answer>
  void give(callback<void(Answer)> reply, Answer a);
  void give_up_on(std::size_t index, waiting_reply reply);

  const std::shared_ptr<env> env_;
  const traits traits_;

  mutable std::mutex mutex_;
  std::shared_ptr<const script> script_ = std::make_shared<const script>();
  manners manners_ = manners::proper;
  bool closed_ = false;
  std::vector<store_call> calls_;
  std::map<std::size_t, waiting_reply> waiting_;
};

}  // namespace cremone::test
