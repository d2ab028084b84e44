// SPDX-License-Identifier: Apache-2.0
//
// Two layouts under one name do not exclude each other. A client with an event handler is warned on
// its first acquire, once. A client whose ACL user may not read the other key gets its lock without
// a warning.
#include "live/redis_fixture.hpp"
#include "support/program.hpp"
#include "support/redlock_servers.hpp"
#include "support/temp_directory.hpp"

#include <stdlib.h>

#include <mutex>

namespace cremone::test {

namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

const std::string record = "&layout=record&prefix=t&max_ttl=2s";

class RedisTwoLayouts : public RedisServer {
 protected:
  RedisTwoLayouts() { ::setenv("CREMONE_STATE_DIR", state_.path().c_str(), 1); }
  ~RedisTwoLayouts() override { ::unsetenv("CREMONE_STATE_DIR"); }

  /// A client whose events *foreign_lock* are kept in told().
  [[nodiscard]] client listening(const std::string& url) {
    open_options options;
    options.on_event = [this](const store_event& e) {
      if (e.what == event_kind::foreign_lock) {
        const std::lock_guard lock(mutex_);
        told_.push_back(e.message);
      }
    };
    return cremone::open(url, std::move(options)).value();
  }
  [[nodiscard]] client listening() {
    client made = listening(server_.url(0, record));
    EXPECT_TRUE(made.end_quarantine());
    return made;
  }

  [[nodiscard]] std::vector<std::string> told() {
    const std::lock_guard lock(mutex_);
    return told_;
  }
  void expect_warning() {
    EXPECT_TRUE(wait_for([&] { return !told().empty(); })) << "the client was not warned";
  }

  static void take_and_release(client& by, const std::string& name) {
    EXPECT_TRUE(taken(by, name, {.ttl = 2s, .wait = generous}).release());
  }

  /// The server's count of "calls" or "rejected_calls" of a command.
  [[nodiscard]] int calls(const std::string& command, const std::string& how = "calls") const {
    const std::string all = server_.ask({"INFO", "commandstats"}).text;
    const auto line = all.find("cmdstat_" + command + ":");
    if (line == std::string::npos) {
      return 0;
    }
    const auto at = all.find((how == "calls" ? ":" : ",") + how + "=", line);
    return std::stoi(all.substr(at + how.size() + 2));
  }

  temp_directory state_;

