// SPDX-License-Identifier: Apache-2.0
//
// From what a user wrote to what the kernel wants: the addresses of an endpoint. Names are asked for in threads of
// their own, for the system's resolver blocks as long as it likes. Knows nothing of connections.
#pragma once

#include "base/transport.hpp"

#include <cremone/callback.hpp>
#include <cremone/result.hpp>

#include <sys/socket.h>

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace cremone::detail {

struct socket_address {
  sockaddr_storage storage{};
  socklen_t size = 0;

  [[nodiscard]] int family() const noexcept { return storage.ss_family; }
  [[nodiscard]] const sockaddr* get() const noexcept { return reinterpret_cast<const sockaddr*>(&storage); }
  /// "127.0.0.1", for messages; empty for a unix socket.
  [[nodiscard]] std::string shown() const;
};

/// In the order in which they are to be tried; never empty.
using addresses = std::vector<socket_address>;

/// The addresses of an endpoint for which nobody need be asked: a path, or a host in digits. Nothing: it is a name.
[[nodiscard]] std::optional<result<addresses>> known_addresses(const endpoint& where);

/// Looks up names. Asio's own resolver is not used: its thread is joined when the loop goes, and so a silent name
/// server would hold up whoever closes a client. Threads: from any thread.
class name_lookup : public std::enable_shared_from_this<name_lookup> {
 public:
  /// `done` is called once, on a thread that has nothing else to do, however late; or an error is returned, and it
  /// is not called at all.
  [[nodiscard]] result<void> start(const endpoint& where, callback<void(result<addresses>)> done);

 private:
  std::atomic<int> running_ = 0;
};

}  // namespace cremone::detail
