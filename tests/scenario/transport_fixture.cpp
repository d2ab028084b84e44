// SPDX-License-Identifier: Apache-2.0
#include "scenario/transport_fixture.hpp"

#include <arpa/inet.h>
#include <dirent.h>
#include <dlfcn.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <system_error>

namespace cremone::test {
namespace {

struct hooks {
  std::mutex mutex;
  system_calls::send_hook send;
  system_calls::lookup_hook lookup;
};

hooks& the_hooks() {
  static hooks* const kept = new hooks;  // a thread that looks up a name may be there until the very end
  return *kept;
}

[[noreturn]] void give_up(const std::string& what) {
  throw std::system_error(errno, std::generic_category(), what);
}

using getaddrinfo_function = int (*)(const char*, const char*, const addrinfo*, addrinfo**);

getaddrinfo_function real_getaddrinfo() {
  static const auto real = reinterpret_cast<getaddrinfo_function>(::dlsym(RTLD_NEXT, "getaddrinfo"));
  return real;
}

}  // namespace

system_calls::system_calls() = default;

system_calls::~system_calls() {
  on_send(nullptr);
  on_lookup(nullptr);
}

void system_calls::on_send(send_hook hook) {
  const std::lock_guard lock(the_hooks().mutex);
  the_hooks().send = std::move(hook);
}

void system_calls::on_lookup(lookup_hook hook) {
  const std::lock_guard lock(the_hooks().mutex);
  the_hooks().lookup = std::move(hook);
}

void signal_once::set() const noexcept {
  const std::lock_guard lock(state_->mutex);
  state_->is_set = true;
  state_->changed.notify_all();
}

bool signal_once::wait() const {
  std::unique_lock lock(state_->mutex);
  return state_->changed.wait_for(lock, generous, [&] { return state_->is_set; });
}

listener::listener(int backlog) : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in here{};
  here.sin_family = AF_INET;
  here.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof here;
  if (!fd_ || ::bind(fd_.get(), reinterpret_cast<sockaddr*>(&here), size) != 0 ||
      (backlog >= 0 && ::listen(fd_.get(), backlog) != 0) ||
      ::getsockname(fd_.get(), reinterpret_cast<sockaddr*>(&here), &size) != 0) {
    give_up("a listening socket");
  }
  port_ = ntohs(here.sin_port);
}

listener::listener(std::string path, int backlog)
    : fd_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)), path_(std::move(path)) {
  sockaddr_un here{};
  here.sun_family = AF_UNIX;
  path_.copy(here.sun_path, sizeof here.sun_path - 1);
  if (!fd_ || ::bind(fd_.get(), reinterpret_cast<sockaddr*>(&here), sizeof here) != 0 ||
      ::listen(fd_.get(), backlog) != 0) {
    give_up("a listening socket at " + path_);
  }
}

endpoint listener::where() const {
  endpoint found;
  found.host = path_.empty() ? "127.0.0.1" : "";
  found.port = port_;
  found.path = path_;
  return found;
}

descriptor listener::accept() const {
  timeval bound{};
  bound.tv_sec = generous.count() / 1000;
  ::setsockopt(fd_.get(), SOL_SOCKET, SO_RCVTIMEO, &bound, sizeof bound);
  descriptor accepted(::accept4(fd_.get(), nullptr, nullptr, SOCK_CLOEXEC));
  if (!accepted) {
    ADD_FAILURE() << "nobody connects: " << std::generic_category().message(errno);
    return accepted;
  }
  ::setsockopt(accepted.get(), SOL_SOCKET, SO_RCVTIMEO, &bound, sizeof bound);
  ::setsockopt(accepted.get(), SOL_SOCKET, SO_SNDTIMEO, &bound, sizeof bound);
  return accepted;
}

descriptor listener::accept_now() const {
  pollfd somebody{fd_.get(), POLLIN, 0};
  return ::poll(&somebody, 1, 0) == 1 ? accept() : descriptor();
}

