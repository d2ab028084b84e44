// SPDX-License-Identifier: Apache-2.0
//
// The sending side of a connection: gathers what many threads put, and lets one of them at a time hand it to the
// kernel. Decides who writes and when; knows neither where the bytes go nor what they mean.
#pragma once

#include <cremone/callback.hpp>

#include <sys/types.h>

#include <cstddef>
#include <mutex>
#include <string>
#include <string_view>

namespace cremone::detail {

class tls_session;

/// Threads: all members from any thread, except those for the loop, which its thread alone calls.
///
/// Of all who want to write, the first does, in write(), until nothing is left or the kernel takes no more; it has
/// `writing_` meanwhile, and the others leave. No lock that put() takes is held during a system call.
class outbox {
 public:
  /// `stuck` is called, without any lock, when the kernel takes no more; once it does again, resume() is due.
  explicit outbox(callback<void()> stuck) : stuck_(std::move(stuck)) {}
  outbox(const outbox&) = delete;
  outbox& operator=(const outbox&) = delete;

  void put(std::string_view bytes);
  void flush();

  /// Nothing is taken or written from now on, and the peer is told so at once.
  void shut() noexcept;

  /// Why the kernel refused to send, an errno; 0 if it did not. The descriptor was shut down then, so that its reader
  /// reads what has arrived, and then the end.
  [[nodiscard]] int failure() const noexcept;

  // For the loop: its descriptor, through TLS or not.
  void attach(int fd, tls_session* tls) noexcept;
  void accept() noexcept;  ///< from now on it takes what is put
  void hold() noexcept;    ///< nothing is written until release(), which writes it all at once
  void release();
  void resume() { write(); }
  void
  detach() noexcept;  ///< waits for a send that is under way, which never blocks; afterwards there is none

 private:
  [[nodiscard]] bool anything() const noexcept;
  void write();
  [[nodiscard]] bool refill();
  [[nodiscard]] ssize_t send_some() noexcept;
  void broken(int why) noexcept;
  void shut_descriptor() noexcept;

  enum class stage : char { not_yet, accepting, shut };

  callback<void()> stuck_;

  mutable std::mutex mutex_;
  stage stage_ = stage::not_yet;
  bool writing_ = false;
  bool held_ = false;
  int failure_ = 0;
  tls_session* tls_ = nullptr;
  std::string waiting_;

  // Of whoever has writing_.
  std::string plain_;  // of waiting_, on its way through TLS
  std::string sending_;
  std::size_t sent_ = 0;

  // Held during each system call, so that the number of a closed descriptor, which may be somebody else's file by
  // now, is never written to.
  std::mutex fd_mutex_;
  int fd_ = -1;
};

}  // namespace cremone::detail
