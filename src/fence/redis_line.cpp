// SPDX-License-Identifier: Apache-2.0
#include "fence/redis_line.hpp"

#include "base/addresses.hpp"
#include "fence/open_parts.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <future>
#include <system_error>
#include <utility>
#include <vector>

namespace cremone::fence {

namespace {

using clock = redis_line::clock;

static_assert(redis_line::time_limit > connect_patience);

/// The most bytes per read. The reply reader bounds the total.
constexpr std::size_t read_size = 32UL * 1024;

std::string text_of(int number) { return std::generic_category().message(number); }

std::string seconds(std::chrono::seconds length) { return std::to_string(length.count()) + " s"; }

/// 0, or an errno: ETIMEDOUT at the deadline.
int wait_until(int socket, short events, clock::time_point deadline) {
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - clock::now());
    if (left.count() <= 0) {
      return ETIMEDOUT;
    }
    pollfd one{.fd = socket, .events = events, .revents = 0};
    const int ready = ::poll(&one, 1, static_cast<int>(left.count()));
    if (ready > 0) {
      return 0;
    }
    if (ready < 0 && errno != EINTR) {
      return errno;
    }
  }
}

/// The system's resolver has no deadline, so a name is looked up on another thread.
result<detail::addresses> resolve(const endpoint& where, clock::time_point deadline) {
  if (auto known = detail::known_addresses(where)) {
    return *known;
  }
  auto found = std::make_shared<std::promise<result<detail::addresses>>>();
  auto answer = found->get_future();
  const auto started = std::make_shared<detail::name_lookup>()->start(
      where, [found](result<detail::addresses> got) { found->set_value(std::move(got)); });
  if (!started) {
    return started.error();
  }
  if (answer.wait_until(deadline) != std::future_status::ready) {
    return error(errc::unreachable, "no name server resolved '" + where.host + "' in time");
  }
  return answer.get();
}

/// 0 and a connected socket, or an errno.
int connect_to(const detail::socket_address& to, clock::time_point deadline, descriptor& into) {
  descriptor made(::socket(to.family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!made) {
    return errno;
  }
  if (::connect(made.get(), to.get(), to.size) != 0) {
    if (errno != EINPROGRESS) {
      return errno;
    }
    if (const int failed = wait_until(made.get(), POLLOUT, deadline); failed != 0) {
      return failed;
    }
    int failed = 0;
    socklen_t size = sizeof failed;
    ::getsockopt(made.get(), SOL_SOCKET, SO_ERROR, &failed, &size);
    if (failed != 0) {
      return failed;
    }
  }
  into = std::move(made);
  return 0;
}

}  // namespace

error redis_line::failed(errc code, const std::string& why) const { return {code, name_ + ": " + why}; }

result<std::unique_ptr<redis_line>> redis_line::open(const endpoint& where, std::string name) {
  std::unique_ptr<redis_line> made(new redis_line(std::move(name)));
  if (auto fine = made->connect(where); !fine) {
    return fine.error();
  }
  if (auto fine = where.tls ? made->begin_tls(where) : result<void>(); !fine) {
    return fine.error();
  }
  if (auto fine = made->ping(); !fine) {
    const error& why = fine.error();
    const bool cut = why == errc::unreachable && clock::now() < made->deadline_;
    const bool perhaps_tls = cut && !where.tls && where.path.empty();
    return error(why.code(),
                 why.detail() + (perhaps_tls ? "; if the server expects TLS, use rediss://" : ""));
  }
  return made;
}

/// The addresses share the time, so an address that drops packets leaves time for the others.
result<void> redis_line::connect(const endpoint& where) {
  const auto end = clock::now() + connect_patience;
  const auto found = resolve(where, end);
  if (!found) {
    return failed(found.error().code(), found.error().detail());
  }
  int last = 0;
  for (std::size_t i = 0; i < found->size(); ++i) {
    const auto share = (end - clock::now()) / static_cast<int>(found->size() - i);
    last = connect_to((*found)[i], clock::now() + share, socket_);
    if (last == 0) {
      return {};
    }
  }
  const bool denied = last == EACCES && !where.path.empty();
  return failed(denied ? errc::access_denied : errc::unreachable,
                "cannot connect: " +
                    (last == ETIMEDOUT ? "no answer within " + seconds(connect_patience) : text_of(last)));
}

