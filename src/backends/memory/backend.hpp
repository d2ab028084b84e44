// SPDX-License-Identifier: Apache-2.0
//
// `memory://`: the seam over a store in this process. It adds the time and the closing; the rules are the
// store's.
#pragma once

#include "backends/memory/store.hpp"
#include "base/env.hpp"

#include <cremone/backend.hpp>

#include <atomic>
#include <memory>
#include <string>

namespace cremone::memory {

class memory_backend final : public backend {
 public:
  memory_backend(std::shared_ptr<env> e, std::shared_ptr<store> s, std::string shown)
      : env_(std::move(e)), store_(std::move(s)), shown_(std::move(shown)) {}

  [[nodiscard]] traits describe() const override;
  void try_acquire(const acquire_request& request, callback<void(acquire_answer)> reply) override;
  void renew(std::span<const renewal> items, callback<void(std::vector<answer>)> reply) override;
  void release(const release_request& request, callback<void(answer)> reply) override;
  void evict(const lock_name& name, const hold_version& version, callback<void(answer)> reply) override;
  void force(const lock_name& name, const owner_id& holder, callback<void(answer)> reply) override;
  void inspect(const lock_name& name, callback<void(result<lock_record>)> reply) override;
  void list(callback<void(result<std::vector<lock_record>>)> reply) override;
  void examine(callback<void(result<std::vector<finding>>)> reply) override;
  void close() noexcept override { closed_ = true; }

 private:
  [[nodiscard]] store_time time() { return {env_->now(), env_->wall_now()}; }
  [[nodiscard]] error closed_error() const { return {errc::unreachable, shown_ + " was closed"}; }

  const std::shared_ptr<env> env_;
  const std::shared_ptr<store> store_;
  const std::string shown_;
  std::atomic<bool> closed_ = false;
};

/// The store of this name in this process, made when first asked for and gone with its last client. One made anew
/// gives higher tokens than any before it, whatever the clock does.
[[nodiscard]] std::shared_ptr<store> shared_store(const std::string& name);

}  // namespace cremone::memory
