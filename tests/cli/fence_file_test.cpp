// SPDX-License-Identifier: Apache-2.0
//
// `fence` and files: what it writes, what it refuses and how it says so. Whatever it ends with, the file is whole. How a
// crash leaves it is in fence_crash_test.cpp.
#include "cli/fence_fixture.hpp"
#include "cli/shell.hpp"
#include "support/namespaces.hpp"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

namespace cremone::test {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

const std::vector<std::string> no_tokens = {
    "x", "0", "-1", "1.5", "9223372036854775808", "1" + std::string(30, '0'), " 41", "41 ", "+41", "0x29"};

bool is_one_line(const std::string& text) {
  return text.ends_with('\n') && std::count(text.begin(), text.end(), '\n') == 1;
}

TEST_F(FenceTool, WriteReplacesAFileAndRefusesWhoeverComesLate) {
  const auto file = dir.file("report.csv");
  EXPECT_EQ(write(file, "41", "one\n").code, 0);
  EXPECT_EQ(contents(file), "one\n");
  EXPECT_EQ(write(file, "41", "two\n").code, 0) << "one holder writes many times";
  EXPECT_EQ(write(file, "57", "three\n").code, 0);
  const auto late = write(file, "56", "four\n");
  EXPECT_EQ(late.code, 81);
  EXPECT_THAT(late.err,
              AllOf(StartsWith("cremone: stale_token: "), HasSubstr("56"), HasSubstr("57"), HasSubstr(file)));
  EXPECT_TRUE(is_one_line(late.err)) << late.err;
  EXPECT_EQ(contents(file), "three\n");
  EXPECT_EQ(highest(file), "57");
  const auto quiet = fence({"write", "--token", "58", file}, {.input = "five\n"});
  EXPECT_EQ(quiet.out + quiet.err, "");
  EXPECT_EQ(contents(file), "five\n");
}

TEST_F(FenceTool, AppendAddsToTheEndAndRefusesWhoeverComesLate) {
  const auto log = dir.file("nightly.log");
  EXPECT_EQ(fence({"append", log}, {.token = "41", .input = "one\n"}).code, 0);
  EXPECT_EQ(fence({"append", log}, {.token = "57", .input = "two\n"}).code, 0);
  EXPECT_EQ(fence({"append", log}, {.token = "41", .input = "late\n"}).code, 81);
  EXPECT_EQ(fence({"append", log}, {.token = "57"}).code, 0) << "nothing to add";
  EXPECT_EQ(contents(log), "one\ntwo\n");
  EXPECT_EQ(highest(log), "57");
}

TEST_F(FenceTool, AnEmptyOptionIsNamedAndTakesNothingFromTheNext) {
  const auto file = write_file(dir.file("f"), "old");
  for (const std::string command : {"write", "append", "check"}) {
    const auto end = fence({command, "--token=", file}, {.token = "41", .input = "new"});
    EXPECT_EQ(end.code, 64);
    EXPECT_THAT(end.err, HasSubstr("'--token=' has nothing behind it"));
  }
  EXPECT_THAT(fence({"show", "--url=", file}).err, HasSubstr("'--url='"));
  EXPECT_EQ(contents(file), "old");
}

TEST_F(FenceTool, TheTokenOfTheCommandLineComesBeforeTheOneOfTheEnvironment) {
  const auto file = dir.file("f");
  EXPECT_EQ(fence({"write", "--token=57", file}, {.token = "x", .input = "1"}).code, 0);
  EXPECT_EQ(fence({"--token", "58", "write", file}, {.token = "99", .input = "2"}).code, 0);
  EXPECT_EQ(highest(file), "58");
  EXPECT_EQ(fence({"write", "--token", "9223372036854775807", file}, {.input = "3"}).code, 0);
  EXPECT_EQ(highest(file), "9223372036854775807");
}

TEST_F(FenceTool, WithoutATokenNothingIsDone) {
  const auto file = write_file(dir.file("f"), "as it was");
  for (const std::string command : {"write", "append", "check"}) {
    const auto none = fence({command, file}, {.input = "new"});
    EXPECT_EQ(none.code, 80) << command;
    EXPECT_THAT(none.err, AllOf(HasSubstr("CREMONE_TOKEN is not set"), HasSubstr("cremone run")));
    const auto empty = fence({command, file}, {.token = "", .input = "new"});
    EXPECT_EQ(empty.code, 80) << command;
    EXPECT_THAT(empty.err, HasSubstr("CREMONE_TOKEN is empty"));
  }
  EXPECT_EQ(contents(file), "as it was");
  EXPECT_FALSE(std::filesystem::exists(file + ".fence"));
}

TEST_F(FenceTool, WhatIsNoTokenIsRefusedByName) {
  const auto file = write_file(dir.file("f"), "as it was");
  for (const std::string& no : no_tokens) {
    for (const std::string command : {"write", "append", "check"}) {
      const auto by_variable = fence({command, file}, {.token = no, .input = "new"});
      EXPECT_EQ(by_variable.code, 64) << command << " " << no;
      EXPECT_THAT(by_variable.err,
                  AllOf(HasSubstr("CREMONE_TOKEN: "), HasSubstr(no == "0" ? "0 is no" : no)));
      EXPECT_TRUE(is_one_line(by_variable.err)) << by_variable.err;
      const auto by_option = fence({command, "--token", no, file}, {.token = "41", .input = "new"});
      EXPECT_EQ(by_option.code, 64) << command << " " << no;
      EXPECT_THAT(by_option.err, HasSubstr("--token: "));
    }
  }
  EXPECT_EQ(fence({"write", "--token", "", file}, {.token = "41", .input = "new"}).code, 64);
  EXPECT_EQ(contents(file), "as it was");
  EXPECT_FALSE(std::filesystem::exists(file + ".fence"));
}

TEST_F(FenceTool, AnEmptyInputEmptiesTheFileOnlyWhereThatIsMeant) {
  const auto file = write_file(dir.file("f"), "as it was");
  const auto end = write(file, "41", "");
  EXPECT_EQ(end.code, 64);
  EXPECT_THAT(end.err, AllOf(HasSubstr("empty"), HasSubstr("--empty")));
  EXPECT_EQ(contents(file), "as it was");
  EXPECT_EQ(fence({"write", "--empty", file}, {.token = "41"}).code, 0);
  EXPECT_EQ(contents(file), "");
  EXPECT_TRUE(std::filesystem::exists(file));
}

TEST_F(FenceTool, AnInputThatCannotBeReadIsNotItsEnd) {
  const auto file = write_file(dir.file("f"), "as it was");
  for (const std::string command : {"write", "write --empty", "append"}) {
    for (const std::string input : {"<&-", "< /", "0> /dev/null"}) {
      const auto end = run(
          {"sh", "-c", std::string(CREMONE_TOOL) + " fence " + command + " --token 41 " + file + " " + input},
          here());
      EXPECT_EQ(end.code, 74) << command << input;
      EXPECT_THAT(end.err, HasSubstr("standard input"));
      EXPECT_TRUE(is_one_line(end.err)) << end.err;
    }
  }
  EXPECT_EQ(contents(file), "as it was");
}

TEST_F(FenceTool, ASignalBeforeTheEndOfTheInputLeavesTheFileAsItWas) {
  const auto file = write_file(dir.file("f"), "as it was");
  const auto pipe = dir.file("pipe");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  for (const std::string command : {"write", "append"}) {
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
      process tool(
          {"sh", "-c",
           std::string("exec ") + CREMONE_TOOL + " fence " + command + " --token 41 " + file + " < " + pipe},
          here());
      const int end = ::open(pipe.c_str(), O_WRONLY | O_CLOEXEC);
      ASSERT_GE(end, 0);
      ASSERT_EQ(::write(end, "half of it", 10), 10);
      int unread = -1;
      EXPECT_TRUE(wait_for([&] { return ::ioctl(end, FIONREAD, &unread) == 0 && unread == 0; }));
      tool.signal(signal);
      EXPECT_EQ(tool.wait().signal, signal);
      ::close(end);
      EXPECT_EQ(contents(file), "as it was");
    }
  }
  const auto entries = std::filesystem::directory_iterator(dir.path());
  EXPECT_EQ(std::count_if(begin(entries), end(entries),
                          [](const auto& e) { return e.path().filename().string().starts_with("f"); }),
            1)
      << "something was left behind";
}