 private:
  std::mutex mutex_;
  std::vector<std::string> told_;
};

TEST_F(RedisTwoLayouts, FirstAcquireWarnsOfRedisPyLock) {
  // Debian's python3, which finds the packaged redis-py.
  program other({"/usr/bin/python3", CREMONE_TEST_PY_WORKER, std::to_string(server_.port()), "talk", "lock"});
  ASSERT_EQ(other.hear(), "ready") << "python3-redis must be installed (./dev setup)";
  ASSERT_EQ(other.ask("try"), "held");
  client mine = listening();
  const lease held = taken(mine, "lock", {.ttl = 2s, .wait = generous});
  EXPECT_TRUE(held.held()) << "the warning must not prevent the acquire";
  expect_warning();
  EXPECT_THAT(told(), ElementsAre(AllOf(HasSubstr(server_.node()), HasSubstr("'lock'"),
                                        HasSubstr("layout=classic"))));
  const auto seen = mine.inspect("lock");
  ASSERT_TRUE(seen) << seen.error().message();
  EXPECT_THAT(seen->foreign_lock, HasSubstr("layout=classic"));
  EXPECT_EQ(other.ask("release"), "released") << "both held it";
  EXPECT_THAT(mine.inspect("lock").value().foreign_lock, IsEmpty());
}

TEST_F(RedisTwoLayouts, WarnsOfEachKindOfLock) {
  client classic = opened(server_.url());
  const lease other = taken(classic, "classic", {.wait = generous});
  (void)server_.ask({"SET", "redsync", "x7/abcdefghijklmnopqrA==", "PX", "60000"});
  (void)server_.ask({"SET", "no-timeout", "0123456789abcdef0123456789abcdef"});
  (void)server_.ask({"HSET", "redisson", "285475da-9152-4c83-822a-67ee2f116a79:52", "1"});
  client mine = listening();
  for (const std::string name : {"classic", "redsync", "no-timeout", "redisson"}) {
    take_and_release(mine, name);
  }
  EXPECT_TRUE(wait_for([&] { return told().size() == 4; }));
  EXPECT_THAT(told(), Contains(AllOf(HasSubstr("'redisson'"), HasSubstr("Use another name"),
                                     Not(HasSubstr("layout=classic")))));
}

TEST_F(RedisTwoLayouts, KeysThatAreNoLocksCauseNoWarning) {
  (void)server_.ask({"SET", "page", std::string(600, 'x'), "PX", "60000"});
  (void)server_.ask({"SET", "counter", "42"});
  (void)server_.ask({"HSET", "user", "name", "ann"});
  (void)server_.ask({"RPUSH", "jobs", "1"});
  client mine = listening();
  for (const std::string name : {"page", "counter", "user", "jobs", "nothing"}) {
    take_and_release(mine, name);
    EXPECT_THAT(mine.inspect(name).value().foreign_lock, IsEmpty());
  }
  mine.close();
  EXPECT_THAT(told(), IsEmpty());
}

TEST_F(RedisTwoLayouts, LaterAcquiresSendNoMoreCommands) {
  client mine = listening();
  for (int i = 0; i < 5; ++i) {
    take_and_release(mine, "lock");
  }
  EXPECT_TRUE(wait_for([&] { return calls("type") == 1; })) << calls("type");
  client deaf = opened(server_.url(0, record));
  take_and_release(deaf, "lock");
  take_and_release(mine, "lock");  // a second TYPE would be counted by now
  EXPECT_EQ(calls("type"), 1) << "a client without a handler sent TYPE";
}

TEST_F(RedisTwoLayouts, UserWithoutReadRightsGetsLocksAndLooksOnce) {
  ASSERT_EQ(
      server_.ask({"ACL", "SETUSER", "ann", "reset", "on", ">" + secret, "~t:*", "&t:*", "+@all"}).shown(),
      "OK");
  (void)server_.ask({"SET", "lock", "0123456789abcdef0123456789abcdef", "PX", "60000"});
  client mine = listening(server_.url_as("ann:" + secret, 0, record));
  EXPECT_TRUE(mine.end_quarantine());
  take_and_release(mine, "lock");
  EXPECT_TRUE(wait_for([&] { return calls("type", "rejected_calls") == 1; }));
  EXPECT_TRUE(mine.inspect("lock")) << "the denial must not fail inspect()";
  EXPECT_EQ(calls("type", "rejected_calls"), 2) << "inspect() looks each time";
  for (const std::string name : {"a", "b", "c"}) {
    take_and_release(mine, name);
  }
  EXPECT_EQ(calls("type", "rejected_calls"), 2);
  const lease one = taken(mine, "one", {.ttl = 2s, .wait = generous});
  const lease two = taken(mine, "two", {.ttl = 2s, .wait = generous});
  const auto findings = mine.examine();
  ASSERT_TRUE(findings) << findings.error();
  EXPECT_EQ(findings->back().subject, "layout");
  EXPECT_EQ(findings->back().verdict, verdict::untold);
  EXPECT_EQ(calls("type", "rejected_calls"), 3) << "doctor must stop at the first denial";
  EXPECT_THAT(told(), IsEmpty());
}

TEST_F(RedisTwoLayouts, LockOnAnyServerCausesOneWarning) {
  redlock_servers servers(3);
  const std::string url = servers.url("layout=record&prefix=t&max_ttl=2s");
  client mine = listening(url);
  EXPECT_TRUE(mine.end_quarantine());
  (void)servers[2].ask({"SET", "one", "0123456789abcdef0123456789abcdef", "PX", "60000"});
  for (std::size_t i = 0; i < servers.size(); ++i) {
    (void)servers[i].ask({"SET", "all", "0123456789abcdef0123456789abcdef", "PX", "60000"});
  }
  take_and_release(mine, "one");
  EXPECT_TRUE(wait_for([&] { return told().size() == 1; }));
  EXPECT_THAT(mine.inspect("one").value().foreign_lock, HasSubstr(servers[2].node()));
  take_and_release(mine, "all");
  EXPECT_THAT(mine.inspect("all").value().foreign_lock, HasSubstr("'all'"));
  EXPECT_TRUE(wait_for([&] { return told().size() >= 2; }));
  mine.close();
  EXPECT_THAT(told(), SizeIs(2));
}

}  // namespace

}  // namespace cremone::test
