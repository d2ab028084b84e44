// SPDX-License-Identifier: Apache-2.0
//
// The story for which there are tokens at all, on real parts: a holder is stopped for longer than its ttl, its successor writes, the holder goes on
// and writes too. Told of every kind of resource under locks of three stores, and each time also without the fence: then the late write
// lands, which is what the fence is for.
#include "fence/pause_resources.hpp"
#include "live/redlock_fixture.hpp"
#include "support/mariadb_server.hpp"
#include "support/postgres_server.hpp"
#include "support/program.hpp"
#include "support/redis_server.hpp"
#include "support/temp_directory.hpp"
#include "support/wait_for.hpp"

#include <signal.h>

#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <tuple>

namespace cremone::test {

namespace {

using namespace std::chrono_literals;
using ::testing::StartsWith;

constexpr std::chrono::milliseconds ttl{500};

/// A store for locks, open to everybody.
class lock_store {
 public:
  explicit lock_store(const std::string& kind) {
    if (kind == "sqlite") {
      url_ = "sqlite://" + directory_.file("locks.db");
    } else {
      servers_.emplace(layout::record, 2s, redis_options{}, kind == "redis" ? 1 : 5);
      url_ = kind == "redis" ? "redis://" + servers_->servers()[0].node() + "/?prefix=t&max_ttl=2s"
                             : servers_->url();
      client by = opened(url_);
      const auto ended = by.end_quarantine();
      EXPECT_TRUE(ended) << ended.error().message();
    }
  }
  [[nodiscard]] const std::string& url() const noexcept { return url_; }

 private:
  temp_directory directory_;
  std::optional<redlock_world> servers_;
  std::string url_;
};

/// Where the text is, and the server that has it.
class place {
 public:
  explicit place(const std::string& kind) {
    if (kind == "postgres") {
      postgres_.emplace();
      where_ = postgres_->conninfo();
    } else if (kind == "mariadb") {
      mariadb_.emplace();
      where_ = std::to_string(mariadb_->port());
    } else if (kind == "redis") {
      redis_.emplace();
      where_ = std::to_string(redis_->port());
    } else {
      where_ = directory_.file("report");
    }
  }
  [[nodiscard]] const std::string& where() const noexcept { return where_; }

 private:
  temp_directory directory_;
  std::optional<postgres_server> postgres_;
  std::optional<mariadb_server> mariadb_;
  std::optional<redis_server> redis_;
  std::string where_;
};

bool is_stopped(pid_t pid) {
  std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
  std::string line;
  std::getline(stat, line);
  return line.find(") T ") != std::string::npos;
}

class FencePause : public ::testing::TestWithParam<std::tuple<std::string, std::string>> {
 protected:
  static std::string resource_kind() { return std::get<0>(GetParam()); }

  /// Until the successor has written; then what the holder does, when it goes on, is the word `write` or `plain`.
  std::string late_write(const std::string& word) {
    program alice = worker();
    program bob = worker();
    EXPECT_THAT(alice.ask("acquire " + std::to_string(ttl.count()) + " 30000"), StartsWith("granted "));
    EXPECT_EQ(alice.ask(word + " a1"), "written") << "while it holds the lock it may write";
    alice.signal(SIGSTOP);
    EXPECT_TRUE(wait_for([&] { return is_stopped(alice.pid()); }));
    EXPECT_THAT(bob.ask("acquire 2000 30000"), StartsWith("granted ")) << "the successor got no lock";
    EXPECT_EQ(bob.ask(word + " b1"), "written");
    alice.signal(SIGCONT);
    return alice.ask(word + " a2");
  }

  std::string text() { return resource_->read(); }

 private:
  program worker() {
    program made({CREMONE_TEST_PAUSE_WORKER, locks_.url(), resource_kind(), place_.where()});
    EXPECT_EQ(made.hear(), "ready");
    return made;
  }
  std::unique_ptr<written_text> prepared() {
    auto made = pause_resource(resource_kind(), place_.where());
    made->prepare();
    return made;
  }

  lock_store locks_{std::get<1>(GetParam())};
  place place_{resource_kind()};
  std::unique_ptr<written_text> resource_ = prepared();
};

TEST_P(FencePause, LetsALateWriteLandWhereNobodyChecksTheToken) {
  EXPECT_EQ(late_write("plain"), "written");
  EXPECT_EQ(text(), "a2")
      << "the successor's text should have been lost: there is nothing for the fence to do here";
}

TEST_P(FencePause, KeepsTheSuccessorsTextWhereTheTokenIsChecked) {
  EXPECT_THAT(late_write("write"), StartsWith("stale_token "));
  EXPECT_EQ(text(), "b1");
}

INSTANTIATE_TEST_SUITE_P(
    All, FencePause,
    ::testing::Combine(::testing::Values("file", "sqlite", "redis", "postgres", "mariadb"),
                       ::testing::Values("sqlite", "redis", "redlock")),
    [](const auto& which) { return std::get<0>(which.param) + "_locked_by_" + std::get<1>(which.param); });

}  // namespace

}  // namespace cremone::test
