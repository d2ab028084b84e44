// SPDX-License-Identifier: Apache-2.0
//
// A backend that behaves as if its store were behind a network: what is asked is done at once, and answered later
// on the env's executor. Without a queue it also stands for stores that keep none and send no hints. For tests of
// what must hold on such stores; it loses, delays and reorders nothing.
#pragma once

#include "base/env.hpp"

#include <cremone/backend.hpp>

#include <memory>
#include <mutex>
#include <set>

namespace cremone::test {

class distant_backend final : public backend {
 public:
  enum class queue : bool { none, as_inside };

  /// `inside` must answer inline.
  distant_backend(std::shared_ptr<env> e, std::shared_ptr<backend> inside, queue q)
      : env_(std::move(e)), inside_(std::move(inside)), queue_(q) {}

  [[nodiscard]] traits describe() const override;
  void try_acquire(const acquire_request& request, callback<void(acquire_answer)> reply) override;
  void renew(std::span<const renewal> items, callback<void(std::vector<answer>)> reply) override;
  void release(const release_request& request, callback<void(answer)> reply) override;
  void evict(const lock_name& name, const hold_version& version, callback<void(answer)> reply) override;
  void force(const lock_name& name, const owner_id& holder, callback<void(answer)> reply) override;
  void inspect(const lock_name& name, callback<void(result<lock_record>)> reply) override;
  void list(callback<void(result<std::vector<lock_record>>)> reply) override;
  void close() noexcept override;

 private:
  /// A call that is carried out and not answered yet.
  class outstanding {
   public:
    outstanding() = default;
    outstanding(const outstanding&) = delete;
    outstanding& operator=(const outstanding&) = delete;
    virtual ~outstanding() = default;
    virtual void answer() = 0;
    virtual void answer_in_doubt() = 0;
  };
  template <class T>
  class call;

  /// Answers `reply` later with `a`, or with `in_doubt` if the backend is closed before that.
  template <class T>
  void answer_later(callback<void(T)> reply, T a, T in_doubt);

  const std::shared_ptr<env> env_;
  const std::shared_ptr<backend> inside_;
  const queue queue_;

  /// Shared with what is posted, which may run when this is gone.
  struct in_flight {
    std::mutex mutex;
    std::set<std::shared_ptr<outstanding>> calls;
    bool closed = false;
  };
  const std::shared_ptr<in_flight> flight_ = std::make_shared<in_flight>();
};

}  // namespace cremone::test