TEST_F(FenceTool, WritesInAPipelineUnderRun) {
  const auto file = dir.file("report.csv");
  const std::string tool = CREMONE_TOOL;
  const auto end = cremone({"run", "report", "--", "sh", "-c",
                            "echo $CREMONE_TOKEN; echo a';'b | " + tool + " fence write " + file +
                                " && echo c | " + tool + " fence append " + file});
  EXPECT_EQ(end.code, 0) << end.err;
  EXPECT_EQ(contents(file), "a;b\nc\n");
  EXPECT_EQ(highest(file) + "\n", end.out);
}

TEST_F(FenceTool, AHolderWhoseLockWasTakenFromItWritesNoMore) {
  const auto file = dir.file("report.csv");
  const auto go = dir.file("go");
  const auto held = dir.file("held");
  const std::string tool = CREMONE_TOOL;
  process late(
      cremone_words({"run", "report", "--", "setsid", "-w", "sh", "-c",
                     "echo > " + held + "; while [ ! -e " + go + " ]; do sleep 0.01; done; echo late | " +
                         tool + " fence write " + file + "; echo $? > " + dir.file("code")}),
      here());
  ASSERT_TRUE(appears(held));
  ASSERT_EQ(cremone({"release", "--force", "report"}).code, 0);
  const auto next =
      cremone({"run", "report", "--", "sh", "-c", "echo next | " + tool + " fence write " + file});
  EXPECT_EQ(next.code, 0) << next.err;
  write_file(go, "");
  ASSERT_TRUE(appears(dir.file("code")));
  EXPECT_EQ(contents(dir.file("code")), "81\n");
  EXPECT_EQ(contents(file), "next\n");
  EXPECT_THAT(late.wait().err, HasSubstr("stale_token"));
}

