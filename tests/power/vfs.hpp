// SPDX-License-Identifier: Apache-2.0
//
// A SQLite VFS that is the "unix" VFS on a disk that can lose power. Nothing is really synced: the disk keeps the
// account of that, and a test of thousands of commits stays quick.
#pragma once

#include "power/disk.hpp"

#include <memory>
#include <string>

namespace cremone::test {

/// Registered while it lives; no connection may outlive it.
class power_vfs {
 public:
  explicit power_vfs(disk& d);
  power_vfs(const power_vfs&) = delete;
  power_vfs& operator=(const power_vfs&) = delete;
  ~power_vfs();

  [[nodiscard]] const char* name() const noexcept;

 private:
  struct registered;
  std::unique_ptr<registered> registered_;
};

}  // namespace cremone::test
