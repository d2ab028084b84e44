// SPDX-License-Identifier: Apache-2.0
#include "bench/redis_server.hpp"

#include <arpa/inet.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <charconv>
#include <chrono>
#include <cstdarg>
#include <stdexcept>
#include <string_view>
#include <thread>

namespace cremone::bench {

namespace {

using namespace std::chrono_literals;

constexpr std::chrono::seconds start_limit = 10s;  // it takes some 20 ms

constexpr char compare_and_delete[] =
    "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) else return 0 end";

void go_to(std::size_t core) noexcept {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(core, &one);
  ::sched_setaffinity(0, sizeof one, &one);  // fails where there is no such core
}

/// Free now; should another take it in between, the server does not start and the next one is tried.
int free_port() {
  const int probe = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in place{};
  place.sin_family = AF_INET;
  place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof place;
  const bool bound = ::bind(probe, reinterpret_cast<sockaddr*>(&place), size) == 0 &&
                     ::getsockname(probe, reinterpret_cast<sockaddr*>(&place), &size) == 0;
  ::close(probe);
  return bound ? ntohs(place.sin_port) : 0;
}

}  // namespace

pinned::pinned() {
  ::sched_getaffinity(0, sizeof before_, &before_);
  go_to(client_core);
}

pinned::~pinned() { ::sched_setaffinity(0, sizeof before_, &before_); }

redis_server::redis_server() {
  for (int attempt = 0; attempt < 3; ++attempt) {
    port_ = free_port();
    start();
    const auto give_up = std::chrono::steady_clock::now() + start_limit;
    while (std::chrono::steady_clock::now() < give_up && ::waitpid(process_, nullptr, WNOHANG) == 0) {
      if (answers()) {
        return;
      }
      std::this_thread::sleep_for(5ms);
    }
    die();
  }
  throw std::runtime_error("redis-server could not be started; is it installed?");
}

redis_server::~redis_server() { die(); }

double redis_server::cpu_seconds() const {
  clockid_t its{};
  timespec used{};
  if (::clock_getcpuclockid(process_, &its) != 0 || ::clock_gettime(its, &used) != 0) {
    throw std::runtime_error("redis-server is gone");
  }
  return static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) / 1e9;
}

void redis_server::hang() {
  if (process_ > 0) {
    ::kill(process_, SIGSTOP);
  }
}

void redis_server::die() noexcept {
  if (process_ > 0) {  // -1 would be everybody
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
    process_ = -1;
  }
}

void redis_server::start() {
  const std::string port = std::to_string(port_);
  const std::string place = directory_.file("");
  process_ = ::fork();
  if (process_ == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // a benchmark that is interrupted leaves nothing behind
    go_to(server_core);
    ::execlp("redis-server", "redis-server", "--port", port.c_str(), "--bind", "127.0.0.1", "--dir",
             place.c_str(), "--save", "", "--appendonly", "no", "--logfile", "log", nullptr);
    ::_exit(127);
  }
  if (process_ < 0) {
    throw std::runtime_error("no process for redis-server");
  }
}

bool redis_server::answers() const {
  redisContext* const c = redisConnect("127.0.0.1", port_);
  const bool up = c != nullptr && c->err == 0;
  if (c != nullptr) {
    redisFree(c);
  }
  return up;
}

std::string redis_server::url(const std::string& layout) const {
  return "redis://127.0.0.1:" + std::to_string(port_) + "?layout=" + layout;
}

client redis_server::opened(const std::string& layout) const {
  client made = open(url(layout)).value();
  if (layout == "record") {
    made.end_quarantine().value();
  }
  return made;
}

raw_lock::raw_lock(int port) : connection_(redisConnect("127.0.0.1", port)) {
  if (!connection_ || connection_->err != 0) {
    throw std::runtime_error("cannot connect to redis-server");
  }
  script_ = ask(REDIS_REPLY_STRING, "SCRIPT LOAD %s", compare_and_delete)->str;
}

raw_reply raw_lock::ask(int type, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  raw_reply r(static_cast<redisReply*>(redisvCommand(connection_.get(), format, arguments)));
  va_end(arguments);
  if (!r || r->type != type) {
    throw std::runtime_error(std::string("redis-server's answer to ") + format);
  }
  return r;
}

std::string raw_lock::value(std::uint64_t n) {
  return "0123456789abcdef0123456789abcdef01234567:" + std::to_string(n);
}

void raw_lock::pair(const std::string& name) {
  const std::string mine = value(++n_);
  take(name, mine);
  give_back(name, mine);
}

void raw_lock::take(const std::string& name, const std::string& value) {
  (void)ask(REDIS_REPLY_STATUS, "SET %s %s NX PX 30000", name.c_str(), value.c_str());
}

void raw_lock::give_back(const std::string& name, const std::string& value) {
  if (ask(REDIS_REPLY_INTEGER, "EVALSHA %s 1 %s %s", script_.c_str(), name.c_str(), value.c_str())->integer !=
      1) {
    throw std::runtime_error("the lock was not ours");
  }
}

void raw_lock::ping() { (void)ask(REDIS_REPLY_STATUS, "PING"); }

std::uint64_t raw_lock::requests_served() {
  const raw_reply info = ask(REDIS_REPLY_STRING, "INFO commandstats");
  const std::string_view text(info->str, info->len);
  std::uint64_t sum = 0;
  for (const std::string_view name :
       {"cmdstat_evalsha:calls=", "cmdstat_eval:calls=", "cmdstat_subscribe:calls="}) {
    if (const auto at = text.find(name); at != std::string_view::npos) {
      std::uint64_t calls = 0;
      std::from_chars(text.data() + at + name.size(), text.data() + text.size(), calls);
      sum += calls;
    }
  }
  return sum;
}

}  // namespace cremone::bench