TEST_F(FenceTool, CheckOfAFileRemembersAndSaysSoInJson) {
  const auto file = write_file(dir.file("f"), "as it was");
  const auto fine = fence({"check", file}, {.token = "41"});
  EXPECT_EQ(fine.code, 0);
  EXPECT_EQ(fine.out + fine.err, "") << "a condition of a script says nothing";
  EXPECT_EQ(highest(file), "41");
  const auto more = fence({"check", "--json", file}, {.token = "57"});
  EXPECT_EQ(more.code, 0);
  EXPECT_EQ(json::parse(more.out),
            json({{"resource", file}, {"store", nullptr}, {"token", 57}, {"passed", true}, {"highest", 57}}));
  const auto late = fence({"check", "--json", file}, {.token = "41"});
  EXPECT_EQ(late.code, 81);
  EXPECT_EQ(
      json::parse(late.out),
      json({{"resource", file}, {"store", nullptr}, {"token", 41}, {"passed", false}, {"highest", 57}}));
  EXPECT_THAT(late.err, HasSubstr("stale_token"));
  EXPECT_EQ(contents(file), "as it was");
}

TEST_F(FenceTool, CheckOfAFileThatIsNotThereAsksForTheUrl) {
  const auto end = fence({"check", dir.file("ledger")}, {.token = "41"});
  EXPECT_EQ(end.code, 64);
  EXPECT_THAT(end.err, AllOf(HasSubstr("there is no file"), HasSubstr("ledger"), HasSubstr("--url")));
  EXPECT_FALSE(std::filesystem::exists(dir.file("ledger.fence")));
}

