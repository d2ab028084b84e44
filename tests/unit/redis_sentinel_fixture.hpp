// SPDX-License-Identifier: Apache-2.0
//
// What tests of sentinels share: the test as the network, on virtual time, and what sentinels and servers say.
#pragma once

#include "backends/redis/pipeline.hpp"
#include "support/manual_env.hpp"
#include "support/scripted_transport.hpp"

#include <gtest/gtest.h>

#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>

namespace cremone::redis::testing {

[[nodiscard]] inline std::string command(std::initializer_list<std::string_view> words) {
  std::string bytes;
  append_command(bytes, words);
  return bytes;
}

[[nodiscard]] inline std::string bulk(const std::string& text) {
  return "$" + std::to_string(text.size()) + "\r\n" + text + "\r\n";
}

[[nodiscard]] inline std::string address(const std::string& host, int port = 6379) {
  return "*2\r\n" + bulk(host) + bulk(std::to_string(port));
}

inline const std::string unknown_name = "*-1\r\n";
inline const std::string is_master = "+PONG\r\n*3\r\n$6\r\nmaster\r\n:0\r\n*0\r\n";
inline const std::string is_replica =
    "+PONG\r\n*5\r\n$5\r\nslave\r\n$1\r\nb\r\n:6379\r\n$9\r\nconnected\r\n:0\r\n";
inline const std::string question = command({"SENTINEL", "get-master-addr-by-name", "mymaster"});
inline const std::string greeting = command({"PING"}) + command({"ROLE"});

[[nodiscard]] inline node_settings settings_of(int sentinels) {
  node_settings s;
  s.sentinels.emplace();
  s.sentinels->master = "mymaster";
  for (int i = 1; i <= sentinels; ++i) {
    s.sentinels->at.push_back({.host = "s" + std::to_string(i), .port = 26379, .path = {}, .tls = {}});
  }
  s.node = "mymaster via sentinels";
  return s;
}

inline const error refused_connection(errc::unreachable, "connection refused");

/// The test is the network.
class Sentinels : public ::testing::Test {
 protected:
  /// The connection that was opened last, and where it goes.
  [[nodiscard]] test::scripted_connection& wire() { return *net_->opened().back(); }
  [[nodiscard]] std::string where() { return wire().where().shown(); }

  /// All places so far, as "s1 s2 a": hosts only.
  [[nodiscard]] std::string path() {
    std::string all;
    for (const auto& c : net_->opened()) {
      all += (all.empty() ? "" : " ") + c->where().host;
    }
    return all;
  }

  void answer(const std::string& bytes) {
    wire().let_open();
    wire().say(bytes);
  }

  const std::shared_ptr<test::manual_env> env_ = std::make_shared<test::manual_env>();
  const std::shared_ptr<test::scripted_transport> net_ = std::make_shared<test::scripted_transport>();
};

}  // namespace cremone::redis::testing
