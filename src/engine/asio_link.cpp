// SPDX-License-Identifier: Apache-2.0
#include "engine/asio_link.hpp"

#include "base/descriptor.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <system_error>
#include <utility>

namespace cremone::detail {
namespace {

/// How long bytes may stay unacknowledged before the kernel gives the connection up. A machine that is gone or cut off
/// is so noticed well within a lease. A server that is merely stopped keeps its connection, for its kernel goes on
/// acknowledging until the server's receive buffer is full.
constexpr std::chrono::milliseconds unacknowledged_bound{10'000};

/// When nothing is said, the kernel asks after this time whether the peer is there, and then this often: a connection
/// that only listens would never notice otherwise.
constexpr std::chrono::seconds quiet_bound{10};
constexpr std::chrono::seconds probe_interval{2};

/// The most that is read at once: some hundreds of replies.
constexpr std::size_t read_size = 32UL * 1024;

std::string text_of(int number) { return std::generic_category().message(number); }

void set_option(int fd, int level, int name, int value) noexcept {
  ::setsockopt(fd, level, name, &value,
               sizeof value);  // each of them is an improvement, and none a condition
}

void set_tcp_options(int fd) noexcept {
  set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
  set_option(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, static_cast<int>(unacknowledged_bound.count()));
  set_option(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
  set_option(fd, IPPROTO_TCP, TCP_KEEPIDLE, static_cast<int>(quiet_bound.count()));
  set_option(fd, IPPROTO_TCP, TCP_KEEPINTVL, static_cast<int>(probe_interval.count()));
}

/// Whoever connects to a free port of the machine's own may be given that very port as the local one, and is then
/// connected to itself.
bool is_connected_to_itself(int fd) noexcept {
  sockaddr_storage here{};
  sockaddr_storage there{};
  socklen_t here_size = sizeof here;
  socklen_t there_size = sizeof there;
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&here), &here_size) != 0 || here.ss_family == AF_UNIX ||
      ::getpeername(fd, reinterpret_cast<sockaddr*>(&there), &there_size) != 0 || here_size != there_size) {
    return false;
  }
  const auto* first = reinterpret_cast<const char*>(&here);
  return std::equal(first, first + here_size, reinterpret_cast<const char*>(&there));
}

}  // namespace

asio_link::asio_link(endpoint where, std::weak_ptr<connection_events> events, live_links& links,
                     std::shared_ptr<loop_gate> gate, std::shared_ptr<name_lookup> names)
    : where_(std::move(where)),
      events_(std::move(events)),
      links_(links),
      gate_(std::move(gate)),
      names_(std::move(names)),
      out_([this] { wait_until_writable(); }) {}

void asio_link::close() noexcept {
  if (over_.exchange(true)) {
    return;
  }
  out_.shut();  // the peer learns at once; the descriptor is closed where it is read, on the loop
  gate_->post([self = shared_from_this()] { self->leave(); });
}

void asio_link::drop() noexcept {
  out_.detach();
  socket_.reset();
}

void asio_link::leave() noexcept {
  if (next_ < addresses_.size()) {  // connected there, or in the middle of it
    links_.first_address(where_.shown()) = first_ + next_ + (connected_ ? 0 : 1);
  }
  drop();
  links_.remove(shared_from_this());
}

void asio_link::fail(const error& why) {
  if (over_.exchange(true)) {
    return;
  }
  leave();
  if (const auto events = events_.lock()) {
    events->closed(why);
  }
}

// ---- from an endpoint to a connected socket ------------------------------------------------------------------------

void asio_link::start() {
  if (over_) {
    return;
  }
  if (where_.tls) {
    auto made = tls_session::make(where_);
    if (!made) {
      fail(made.error());
      return;
    }
    tls_ = std::move(*made);
  }
  if (auto known = known_addresses(where_)) {
    resolved(std::move(*known));
    return;
  }
  // The thread holds us weakly: it may take much longer than anybody is interested.
  auto started = names_->start(where_, [weak = weak_from_this(), gate = gate_](result<addresses> found) {
    gate->post([weak, got = std::move(found)]() mutable {
      if (const auto self = weak.lock()) {
        self->resolved(std::move(got));
      }
    });
  });
  if (!started) {
    fail(started.error());
  }
}

void asio_link::resolved(result<addresses> found) {
  if (over_) {
    return;
  }
  if (!found) {
    fail(found.error());
    return;
  }
  addresses_ = std::move(*found);
  first_ = links_.first_address(where_.shown()) % addresses_.size();
  std::rotate(addresses_.begin(), addresses_.begin() + static_cast<std::ptrdiff_t>(first_), addresses_.end());
  connect_next();
}