TEST_F(FenceTool, ShowIsANumberOrOne) {
  const auto file = write_file(dir.file("f"), "as it was");
  for (const std::string& path : {file, dir.file("none")}) {
    const auto none = fence({"show", path});
    EXPECT_EQ(none.code, 1);
    EXPECT_EQ(none.out + none.err, "");
    const auto as_json = fence({"show", "--json", path});
    EXPECT_EQ(as_json.code, 1);
    EXPECT_EQ(json::parse(as_json.out), json({{"resource", path}, {"store", nullptr}, {"highest", nullptr}}));
  }
  EXPECT_EQ(write(file, "57", "new").code, 0);
  EXPECT_EQ(fence({"show", file}).out, "57\n");
  EXPECT_EQ(fence({"show", file}).code, 0);
  EXPECT_EQ(json::parse(fence({"show", "--json", file}).out)["highest"], 57);
  auto full = here();
  full.output = "/dev/full";
  EXPECT_EQ(run(fence_words({"show", file}), full).code, 74);
}

TEST_F(FenceTool, AtATerminalSpeaksInSentences) {
  const auto file = dir.file("f");
  const auto environment = here().environment;
  const auto at_terminal = [&](std::vector<std::string> words) {
    words.insert(words.begin(), {CREMONE_TOOL, "fence"});
    return small_shell(words, environment);
  };
  auto typed = at_terminal({"write", "--token", "41", file});
  EXPECT_TRUE(typed.shows("reading from the terminal; end with Ctrl-D"));
  typed.type("typed\n\x04");
  EXPECT_EQ(typed.report(), "exited 0");
  EXPECT_EQ(contents(file), "typed\n");
  auto shown = at_terminal({"show", file});
  EXPECT_EQ(shown.report(), "exited 0");
  EXPECT_TRUE(shown.shows("has seen is 41."));
  auto checked = at_terminal({"check", "--token", "42", file});
  EXPECT_EQ(checked.report(), "exited 0");
  EXPECT_TRUE(checked.shows("Token 42 passes"));
  auto unseen = at_terminal({"show", write_file(dir.file("unseen"), "x")});
  EXPECT_EQ(unseen.report(), "exited 1");
  EXPECT_TRUE(unseen.shows("No token has come to file"));
  auto none = at_terminal({"show", dir.file("none")});
  EXPECT_EQ(none.report(), "exited 1");
  EXPECT_TRUE(none.shows("There is no file"));
  const auto piped = write(file, "43", "x");
  EXPECT_EQ(piped.err, "") << "nobody is told to type into a pipe";
}

TEST_F(FenceTool, WhatIsNoFileIsRefused) {
  struct mistake {
    std::vector<std::string> words;
    std::string said;
  };
  ASSERT_EQ(::mkfifo(dir.file("pipe").c_str(), 0600), 0);
  for (const std::string command : {"write", "append", "check"}) {
    for (const mistake& m : {mistake{{command}, "The name is missing"},
                             {{command, ""}, "empty"},
                             {{command, dir.path()}, dir.path()},
                             {{command, dir.file("pipe")}, "pipe"},
                             {{command, "one", "two"}, "'two' is one word too many"},
                             {{command, "redis://me:secret@host"}, "URL"},
                             {{command, "sqlite:///srv/shop.db"}, "URL"},
                             {{command, "--tokn", "3", "f"}, "did you mean --token?"}}) {
      const auto end = fence(m.words, {.token = "41", .input = "x"});
      EXPECT_EQ(end.code, 64) << end.err;
      EXPECT_THAT(end.err, AllOf(StartsWith("cremone: "), HasSubstr(m.said)));
      EXPECT_EQ(end.err.find("secret"), std::string::npos) << end.err;
    }
  }
}

