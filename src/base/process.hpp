// SPDX-License-Identifier: Apache-2.0
//
// Which process is this? After fork the child has copies of every client and lease, and must act on none of
// them: the first thing that any call does, before any mutex, is to compare stamps.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace cremone {

/// A number that a process shares with no other, its forked children included. One load.
[[nodiscard]] std::uint64_t process_stamp() noexcept;

/// Keeps an inherited object alive for ever, because destroying it would join threads that do not exist here and
/// close what the parent uses.
void leak_in_child(std::shared_ptr<void> inherited) noexcept;

/// Host, pid and user, for the owner data of a record. Asked once per client.
struct process_identity {
  std::string host;
  std::int64_t pid = 0;
  std::string user;
};
[[nodiscard]] process_identity this_process();

}  // namespace cremone
