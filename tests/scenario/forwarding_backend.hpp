// SPDX-License-Identifier: Apache-2.0
//
// A store that passes every call on to another one, for tests that want to listen. It changes nothing.
#pragma once

#include <cremone/backend.hpp>

#include <memory>
#include <utility>
#include <vector>

namespace cremone::test {

class forwarding_backend : public backend {
 public:
  explicit forwarding_backend(std::shared_ptr<backend> to) : to_(std::move(to)) {}

  [[nodiscard]] traits describe() const override { return to_->describe(); }

  void try_acquire(const acquire_request& request, callback<void(acquire_answer)> reply) override {
    called();
    to_->try_acquire(request, [this, reply = std::move(reply)](acquire_answer a) mutable {
      if (const auto* yes = std::get_if<grant>(&a)) {
        granted(*yes);
      }
      reply(std::move(a));
    });
  }
  void renew(std::span<const renewal> items, callback<void(std::vector<answer>)> reply) override {
    called();
    to_->renew(items, std::move(reply));
  }
  void release(const release_request& request, callback<void(answer)> reply) override {
    called();
    to_->release(request, std::move(reply));
  }
  void evict(const lock_name& name, const hold_version& version, callback<void(answer)> reply) override {
    called();
    to_->evict(name, version, std::move(reply));
  }
  void force(const lock_name& name, const owner_id& holder, callback<void(answer)> reply) override {
    called();
    to_->force(name, holder, std::move(reply));
  }
  void inspect(const lock_name& name, callback<void(result<lock_record>)> reply) override {
    called();
    to_->inspect(name, std::move(reply));
  }
  void list(callback<void(result<std::vector<lock_record>>)> reply) override {
    called();
    to_->list(std::move(reply));
  }
  void close() noexcept override {
    called();
    to_->close();
  }

 protected:
  // On any thread.
  virtual void called() noexcept {}               ///< something is asked
  virtual void granted(const grant&) noexcept {}  ///< before the caller hears of it

 private:
  const std::shared_ptr<backend> to_;
};

}  // namespace cremone::test
