// SPDX-License-Identifier: Apache-2.0
//
// A backend whose calls return their answers: what the store does, without the waiting. Every call is checked
// for what the seam promises of all of them: one answer, within a bound, and where the store answers inline,
// before the call returns and on the caller's thread.
#pragma once

#include "base/env.hpp"

#include <cremone/backend.hpp>

#include <memory>
#include <vector>

namespace cremone::test {

/// Threads: as a backend's. Closes its backend, then stops its env, as a client does.
class blocking_backend {
 public:
  /// `e` is this backend's own, and the one it was made with.
  blocking_backend(std::shared_ptr<env> e, std::shared_ptr<backend> b);
  blocking_backend(const blocking_backend&) = delete;
  blocking_backend& operator=(const blocking_backend&) = delete;
  ~blocking_backend();

  /// For calls that are not waited for.
  [[nodiscard]] backend& seam() noexcept { return *backend_; }
  [[nodiscard]] const traits& like() const noexcept { return traits_; }

  [[nodiscard]] acquire_answer try_acquire(const acquire_request& request);
  [[nodiscard]] std::vector<answer> renew(const std::vector<renewal>& items);
  [[nodiscard]] answer renew(const renewal& item);
  [[nodiscard]] answer release(const lock_name& name, const owner_id& owner);
  [[nodiscard]] answer evict(const lock_name& name, const hold_version& version);
  [[nodiscard]] answer force(const lock_name& name, const owner_id& holder);
  [[nodiscard]] result<lock_record> inspect(const lock_name& name);
  [[nodiscard]] result<std::vector<lock_record>> list();
  void close() noexcept { backend_->close(); }

 private:
  template <class T, class Call>
  [[nodiscard]] T ask(const char* what, T otherwise, std::shared_ptr<const void> kept, Call&& call);

  const std::shared_ptr<env> env_;
  const std::shared_ptr<backend> backend_;
  const traits traits_;
};

}  // namespace cremone::test
