// SPDX-License-Identifier: Apache-2.0
//
// Checks which server without a marker may give out locks at once: one that shows that it has forgotten nothing. Every
// doubt is a no.
#include "backends/redis/admission.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <string>

namespace cremone::redis {
namespace {

using namespace std::chrono_literals;

constexpr wall_time now{std::chrono::microseconds(1'700'000'000s)};

server_facts good() {
  server_facts f;
  f.version = server_version{7, 0, 15};
  f.run_id = std::string(40, 'a');
  f.uptime = 3600s;
  f.role = server_role::master;
  f.master_replid2 = std::string(40, '0');
  f.forgetting_calls = 0;
  f.evicted_keys = 0;
  return f;
}

bool fine(const server_facts& f, wall_time theirs = now) {
  return forgot_nothing(f, theirs, now - 1ms, now + 1ms, 60s);
}

TEST(Admission, OfAServerThatHasBeenUpForLongIsImmediate) { EXPECT_TRUE(fine(good())); }

TEST(Admission, IsRefusedForEachDoubt) {
  struct doubt {
    const char* name;
    std::function<void(server_facts&)> raise;
  };
  const doubt doubts[] = {
      {"it was up for less than a lease", [](server_facts& f) { f.uptime = 60s; }},
      {"for hardly longer", [](server_facts& f) { f.uptime = 65s; }},
      {"it does not say", [](server_facts& f) { f.uptime.reset(); }},
      {"it was emptied", [](server_facts& f) { f.forgetting_calls = 1; }},
      {"it does not tell whether", [](server_facts& f) { f.forgetting_calls.reset(); }},
      {"it has evicted keys", [](server_facts& f) { f.evicted_keys = 1; }},
      {"it does not tell whether it has", [](server_facts& f) { f.evicted_keys.reset(); }},
      {"it was a replica once", [](server_facts& f) { f.master_replid2 = std::string(40, 'b'); }},
      {"it does not tell that", [](server_facts& f) { f.master_replid2.clear(); }},
      {"it is a replica", [](server_facts& f) { f.role = server_role::replica; }},
      {"it does not tell what it is", [](server_facts& f) { f.role = server_role::untold; }},
  };
  for (const doubt& d : doubts) {
    server_facts f = good();
    d.raise(f);
    EXPECT_FALSE(fine(f)) << d.name;
  }
}

TEST(Admission, DoesNotBelieveTheUptimeOfAClockThatIsOff) {
  EXPECT_TRUE(fine(good(), now + 1s));
  EXPECT_TRUE(fine(good(), now - 1s));
  EXPECT_FALSE(fine(good(), now + 60s)) << "set forward, it has been up for a minute less than it says";
  EXPECT_FALSE(fine(good(), now - 60s));
  EXPECT_FALSE(fine(good(), wall_time{})) << "it did not say";
}

TEST(QuarantineMark, IsReadBack) {
  const auto mark = parse_quarantine("Q abc.0/0 n1 1700000000000001 missing 42");
  ASSERT_TRUE(mark);
  EXPECT_TRUE(mark->missing);
  EXPECT_EQ(mark->since, now + 1us);
  EXPECT_EQ(mark->text, "Q abc.0/0 n1 1700000000000001 missing 42");
  EXPECT_FALSE(parse_quarantine("Q abc.0/0 n1 1 foreign 0")->missing);
}

TEST(QuarantineMark, IsNothingElse) {
  for (const std::string text : {"", "Q", "A abc n1 0", "Q abc n1 x foreign 0", "Q abc n1 1 foreign",
                                 "Q abc n1 1 foreign 0 more", "Q abc n1 99999999999999999999 missing 0"}) {
    EXPECT_FALSE(parse_quarantine(text)) << text;
  }
}

}  // namespace
}  // namespace cremone::redis
