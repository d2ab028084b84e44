// SPDX-License-Identifier: Apache-2.0
//
// What the benchmarks of Redis stand on: a server of their own on one core, themselves on another, and the plainest client
// that one can write with hiredis. Knows nothing of cremone.
#pragma once

#include "bench/scratch.hpp"

#include <hiredis/hiredis.h>
#include <sched.h>
#include <sys/types.h>

#include <cremone/cremone.hpp>
#include <cstddef>
#include <cstdint>

#include <memory>
#include <string>

namespace cremone::bench {

/// Unpinned, the figures change by a factor of three from run to run. On a machine with one core both are the same.
inline constexpr std::size_t client_core = 0;
inline constexpr std::size_t server_core = 1;

/// The calling thread, and all that it starts, on the clients' core for as long as this lives.
class pinned {
 public:
  pinned();
  pinned(const pinned&) = delete;
  pinned& operator=(const pinned&) = delete;
  ~pinned();

 private:
  cpu_set_t before_{};
};

/// A redis-server on a free port of the loopback, without persistence, on a core of its own; gone with this object, and with
/// this process. Throws std::runtime_error where it cannot be started.
class redis_server {
 public:
  redis_server();
  redis_server(const redis_server&) = delete;
  redis_server& operator=(const redis_server&) = delete;
  ~redis_server();

  [[nodiscard]] int port() const noexcept { return port_; }
  [[nodiscard]] std::string url(const std::string& layout) const;

  /// A client of this layout; the server gives out locks at once, though it is new.
  [[nodiscard]] client opened(const std::string& layout) const;

  /// What it has cost so far.
  [[nodiscard]] double cpu_seconds() const;

  /// From now on it takes what is sent and answers nothing.
  void hang();

  /// Killed: its connections are closed, and new ones refused.
  void die() noexcept;

 private:
  void start();
  [[nodiscard]] bool answers() const;

  scratch directory_;
  int port_ = 0;
  pid_t process_ = -1;
};

struct free_reply {
  void operator()(redisReply* r) const noexcept { freeReplyObject(r); }
};
using raw_reply = std::unique_ptr<redisReply, free_reply>;

/// One blocking connection: the baseline. SET NX PX, then the published script that compares and deletes, both waited
/// for. Throws std::runtime_error where the server does not do what it should.
class raw_lock {
 public:
  explicit raw_lock(int port);

  void pair(const std::string& name);
  void take(const std::string& name, const std::string& value);
  void give_back(const std::string& name, const std::string& value);
  void ping();

  /// The nth that this process writes, as long as others' are.
  [[nodiscard]] static std::string value(std::uint64_t n);

  /// How many requests of cremone's kind the server has served: EVALSHA, EVAL, SUBSCRIBE.
  [[nodiscard]] std::uint64_t requests_served();

 private:
  struct close {
    void operator()(redisContext* c) const noexcept { redisFree(c); }
  };

  [[nodiscard]] raw_reply ask(int type, const char* format, ...);

  std::unique_ptr<redisContext, close> connection_;
  std::string script_;  // its SHA-1
  std::uint64_t n_ = 0;
};

}  // namespace cremone::bench
