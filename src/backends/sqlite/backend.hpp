// SPDX-License-Identifier: Apache-2.0
//
// `sqlite://`: the seam over a database file. It adds the time, the waking and the closing, and turns failures into
// answers; the rules are the store's.
#pragma once

#include "backends/sqlite/listener.hpp"
#include "backends/sqlite/store.hpp"
#include "base/env.hpp"

#include <cremone/backend.hpp>

#include <atomic>
#include <memory>
#include <mutex>
#include <string>

namespace cremone::sqlite {

/// Opens the database, making it if there is none.
[[nodiscard]] result<std::shared_ptr<backend>> open_backend(const std::shared_ptr<env>& outside,
                                                            const store_settings& settings);

class sqlite_backend final : public backend {
 public:
  sqlite_backend(std::shared_ptr<env> e, std::shared_ptr<store> s);
  ~sqlite_backend() override;

  [[nodiscard]] traits describe() const override;
  void try_acquire(const acquire_request& request, callback<void(acquire_answer)> reply) override;
  void renew(std::span<const renewal> items, callback<void(std::vector<answer>)> reply) override;
  void release(const release_request& request, callback<void(answer)> reply) override;
  void evict(const lock_name& name, const hold_version& version, callback<void(answer)> reply) override;
  void force(const lock_name& name, const owner_id& holder, callback<void(answer)> reply) override;
  void inspect(const lock_name& name, callback<void(result<lock_record>)> reply) override;
  void list(callback<void(result<std::vector<lock_record>>)> reply) override;
  void examine(callback<void(result<std::vector<finding>>)> reply) override;
  [[nodiscard]] result<int> lifeline() override;
  void close() noexcept override;

 private:
  /// What one opening of the file brings; gone as a whole when somebody deletes the file.
  struct opened {
    explicit opened(std::shared_ptr<store> s);
    std::shared_ptr<store> locks;
    listener waiters;
  };

  [[nodiscard]] std::shared_ptr<opened> current();
  [[nodiscard]] bool has_moved(std::shared_ptr<opened>& in);
  [[nodiscard]] std::shared_ptr<opened> current_file();
  [[nodiscard]] acquire_answer acquire(const acquire_request& request);
  [[nodiscard]] acquire_answer contend(opened& in, const acquire_request& request);
  template <class Removal>
  [[nodiscard]] answer remove(const lock_name& name, Removal removal);
  void wake_next(opened& in, const lock_name& name) noexcept;
  void tidy(opened& in) noexcept;
  [[nodiscard]] store_time time() { return {env_->now(), env_->wall_now()}; }
  [[nodiscard]] error closed_error() const { return {errc::unreachable, shown_ + " was closed"}; }

  const std::shared_ptr<env> env_;
  const store_settings settings_;
  const std::string shown_;
  const std::string identity_;
  std::mutex mutex_;
  bool closed_ = false;
  std::shared_ptr<opened> open_;   // null once closed, and when somebody has deleted the file
  std::weak_ptr<opened> deleted_;  // what was open then, as long as a call is still in it
  std::atomic<std::uint32_t> releases_ = 0;
};

}  // namespace cremone::sqlite
