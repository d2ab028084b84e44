// SPDX-License-Identifier: Apache-2.0
//
// A connection that keeps a server busy, so that what is measured is the server: 64 requests under way, made before. Knows nothing of what they mean.
#pragma once

#include "bench/redis_server.hpp"

#include "base/resp.hpp"

#include <chrono>
#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace cremone::bench {

/// One connection on which much is under way.
class flood {
 public:
  using words = std::vector<std::string>;
  static constexpr int depth = 64;
  static constexpr int requests = 100'000;

  explicit flood(int port) : connection_(redisConnect("127.0.0.1", port)) {
    if (connection_ == nullptr || connection_->err != 0) {
      throw std::runtime_error("cannot connect to redis-server");
    }
  }
  flood(const flood&) = delete;
  flood& operator=(const flood&) = delete;
  ~flood() { redisFree(connection_); }

  void say(const words& w) { send(bytes_of(w)); }

  [[nodiscard]] raw_reply hear() {
    void* r = nullptr;
    if (redisGetReply(connection_, &r) != REDIS_OK) {
      throw std::runtime_error("redis-server is gone");
    }
    return raw_reply(static_cast<redisReply*>(r));
  }

  /// Requests per second. They are made before: only the server is to be measured.
  double run(const std::function<words(int)>& make, const std::function<bool(const redisReply&)>& fine) {
    std::vector<std::string> commands;
    commands.reserve(requests);
    for (int i = 0; i < requests; ++i) {
      commands.push_back(bytes_of(make(i)));
    }
    const auto began = std::chrono::steady_clock::now();
    int sent = 0;
    int heard = 0;
    while (heard < requests) {
      while (sent < requests && sent - heard < depth) {
        send(commands[static_cast<std::size_t>(sent++)]);
      }
      for (int i = 0; i < depth / 2 && heard < sent;
           ++i, ++heard) {  // half of them, so that the server never runs dry
        if (!fine(*hear())) {
          throw std::runtime_error("a request was not granted");
        }
      }
    }
    return requests / std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  }

 private:
  static std::string bytes_of(const words& w) {
    std::string bytes;
    redis::append_command(bytes, std::vector<std::string_view>(w.begin(), w.end()));
    return bytes;
  }
  void send(const std::string& bytes) {
    redisAppendFormattedCommand(connection_, bytes.data(), bytes.size());
  }

  redisContext* connection_;
};

}  // namespace cremone::bench
