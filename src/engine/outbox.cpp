// SPDX-License-Identifier: Apache-2.0
#include "engine/outbox.hpp"

#include "base/tls_session.hpp"

#include <sys/socket.h>

#include <cerrno>

namespace cremone::detail {
namespace {

/// Memory that a buffer keeps for the next time. Much more than a batch of requests, and little enough to keep.
constexpr std::size_t kept_capacity = 256UL * 1024;

void empty(std::string& buffer) {
  if (buffer.capacity() > kept_capacity) {
    std::string().swap(buffer);
  } else {
    buffer.clear();
  }
}

}  // namespace

void outbox::put(std::string_view bytes) {
  const std::lock_guard lock(mutex_);
  if (stage_ == stage::accepting) {
    waiting_.append(bytes);
  }
}

bool outbox::anything() const noexcept {
  return !waiting_.empty() || (tls_ != nullptr && tls_->wants_to_send());
}

void outbox::flush() {
  {
    const std::lock_guard lock(mutex_);
    if (writing_ || held_ || !anything()) {
      return;
    }
    writing_ = true;
  }
  write();
}

void outbox::hold() noexcept {
  const std::lock_guard lock(mutex_);
  held_ = true;
}

void outbox::release() {
  {
    const std::lock_guard lock(mutex_);
    held_ = false;
    if (writing_ || !anything()) {
      return;
    }
    writing_ = true;
  }
  write();
}

/// REQUIRES: writing_ is the caller's.
void outbox::write() {
  for (;;) {
    if (sent_ == sending_.size()) {
      if (!refill()) {
        return;
      }
      continue;
    }
    const ssize_t n = send_some();
    if (n >= 0) {
      sent_ += static_cast<std::size_t>(n);
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      stuck_();  // and writing_ stays taken, for resume()
      return;
    } else if (errno != EINTR) {
      broken(errno);  // and writing_ stays taken, for ever
      return;
    }
  }
}

/// The next piece to send. False: there is none, and writing_ is no longer the caller's.
bool outbox::refill() {
  empty(sending_);
  sent_ = 0;
  {
    const std::lock_guard lock(mutex_);
    if (held_ || stage_ == stage::shut || !anything()) {
      writing_ = false;
      return false;
    }
    waiting_.swap(tls_ != nullptr ? plain_ : sending_);
    if (tls_ == nullptr) {
      return true;
    }
  }
  const bool sealed = tls_->seal(plain_, sending_);
  empty(plain_);
  if (!sealed) {
    broken(EPROTO);  // and writing_ stays taken, for ever
  }
  return sealed;
}

ssize_t outbox::send_some() noexcept {
  const std::lock_guard lock(fd_mutex_);
  return ::send(fd_, sending_.data() + sent_, sending_.size() - sent_, MSG_NOSIGNAL | MSG_DONTWAIT);
}

void outbox::broken(int why) noexcept {
  {
    const std::lock_guard lock(mutex_);
    failure_ = why;
    stage_ = stage::shut;
    empty(waiting_);
  }
  shut_descriptor();
}

void outbox::shut_descriptor() noexcept {
  const std::lock_guard lock(fd_mutex_);
  if (fd_ >= 0) {
    ::shutdown(fd_, SHUT_RDWR);
  }
}

int outbox::failure() const noexcept {
  const std::lock_guard lock(mutex_);
  return failure_;
}

void outbox::shut() noexcept {
  {
    const std::lock_guard lock(mutex_);
    stage_ = stage::shut;
    empty(waiting_);
  }
  shut_descriptor();
}

void outbox::attach(int fd, tls_session* tls) noexcept {
  {
    const std::lock_guard lock(mutex_);
    tls_ = tls;
  }
  const std::lock_guard lock(fd_mutex_);
  fd_ = fd;
}

void outbox::accept() noexcept {
  const std::lock_guard lock(mutex_);
  if (stage_ == stage::not_yet) {
    stage_ = stage::accepting;
  }
}

void outbox::detach() noexcept {
  shut();
  const std::lock_guard lock(fd_mutex_);
  fd_ = -1;
}

}  // namespace cremone::detail
