// SPDX-License-Identifier: Apache-2.0
//
// Wrong words get one clear line, the right help, and a code of their own.
#include "cli/fixture.hpp"

#include <unistd.h>

namespace cremone::test {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST_F(Tool, HelpTeachesWithExamples) {
  for (const std::string command : {"run", "who", "list", "watch", "release", "doctor", "quarantine"}) {
    const auto end = cremone({command, "--help"});
    EXPECT_EQ(end.code, 0);
    EXPECT_THAT(end.out, HasSubstr("Usage: cremone " + command));
    EXPECT_THAT(end.out, HasSubstr("Examples:\n  cremone "));
    EXPECT_EQ(end.out, cremone({"help", command}).out);
    EXPECT_THAT(cremone({"--help"}).out, HasSubstr("\n  " + command + " "));
  }
  EXPECT_EQ(cremone({"help"}).out, cremone({"--help"}).out);
  EXPECT_THAT(cremone({"help", "exit-codes"}).out, HasSubstr("  75  "));
  EXPECT_THAT(cremone({"--version"}).out, StartsWith("cremone 0."));
  EXPECT_EQ(cremone({"-V"}).out, cremone({"--version"}).out);
}

TEST_F(Tool, HelpNamesDefaultStoreAndWhoSharesIt) {
  const std::string help = cremone({"help"}).out;
  EXPECT_THAT(help, HasSubstr(dir.file("locks.db")));
  EXPECT_THAT(help, HasSubstr("$CREMONE_STATE_DIR/locks.db"));
  EXPECT_THAT(help, HasSubstr("/var/lib/cremone/locks.db"));
  EXPECT_THAT(help, HasSubstr("Root and other users have different files and do not share locks."));
}

TEST_F(Tool, AWrongWordGetsASuggestion) {
  struct mistake {
    std::vector<std::string> words;
    std::string said;
  };
  for (const mistake& m :
       {mistake{{"rnu", "x", "--", "true"}, "did you mean run?"},
        {{"run", "--wiat", "3s", "x", "--", "true"}, "did you mean --wait?"},
        {{"run", "--conflict-exit-cod=3", "x", "--", "true"}, "did you mean --conflict-exit-code?"},
        {{"who", "--jsno", "x"}, "did you mean --json?"},
        {{"frobnicate"}, "there is no command 'frobnicate'"}}) {
    const auto end = cremone(m.words);
    EXPECT_EQ(end.code, 64);
    EXPECT_THAT(end.err, HasSubstr(m.said));
    EXPECT_EQ(end.out, "");
  }
}

TEST_F(Tool, WhatIsMissingIsNamed) {
  struct mistake {
    std::vector<std::string> words;
    std::string said;
  };
  for (const mistake& m :
       {mistake{{}, "cremone help"},
        {{"run", "x"}, "cremone run x -- COMMAND"},
        {{"run", "x", "--"}, "cremone run x -- COMMAND"},
        {{"run", "--", "true"}, "The name is missing"},
        {{"run", "x", "echo", "hi"}, "x -- echo hi"},
        {{"run", "x", "y", "--", "true"}, "'y'"},
        {{"run", "", "--", "true"}, "invalid_argument"},
        {{"run", "--wait", "soon", "x", "--", "true"}, "--wait: 'soon' is not a length of time"},
        {{"run", "--wait", "--", "true"}, "--wait"},
        {{"run", "--wait", "1s", "--try", "x", "--", "true"}, "--try"},
        {{"run", "-E", "256", "x", "--", "true"}, "-E: '256'"},
        {{"run", "--ttl", "1s", "--grace", "2s", "x", "--", "true"}, "--grace 2s is too long"},
        {{"run", "--ttl", "1ms", "x", "--", "true"}, "ttl"},
        {{"who", "x", "y"}, "'y' is one word too many"},
        {{"who"}, "The name is missing"},
        {{"who", "x", "--", "y"}, "'y' is one word too many"},
        {{"run", "--wait", "", "x", "--", "true"}, "--wait: ''"},
        {{"run", "-E", "", "x", "--", "true"}, "-E: ''"},
        {{"--url", "sqlit:///tmp/x", "who", "x"}, "sqlit"}}) {
    const auto end = cremone(m.words);
    EXPECT_EQ(end.code, 64) << end.err;
    EXPECT_THAT(end.err, HasSubstr(m.said));
    EXPECT_THAT(end.err, StartsWith("cremone: "));
  }
}

TEST_F(Tool, APasswordIsNeverEchoed) {
  const std::string secret = "redis://me:secret@host/";
  using words = std::vector<std::string>;
  for (const words& w :
       {words{"--url", secret, "who", "x"}, words{"--ulr=" + secret, "who", "x"},
        words{"who", "--ulr=" + secret, "x"}, words{"who", "x", secret}, words{"who", secret}, words{secret},
        words{"--url=" + secret}, words{"who", "--json=" + secret, "x"}, words{"run", "x", secret},
        words{"run", "x", "--", secret}, words{"help", secret},
        words{"run", "--wait", secret, "x", "--", "true"}, words{"release", "--force", "--", secret}}) {
    const auto end = cremone(w);
    EXPECT_NE(end.code, 0) << w.back();
    EXPECT_EQ((end.out + end.err).find("secret"), std::string::npos) << end.out << end.err;
  }
}

/// The scheme or a slash is missing, or there is one slash too many.
TEST_F(Tool, MistypedUrlDoesNotPrintItsPassword) {
  using words = std::vector<std::string>;
  for (const std::string url :
       {"/:secret@host", "//ann:secret@host", "redis:/:secret@host", "redis:///:secret@host",
        "redlock:///:secret@host", "postgres:///ann:secret@host/shop", "mariadb:///ann:secret@host/shop"}) {
    for (const words& w : {words{"list", "--url", url}, words{"list", url}, words{url}, words{"fence", url},
                           words{"fence", "init", url}, words{"fence", "show", "--url", url, "x"},
                           words{"fence", "check", "--token", "4", url}, words{"fence", "write", url}}) {
      const auto end = cremone(w);
      EXPECT_EQ((end.out + end.err).find("secret"), std::string::npos) << end.out << end.err;
    }
  }
  const auto end = cremone({"list", "ann:secret@host"});
  EXPECT_THAT(end.err, HasSubstr("'ann:******@host' is one word too many"));
}

TEST_F(Tool, APasswordOnTheCommandLineIsHiddenFromPsAndGivenToTheCommand) {
  const auto got = dir.file("got");
  const process p(cremone_words({"run", "--url=" + url(), "x", "--", "sh", "-c",
                                 "echo $0 > " + got + ".new; mv " + got + ".new " + got + "; exec sleep 1000",
                                 "redis://me:secret@host/"}),
                  here());
  ASSERT_TRUE(appears(got));
  EXPECT_EQ(contents(got), "redis://me:secret@host/\n");
  const std::string shown = contents("/proc/" + std::to_string(p.pid()) + "/cmdline");
  EXPECT_THAT(shown, HasSubstr("redis://me:******@host/"));
  EXPECT_EQ(shown.find("secret"), std::string::npos);
}

TEST_F(Tool, AStoreThatCannotBeOpenedIsOneLineWithACodeOfItsOwn) {
  const auto garbage = write_file(dir.file("garbage.db"), std::string(5000, 'x'));
  const auto corrupt = cremone({"--url", "sqlite://" + garbage, "run", "x", "--", "true"});
  EXPECT_EQ(corrupt.code, 74) << corrupt.err;
  EXPECT_THAT(corrupt.err, HasSubstr(garbage));
  EXPECT_EQ(contents(garbage), std::string(5000, 'x'));
  const auto nowhere =
      cremone({"--url", "sqlite://" + dir.file("no/such/locks.db"), "run", "x", "--", "true"});
  EXPECT_NE(nowhere.code, 0);
  EXPECT_NE(nowhere.code, 1);
  EXPECT_THAT(nowhere.err, HasSubstr(dir.file("no/such")));
}

TEST_F(Tool, WithoutAUrlTheLocksAreInTheStateDirectory) {
  surroundings around = here();
  around.environment[0].second = "";  // CREMONE_URL
  const auto end =
      run(cremone_words({"run", "hello", "--", "sh", "-c", "echo token $CREMONE_TOKEN"}), around);
  EXPECT_EQ(end.code, 0) << end.err;
  EXPECT_THAT(end.out, StartsWith("token "));
  EXPECT_EQ(::access(dir.file("locks.db").c_str(), F_OK), 0);
}

TEST_F(Tool, AStoreThatExcludesNobodyIsRefused) {
  EXPECT_EQ(cremone({"run", "--url", "memory://", "x", "--", "true"}).code, 78);
  const auto empty = cremone({"run", "--url", "", "x", "--", "true"});
  EXPECT_EQ(empty.code, 64) << "a script's variable was not set";
  EXPECT_THAT(empty.err, HasSubstr("--url is empty"));
}

TEST_F(Tool, QuietPrintsNothingAndKeepsTheExitCode) {
  using words = std::vector<std::string>;
  holding first(dir, here(), "x");
  ASSERT_TRUE(first.held());
  const std::vector<std::pair<words, int>> commands = {{{"run", "-q", "--try", "x", "--", "true"}, 75},
                                                       {{"who", "-q", "x"}, 0},
                                                       {{"who", "--quiet", "free"}, 1},
                                                       {{"doctor", "-q"}, 0},
                                                       {{"release", "-q", "--force", "free"}, 1},
                                                       {{"release", "-q", "--force", "x"}, 0}};
  for (const auto& [command, code] : commands) {
    const auto end = cremone(command);
    EXPECT_EQ(end.code, code) << command.front();
    EXPECT_EQ(end.out + end.err, "") << command.front();
  }
  EXPECT_THAT(cremone({"who", "-q", "--json", "x"}).err, HasSubstr("--quiet and --json contradict"));
  EXPECT_THAT(cremone({"run", "-q", "--verbose", "x", "--", "true"}).err, HasSubstr("contradict"));
}

TEST_F(Tool, QuietStillPrintsFailures) {
  const auto end = cremone({"run", "-q", "y", "--", "/nowhere"});
  EXPECT_EQ(end.code, 127);
  EXPECT_THAT(end.err, HasSubstr("/nowhere"));
}

TEST_F(Tool, RunTakesANameThatLooksLikeAnOption) {
  const auto end = cremone({"run", "--", "-odd", "--", "sh", "-c", "echo $CREMONE_NAME"});
  EXPECT_EQ(end.code, 0) << end.err;
  EXPECT_EQ(end.out, "-odd\n");
  EXPECT_EQ(cremone({"run", "--try", "--", "--help", "--", "true"}).code, 0);
  EXPECT_EQ(cremone({"run", "x", "--", "echo", "--", "y"}).out, "-- y\n")
      << "a name was given: all is the command";
  const auto wrong = cremone({"run", "-odd", "--", "true"});
  EXPECT_EQ(wrong.code, 64);
  EXPECT_THAT(wrong.err, HasSubstr("cremone run -- -odd -- COMMAND"));
}

TEST_F(Tool, NameWithABidirectionalControlIsRefused) {
  const auto end = cremone({"run", "x\u202ey", "--", "true"});
  EXPECT_EQ(end.code, 64);
  EXPECT_THAT(end.err, HasSubstr("U+202E"));
  EXPECT_EQ(end.err.find("\u202e"), std::string::npos) << "the message shows no such character";
  EXPECT_EQ(cremone({"run", "--label", "x\u202ey", "x", "--", "true"}).code, 64);
}

TEST_F(Tool, ANameMayLookLikeAnOption) {
  EXPECT_EQ(cremone({"who", "--", "-odd"}).code, 1);
  EXPECT_EQ(cremone({"release", "--force", "--", "-odd"}).code, 1);
}

}  // namespace
}  // namespace cremone::test