std::vector<descriptor> listener::fill_queue() const {
  std::vector<descriptor> crowd;
  sockaddr_storage there{};
  socklen_t size = sizeof there;
  ::getsockname(fd_.get(), reinterpret_cast<sockaddr*>(&there), &size);
  for (;;) {
    descriptor one(::socket(there.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (::connect(one.get(), reinterpret_cast<sockaddr*>(&there), size) != 0) {
      if (errno != EINPROGRESS) {  // a unix socket says that the queue is full
        return crowd;
      }
      // TCP does not say it: it leaves the attempt unanswered. On loopback an answer is there at once.
      pollfd done{one.get(), POLLOUT, 0};
      if (::poll(&done, 1, 200) == 0) {
        return crowd;
      }
    }
    crowd.push_back(std::move(one));
  }
}

std::string read_exactly(const descriptor& from, std::size_t count) {
  std::string read(count, '\0');
  std::size_t have = 0;
  while (have < count) {
    const ssize_t n = ::recv(from.get(), read.data() + have, count - have, 0);
    if (n <= 0) {
      ADD_FAILURE() << "wanted " << count << " bytes, got " << have << ": "
                    << (n == 0 ? "end" : std::generic_category().message(errno));
      break;
    }
    have += static_cast<std::size_t>(n);
  }
  read.resize(have);
  return read;
}

std::string read_to_end(const descriptor& from) {
  std::string read;
  for (;;) {
    char piece[4096];
    const ssize_t n = ::recv(from.get(), piece, sizeof piece, 0);
    if (n < 0) {
      ADD_FAILURE() << "no end: " << std::generic_category().message(errno);
    }
    if (n <= 0) {
      return read;
    }
    read.append(piece, static_cast<std::size_t>(n));
  }
}

void write_all(const descriptor& to, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::sendto(to.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL, nullptr, 0);
    if (n < 0) {
      ADD_FAILURE() << "the server cannot write: " << std::generic_category().message(errno);
      return;
    }
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
}

std::vector<int> open_descriptors() {
  std::vector<int> found;
  DIR* const list = ::opendir("/proc/self/fd");
  while (const dirent* each = ::readdir(list)) {
    const int fd = std::atoi(each->d_name);
    if (each->d_name[0] != '.' && fd != ::dirfd(list)) {
      found.push_back(fd);
    }
  }
  ::closedir(list);
  std::sort(found.begin(), found.end());
  return found;
}

void recorder::note_thread() {
  ++count_;
  threads_.push_back(std::this_thread::get_id());
}

void recorder::opened() {
  if (on_opened) {
    on_opened();
  }
  const std::lock_guard lock(mutex_);
  note_thread();
  EXPECT_FALSE(open_) << "opened twice";
  EXPECT_FALSE(end_) << "opened after its end";
  open_ = true;
}

void recorder::received(std::string_view bytes) {
  if (on_received) {
    on_received(bytes);
  }
  const std::lock_guard lock(mutex_);
  note_thread();
  EXPECT_TRUE(open_) << "bytes before it was open";
  EXPECT_FALSE(end_) << "bytes after its end";
  EXPECT_FALSE(bytes.empty());
  bytes_.append(bytes);
}

void recorder::closed(const error& why) {
  const std::lock_guard lock(mutex_);
  note_thread();
  EXPECT_FALSE(end_) << "closed twice";
  end_ = why;
}

bool recorder::is_open() const {
  const std::lock_guard lock(mutex_);
  return open_;
}

std::string recorder::bytes() const {
  const std::lock_guard lock(mutex_);
  return bytes_;
}

std::size_t recorder::count() const {
  const std::lock_guard lock(mutex_);
  return count_;
}

std::optional<error> recorder::end() const {
  const std::lock_guard lock(mutex_);
  return end_;
}

std::vector<std::thread::id> recorder::threads() const {
  const std::lock_guard lock(mutex_);
  return threads_;
}

void transport_fixture::settle() const {
  const signal_once done;
  env_->post([done] { done.set(); });
  ASSERT_TRUE(done.wait());
}

}  // namespace cremone::test

// These two stand in for the system's, in this program and in what is linked into it.

extern "C" ssize_t send(int fd, const void* data, size_t size, int flags) {
  cremone::test::system_calls::send_hook hook;
  {
    const std::lock_guard lock(cremone::test::the_hooks().mutex);
    hook = cremone::test::the_hooks().send;
  }
  EXPECT_EQ(flags, MSG_NOSIGNAL | MSG_DONTWAIT) << "it may block, or end the program";
  if (hook) {
    const ssize_t allowed = hook(fd, {static_cast<const char*>(data), size});
    if (allowed < 0) {
      errno = static_cast<int>(-allowed);
      return -1;
    }
    size = std::min(size, static_cast<size_t>(allowed));
  }
  return ::sendto(fd, data, size, flags, nullptr, 0);
}

extern "C" int getaddrinfo(const char* name, const char* service, const addrinfo* hints, addrinfo** found) {
  const auto real = cremone::test::real_getaddrinfo();
  cremone::test::system_calls::lookup_hook hook;
  if (hints == nullptr || (hints->ai_flags & AI_NUMERICHOST) == 0) {
    const std::lock_guard lock(cremone::test::the_hooks().mutex);
    hook = cremone::test::the_hooks().lookup;
  }
  if (!hook) {
    return real(name, service, hints, found);
  }
  const auto answer = hook(name);
  *found = nullptr;
  addrinfo** end = found;
  for (const auto& host : answer.hosts) {
    if (const int failed = real(host.c_str(), service, hints, end); failed != 0) {
      return failed;
    }
    end = &(*end)->ai_next;
  }
  return answer.failure;
}