TEST_F(FenceTool, AFileThatLooksLikeAnOptionIsWrittenBehindDashes) {
  const auto end = run(
      {"sh", "-c", "cd " + dir.path() + " && echo x | " + CREMONE_TOOL + " fence write --token 41 -- -odd"},
      here());
  EXPECT_EQ(end.code, 0) << end.err;
  EXPECT_EQ(contents(dir.file("-odd")), "x\n");
}

TEST_F(FenceTool, WithoutPermissionNothingIsChanged) {
  ASSERT_EQ(::chmod(dir.path().c_str(), 0755), 0);
  // Nobody may not go where the tool was built; what is open already it may run.
  const int tool = ::open(CREMONE_TOOL, O_RDONLY);
  ASSERT_GE(tool, 0);
  on_small_disk(dir.path(), "1m", [&](const std::string& on) -> std::string {
    const std::string file = on + "/f";
    const std::string kept = "as it was";
    if (::chmod(on.c_str(), 0755) != 0 || write(file, "41", kept).code != 0) {
      return "cannot be prepared";
    }
    if (::setgid(65534) != 0 || ::setuid(65534) != 0) {
      return "cannot become nobody";
    }
    for (const std::string command : {"write", "append", "check"}) {
      const auto end = fence(
          {command, file}, {.token = "57", .input = "new", .tool = "/proc/self/fd/" + std::to_string(tool)});
      if (end.code != 77 || !is_one_line(end.err) || end.err.find(file) == std::string::npos) {
        return command + ": " + std::to_string(end.code) + " " + end.err;
      }
    }
    return contents(file) == kept ? "" : "it was written";
  });
  ::close(tool);
}

TEST_F(FenceTool, OnAReadOnlyFileSystemNothingIsChanged) {
  on_small_disk(dir.path(), "1m", [&](const std::string& on) -> std::string {
    const std::string file = on + "/f";
    if (write(file, "41", "as it was").code != 0 ||
        ::mount("none", on.c_str(), nullptr, MS_REMOUNT | MS_RDONLY, nullptr) != 0) {
      return "cannot be prepared";
    }
    for (const std::string command : {"write", "append", "check"}) {
      const auto end = fence({command, file}, {.token = "57", .input = "new"});
      if (end.code != 74 || !is_one_line(end.err) || end.err.find(on) == std::string::npos) {
        return command + ": " + std::to_string(end.code) + " " + end.err;
      }
    }
    return contents(file) + highest(file) == "as it was41" ? "" : "it was changed";
  });
}

TEST_F(FenceTool, OnAFullDiskTheOldContentAndTheTokenStay) {
  on_small_disk(dir.path(), "256k", [&](const std::string& on) -> std::string {
    const std::string file = on + "/f";
    const std::string old(60'000, 'o');
    if (write(file, "41", old).code != 0) {
      return "cannot be prepared";
    }
    {
      std::ofstream filler(on + "/filler");
      while (filler << std::string(4096, 'x') << std::flush) {
      }
    }
    for (const std::string command : {"write", "append"}) {
      const auto end = fence({command, file}, {.token = "57", .input = std::string(60'000, 'n')});
      if (end.code != 74 || !is_one_line(end.err) || end.err.find(file) == std::string::npos) {
        return command + ": " + std::to_string(end.code) + " " + end.err;
      }
      if (contents(file) != old) {
        return command + " has changed the file";
      }
    }
    const std::string token = highest(file);
    if (token != "41" && token != "57") {
      return "its token is " + token;
    }
    std::filesystem::remove(on + "/filler");
    const auto again = write(file, "57", std::string(60'000, 'n'));
    return again.code == 0 && contents(file) == std::string(60'000, 'n') ? "" : "not even now: " + again.err;
  });
}

}  // namespace
}  // namespace cremone::test