void asio_link::connect_next() {
  for (; next_ < addresses_.size(); ++next_) {
    const int failed = try_connect(addresses_[next_]);
    if (failed == 0) {
      connected();
      return;
    }
    if (failed == EINPROGRESS) {
      socket_->async_wait(
          socket_->wait_write,
          [self = shared_from_this()](const boost::system::error_code& ec) { self->connect_ended(ec); });
      return;
    }
    refused(failed);
  }
  const bool may_not = last_refusal_ == EACCES && !where_.path.empty();  // the socket's file says who may
  fail({may_not ? errc::access_denied : errc::unreachable,
        "cannot connect to " + where_.shown() + ": " + refusals_});
}

/// An errno; EINPROGRESS: the socket tells when it is writable.
int asio_link::try_connect(const socket_address& to) {
  // Not by Asio: its sockets would be inherited by programs that the user starts.
  descriptor fd(::socket(to.family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) {
    return errno;
  }
  if (to.family() != AF_UNIX) {
    set_tcp_options(fd.get());
  }
  // A unix socket answers EAGAIN when too many wait already, and that is a no, not a not yet.
  const int failed = ::connect(fd.get(), to.get(), to.size) == 0 ? 0 : errno;
  if (failed != 0 && failed != EINPROGRESS) {
    return failed;
  }
  if (failed == 0 && is_connected_to_itself(fd.get())) {
    return ECONNREFUSED;
  }
  socket_.emplace(links_.loop());
  boost::system::error_code refused;
  socket_->assign({to.family(), 0}, fd.get(), refused);
  if (refused) {
    socket_.reset();
    return refused.value();
  }
  [[maybe_unused]] const int owned_by_socket = fd.release();
  links_.add(shared_from_this());
  return failed;
}

void asio_link::connect_ended(const boost::system::error_code& failed) {
  if (over_) {
    return;
  }
  int error = failed.value();
  socklen_t size = sizeof error;
  if (!failed && ::getsockopt(socket_->native_handle(), SOL_SOCKET, SO_ERROR, &error, &size) != 0) {
    error = errno;
  }
  if (error == 0 && is_connected_to_itself(socket_->native_handle())) {
    error = ECONNREFUSED;
  }
  if (error == 0) {
    connected();
    return;
  }
  refused(error);
  ++next_;
  connect_next();
}

void asio_link::refused(int why) {
  socket_.reset();
  last_refusal_ = why;
  refusals_ += refusals_.empty() ? "" : ", ";
  refusals_ += addresses_.size() > 1 ? addresses_[next_].shown() + ": " + text_of(why) : text_of(why);
}

void asio_link::connected() {
  connected_ = true;
  out_.attach(socket_->native_handle(), tls_.get());
  in_.resize(read_size);
  on_bytes({});
  if (!over_) {
    read();
  }
}

// ---- while it is connected -----------------------------------------------------------------------------------------

void asio_link::read() {
  socket_->async_read_some(boost::asio::buffer(in_),
                           [self = shared_from_this()](const boost::system::error_code& failed,
                                                       std::size_t count) { self->on_read(failed, count); });
}

void asio_link::on_read(const boost::system::error_code& failed, std::size_t count) {
  if (over_) {
    return;
  }
  if (failed) {
    const auto of_tls = tls_ ? tls_->ended() : std::nullopt;
    fail(of_tls ? *of_tls : ended(failed));
    return;
  }
  on_bytes({in_.data(), count});
  if (!over_) {
    read();
  }
}

/// What has arrived; nothing, the first time. What the events put meanwhile goes out together with what TLS has to say.
void asio_link::on_bytes(std::string_view bytes) {
  out_.hold();
  if (tls_) {
    plain_.clear();
    tls_->take(bytes, plain_);
    bytes = plain_;
  }
  const auto events = events_.lock();
  if (!open_ && (!tls_ || tls_->established())) {
    open_ = true;
    out_.accept();
    if (events && !over_) {
      events->opened();
    }
  }
  if (!bytes.empty() && events && !over_) {
    events->received(bytes);
  }
  out_.release();
  if (tls_ && !over_) {
    if (const auto why = tls_->ended()) {
      fail(*why);
    }
  }
}

error asio_link::ended(const boost::system::error_code& failed) const {
  const std::string place = where_.shown();
  const int on_send = out_.failure();
  std::string what = place + " closed the connection";
  if (failed != boost::asio::error::eof) {
    what = "lost the connection to " + place + ": " + text_of(failed.value());
  } else if (on_send != 0 && on_send != EPIPE) {
    what = "lost the connection to " + place + ": " + text_of(on_send);
  }
  return {errc::unreachable, open_ ? what : what + " when TLS was to begin; perhaps it does not speak TLS"};
}

/// From any thread.
void asio_link::wait_until_writable() {
  gate_->post([self = shared_from_this()] {
    if (!self->over_) {
      self->socket_->async_wait(self->socket_->wait_write, [self](const boost::system::error_code& failed) {
        if (!failed) {
          self->out_.resume();
        }
      });
    }
  });
}

}  // namespace cremone::detail