result<void> redis_line::begin_tls(const endpoint& where) {
  auto made = detail::tls_session::make(where);
  if (!made) {
    return failed(made.error().code(), made.error().detail());
  }
  tls_ = std::move(*made);
  std::string none;
  tls_->take({}, none);
  auto fine = send({});
  while (fine && !tls_->established()) {
    fine = receive();
  }
  if (!fine && fine.error() == errc::unreachable) {
    return error(errc::unreachable,
                 fine.error().detail() + "; the TLS handshake was not complete. Does the server speak TLS?");
  }
  return fine;
}

/// Before any login: a server that is not Redis gets no password, so its answer may be shown.
result<void> redis_line::ping() {
  const std::string_view word[] = {"PING"};
  std::string bytes;
  redis::append_command(bytes, word);
  // A server that refuses our certificate says so and closes, perhaps before the PING is sent. Its
  // words can still be read.
  static_cast<void>(send(bytes));
  const auto said = next_reply();
  if (!said) {
    return said.error();
  }
  if (!said->is(redis::reply::kind::status) && !said->is(redis::reply::kind::error)) {
    return failed(errc::protocol_error,
                  "does not answer like a Redis server: it answered PING with " + redis::shape_of(*said));
  }
  reader_.hide_beginning();
  return {};
}

result<redis::reply> redis_line::ask(std::span<const std::string_view> words, effect what) {
  if (const auto early = reader_.next(); !early || *early) {
    return failed(errc::protocol_error, "it sent more than was asked for; is it Redis?");
  }
  std::string bytes;
  redis::append_command(bytes, words);
  if (const auto sent = send(bytes); !sent) {
    return sent.error();
  }
  auto said = next_reply();
  if (!said) {
    const std::string why = said.error().detail().substr(name_.size() + 2);  // failed() put the name first
    return without_reply(name_, why, what);
  }
  return said;
}

result<void> redis_line::wait_for(short events) const {
  const int why = wait_until(socket_.get(), events, deadline_);
  if (why == ETIMEDOUT) {
    return failed(errc::unreachable, "no complete answer within " + seconds(time_limit) +
                                         "; is the server stopped or overloaded?");
  }
  return why == 0 ? result<void>() : failed(errc::unreachable, text_of(why));
}

/// Sends pending bytes of TLS as well.
result<void> redis_line::send(std::string_view plain) {
  std::string sealed;
  if (tls_) {
    if (!tls_->seal(plain, sealed)) {
      const auto why = tls_->ended();
      return failed(errc::unreachable, why ? why->detail() : "TLS has ended");
    }
    plain = sealed;
  }
  while (!plain.empty()) {
    const auto sent = ::send(socket_.get(), plain.data(), plain.size(), MSG_NOSIGNAL);
    if (sent > 0) {
      plain.remove_prefix(static_cast<std::size_t>(sent));
    } else if (errno == EAGAIN) {
      if (auto fine = wait_for(POLLOUT); !fine) {
        return fine;
      }
    } else if (errno != EINTR) {
      return failed(errc::unreachable, "the connection is lost: " + text_of(errno));
    }
  }
  return {};
}

/// Reads some more bytes into the reader.
result<void> redis_line::receive() {
  char piece[read_size];
  ssize_t got = -1;
  while (got < 0) {
    if (auto fine = wait_for(POLLIN); !fine) {
      return fine;
    }
    got = ::recv(socket_.get(), piece, sizeof piece, 0);
    if (got < 0 && errno != EAGAIN && errno != EINTR) {
      return failed(errc::unreachable, "the connection is lost: " + text_of(errno));
    }
  }
  const std::string_view bytes(piece, static_cast<std::size_t>(got));
  if (!tls_) {
    reader_.feed(bytes);
    return got > 0 ? result<void>() : failed(errc::unreachable, "it closed the connection");
  }
  std::string plain;
  tls_->take(bytes, plain);
  reader_.feed(plain);
  if (tls_->wants_to_send()) {  // an alert, for one: the server learns why
    static_cast<void>(send({}));
  }
  if (const auto why = tls_->ended(); why && plain.empty()) {
    return failed(why->code(), why->detail());
  }
  return got > 0 ? result<void>() : failed(errc::unreachable, "it closed the connection");
}

result<redis::reply> redis_line::next_reply() {
  for (;;) {
    auto next = reader_.next();
    if (!next) {
      return failed(next.error().code(), next.error().detail());
    }
    if (*next) {
      return std::move(**next);
    }
    if (auto more = receive(); !more) {
      return more.error();
    }
  }
}

}  // namespace cremone::fence
