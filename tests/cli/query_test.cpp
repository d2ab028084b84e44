// SPDX-License-Identifier: Apache-2.0
//
// The commands that look: who, list, watch; and release. What scripts read must parse, and what cannot be written must
// not look like success.
#include "cli/fixture.hpp"

#include <signal.h>

#include <sstream>

namespace cremone::test {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST_F(Tool, WhoOfAFreeLockIsOne) {
  const auto end = cremone({"who", "x"});
  EXPECT_EQ(end.code, 1);
  EXPECT_THAT(end.out, HasSubstr("state\tfree\n"));
  EXPECT_FALSE(who("x")["held"]);
}

TEST_F(Tool, WhoTellsHolderAndStore) {
  holding first(dir, here(), "x", {"--label", "the first", "--ttl", "7s"});
  ASSERT_TRUE(first.held());
  const auto end = cremone({"status", "x"});
  EXPECT_EQ(end.code, 0);
  EXPECT_THAT(end.out, HasSubstr("label\tthe first\n"));
  EXPECT_THAT(end.out, HasSubstr("ttl\t7s\n"));
  EXPECT_THAT(end.out, HasSubstr("locks.db\n"));
  const json j = who("x");
  ASSERT_EQ(j["holders"].size(), 1U) << j;
  const json& holder = j["holders"][0];
  EXPECT_EQ(holder["pid"], first.cremone().pid());
  EXPECT_EQ(holder["label"], "the first");
  EXPECT_EQ(holder["ttl_ms"], 7000);
  EXPECT_EQ(holder["liveness"], "alive");
  EXPECT_GT(holder["token"].get<std::uint64_t>(), 0U);
  EXPECT_THAT(holder["since"].get<std::string>(), ::testing::MatchesRegex("....-..-..T..:..:..Z"));
  EXPECT_THAT(j["store"].get<std::string>(), HasSubstr("locks.db"));
}

TEST_F(Tool, ListHasOneLinePerHolder) {
  EXPECT_EQ(cremone({"list"}).out, "");
  holding first(dir, here(), "a");
  holding second(dir, here(), "b", {"--label", "two"});
  ASSERT_TRUE(first.held() && second.held());
  const auto end = cremone({"list"});
  EXPECT_EQ(end.code, 0);
  EXPECT_THAT(end.out, StartsWith("a\theld\t"));
  EXPECT_THAT(end.out, HasSubstr("\nb\theld\t"));
  const json j = json::parse(cremone({"list", "--json"}).out);
  ASSERT_EQ(j["locks"].size(), 2U);
  EXPECT_EQ(j["locks"][1]["name"], "b");
  EXPECT_EQ(j["locks"][1]["holders"][0]["label"], "two");
}

TEST_F(Tool, WatchTellsEachChangeInALineOfJson) {
  process watch(cremone_words({"watch", "--json", "--interval", "20ms"}), here());
  {
    holding first(dir, here(), "x");
    ASSERT_TRUE(first.held());
    EXPECT_TRUE(wait_for([&] { return watch.out().find("\"held\"") != std::string::npos; }));
    first.cremone().signal(SIGTERM);
    EXPECT_EQ(first.cremone().wait().code, 128 + SIGTERM);
  }
  EXPECT_TRUE(wait_for([&] { return watch.out().find("\"released\"") != std::string::npos; }));
  watch.signal(SIGTERM);
  const auto end = watch.wait();
  EXPECT_EQ(end.code, 0);
  std::istringstream lines(end.out);
  std::vector<std::string> events;
  for (std::string line; std::getline(lines, line);) {
    const json j = json::parse(line);
    EXPECT_EQ(j["name"], "x");
    events.push_back(j["event"]);
  }
  EXPECT_THAT(events, ::testing::ElementsAre("held", "released"));
}

TEST_F(Tool, WatchEndsWithItsReader) {
  holding first(dir, here(), "x");
  ASSERT_TRUE(first.held());
  const auto end = run({"sh", "-c", std::string(CREMONE_TOOL) + " watch | head -n 1"}, here());
  EXPECT_EQ(end.code, 0);
  EXPECT_THAT(end.out, HasSubstr("\theld\tx\t"));
  EXPECT_EQ(end.err, "");
}

TEST_F(Tool, ReleaseWantsToBeForced) {
  holding first(dir, here(), "x");
  ASSERT_TRUE(first.held());
  const auto end = cremone({"release", "x"});
  EXPECT_EQ(end.code, 64);
  EXPECT_THAT(end.err, HasSubstr("cremone release --force x"));
  EXPECT_EQ(cremone({"who", "x"}).code, 0);
}

TEST_F(Tool, ReleaseSaysWhetherThereWasAnything) {
  EXPECT_EQ(cremone({"release", "--force", "x"}).code, 1);
  EXPECT_EQ(json::parse(cremone({"release", "--force", "x", "--json"}).out)["removed"], 0);
  holding first(dir, here(), "x");
  ASSERT_TRUE(first.held());
  const auto end = cremone({"release", "--json", "--force", "x"});
  EXPECT_EQ(end.code, 0);
  EXPECT_EQ(json::parse(end.out)["removed"], 1);
  EXPECT_EQ(cremone({"who", "x"}).code, 1);
}

TEST_F(Tool, OutputThatCannotBeWrittenIsAnError) {
  auto full = here();
  full.output = "/dev/full";
  auto closed = here();
  closed.close_output = true;
  for (const std::vector<std::string>& words : {std::vector<std::string>{"who", "x"},
                                                {"--help"},
                                                {"list", "--json"},
                                                {"run", "--help"},
                                                {"--version"}}) {
    EXPECT_EQ(run(cremone_words(words), full).code, 74) << words[0];
    EXPECT_EQ(run(cremone_words(words), closed).code, 74) << words[0];
  }
}

}  // namespace
}  // namespace cremone::test
