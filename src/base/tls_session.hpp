// SPDX-License-Identifier: Apache-2.0
//
// TLS without I/O: sealed bytes in, plain bytes out, and the other way round. Decides whom to trust; knows no socket
// and no thread of its own. OpenSSL is known to its .cpp file alone.
#pragma once

#include "base/transport.hpp"

#include <cremone/result.hpp>

#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace cremone::detail {

/// The client's end of one TLS connection. What it has to say goes out with the next seal(), always in the order in
/// which it was made. Threads: all members from any thread.
class tls_session {
 public:
  /// Reads the files that the settings name. REQUIRES: where.tls
  [[nodiscard]] static result<std::unique_ptr<tls_session>> make(const endpoint& where);

  tls_session(const tls_session&) = delete;
  tls_session& operator=(const tls_session&) = delete;
  ~tls_session();

  /// Bytes from the peer; appends to `plain` what they mean. Called once without any to begin.
  void take(std::string_view bytes, std::string& plain);

  /// Appends to `sealed` what is to be sent: answers to the peer, and `plain`. False if `plain` cannot be sent any
  /// more.
  [[nodiscard]] bool seal(std::string_view plain, std::string& sealed);

  [[nodiscard]] bool wants_to_send() const noexcept;

  /// The peer is who it should be, and both have their keys.
  [[nodiscard]] bool established() const noexcept;

  /// Why nothing more comes of it, if that is so.
  [[nodiscard]] std::optional<error> ended() const;

 private:
  class session;
  explicit tls_session(std::unique_ptr<session> made) noexcept;

  std::unique_ptr<session> session_;
};

}  // namespace cremone::detail
