// SPDX-License-Identifier: Apache-2.0
//
// Shows for every rule of the tree a text that breaks it and one that keeps it, then applies the rules to the
// tree itself. Only the last part touches the disk; it decides which files are read, not what is right.
#include "style/source_text.hpp"
#include "style/tree_rules.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

namespace cremone::style {
namespace {

constexpr std::string_view first_line = "// SPDX-License-Identifier: Apache-2.0\n";

// The names of the rules that a file breaks, each once, with commas between; empty if it keeps them all.
std::string broken_by_file(std::string_view path, std::string_view text) {
  std::vector<std::string> rules;
  for (const auto& found : check_file(path, text)) rules.push_back(found.rule);
  std::sort(rules.begin(), rules.end());
  rules.erase(std::unique(rules.begin(), rules.end()), rules.end());
  std::string joined;
  for (const auto& rule : rules) joined += (joined.empty() ? "" : ", ") + rule;
  return joined;
}

// The same for a file that begins as it should, so that only `code` can be wrong.
std::string broken(std::string_view path, std::string_view code) {
  return broken_by_file(path, std::string(first_line) + "#pragma once\n" + std::string(code));
}

std::string broken_by_include(std::string_view path, std::string_view include) {
  return broken(path, "#include " + std::string(include) + "\n");
}

constexpr std::string_view kept;
constexpr std::string_view direction = "include direction";
constexpr std::string_view spelling = "include spelling";

// ---- who may include whom ---------------------------------------------------------------------------------

TEST(TreeRules, AnInstalledHeaderStandsOnTheStandardLibraryAndBoostSystem) {
  for (const auto* const include :
       {"<cremone/types.hpp>", "<chrono>", "<cstdint>", "<boost/system/result.hpp>"}) {
    EXPECT_EQ(broken_by_include("include/cremone/lease.hpp", include), kept) << include;
  }
  for (const auto* const include : {"<boost/optional.hpp>", "\"base/check.hpp\"", "<unistd.h>", "<sqlite3.h>",
                                    "\"types.hpp\"", "HEADER"}) {
    EXPECT_EQ(broken_by_include("include/cremone/lease.hpp", include), direction) << include;
  }
}

TEST(TreeRules, OnlyTheAsyncHeaderShowsAsio) {
  for (const auto* const include :
       {"<boost/asio/async_result.hpp>", "<boost/system/result.hpp>", "<cremone/lease.hpp>", "<utility>"}) {
    EXPECT_EQ(broken_by_include("include/cremone/async.hpp", include), kept) << include;
  }
  EXPECT_EQ(broken_by_include("include/cremone/async.hpp", "<boost/beast/core.hpp>"), direction);
  EXPECT_EQ(broken_by_include("include/cremone/client.hpp", "<boost/asio/async_result.hpp>"), direction);
}

TEST(TreeRules, BaseKnowsTheVocabularyAndNobodyAboveIt) {
  for (const auto* const include :
       {"\"base/check.hpp\"", "<array>", "<sys/random.h>", "<unistd.h>", "<cremone/types.hpp>",
        "<cremone/result.hpp>", "<cremone/callback.hpp>", "<cremone/options.hpp>"}) {
    EXPECT_EQ(broken_by_include("src/base/random.cpp", include), kept) << include;
  }
  for (const auto* const include :
       {"\"core/validity.hpp\"", "\"engine/asio_env.hpp\"", "\"backends/memory/memory.hpp\"",
        "\"open/open.hpp\"", "<cremone/backend.hpp>", "<cremone/record.hpp>", "<boost/asio.hpp>"}) {
    EXPECT_EQ(broken_by_include("src/base/random.cpp", include), direction) << include;
  }
}

TEST(TreeRules, CoreMayUseBaseTheVocabularyAndRecords) {
  for (const auto* const include : {"\"core/validity.hpp\"", "\"base/instant.hpp\"", "<vector>",
                                    "<cremone/types.hpp>", "<cremone/options.hpp>", "<cremone/record.hpp>"}) {
    EXPECT_EQ(broken_by_include("src/core/acquire.cpp", include), kept) << include;
  }
}

TEST(TreeRules, CoreMayNotReachThreadsFilesOrTheEnvironment) {
  for (const auto* const include : {"<thread>", "<mutex>", "<condition_variable>", "<atomic>", "<future>",
                                    "<fstream>", "<iostream>", "\"base/env.hpp\""}) {
    EXPECT_EQ(broken_by_include("src/core/acquire.cpp", include), direction) << include;
  }
}

TEST(TreeRules, CoreMayNotIncludeAsioTheSeamOrTheSystem) {
  for (const auto* const include : {"<boost/asio/post.hpp>", "<cremone/backend.hpp>", "<cremone/client.hpp>",
                                    "<sys/types.h>", "<unistd.h>", "<time.h>", "<pthread.h>",
                                    "\"engine/asio_env.hpp\"", "\"backends/memory/memory.hpp\""}) {
    EXPECT_EQ(broken_by_include("src/core/acquire.cpp", include), direction) << include;
  }
}

TEST(TreeRules, TheEngineMayNotNameABackend) {
  for (const auto* const include :
       {"\"engine/quorum.hpp\"", "\"core/quorum.hpp\"", "\"base/env.hpp\"", "<thread>",
        "<cremone/backend.hpp>", "<boost/asio/post.hpp>", "<time.h>"}) {
    EXPECT_EQ(broken_by_include("src/engine/quorum.cpp", include), kept) << include;
  }
  for (const auto* const include : {"\"backends/redis/redis.hpp\"", "\"open/open.hpp\"", "<sqlite3.h>"}) {
    EXPECT_EQ(broken_by_include("src/engine/quorum.cpp", include), direction) << include;
  }
}

TEST(TreeRules, ABackendKnowsTheSeamAndItsOwnFolder) {
  for (const auto* const include :
       {"\"backends/sqlite/statement.hpp\"", "\"base/env.hpp\"", "<cremone/backend.hpp>",
        "<cremone/types.hpp>", "<cremone/record.hpp>", "<sqlite3.h>", "<map>"}) {
    EXPECT_EQ(broken_by_include("src/backends/sqlite/sqlite.cpp", include), kept) << include;
  }
  for (const auto* const include :
       {"\"core/validity.hpp\"", "\"engine/asio_env.hpp\"", "\"open/open.hpp\"", "<cremone/client.hpp>"}) {
    EXPECT_EQ(broken_by_include("src/backends/sqlite/sqlite.cpp", include), direction) << include;
  }
}

TEST(TreeRules, OnlyAFewFilesOfTheSimulatorKnowLua) {
  for (const auto* const file : {"sim/redis/lua.cpp", "sim/redis/lua_values.hpp"}) {
    EXPECT_EQ(broken_by_include(file, "<lua5.1/lua.hpp>"), kept) << file;
    EXPECT_EQ(broken_by_include(file, "\"engine/engine.hpp\""), direction) << file;
  }
  EXPECT_EQ(broken_by_include("sim/redis/server.cpp", "<lua5.1/lua.hpp>"), direction);
  for (const auto* const include :
       {"\"sim/redis/server.hpp\"", "\"backends/redis/digest.hpp\"", "<cremone/types.hpp>", "<vector>"}) {
    EXPECT_EQ(broken_by_include("sim/world.cpp", include), kept) << include;
  }
}

TEST(TreeRules, ABackendMayNotIncludeAnotherBackend) {
  EXPECT_EQ(broken_by_include("src/backends/redis/redis.cpp", "\"backends/redis/session.hpp\""), kept);
  EXPECT_EQ(broken_by_include("src/backends/redis/redis.cpp", "\"backends/memory/memory.hpp\""), direction);
  EXPECT_EQ(broken_by_include("src/backends/redis/redis.cpp", "\"backends/redis2/session.hpp\""), direction);
}

TEST(TreeRules, OpenMayNameEverybody) {
  for (const auto* const include :
       {"\"base/env.hpp\"", "\"core/quorum.hpp\"", "\"engine/quorum.hpp\"", "\"fence/gate.hpp\"",
        "\"open/url.hpp\"", "\"backends/redis/redis.hpp\"", "<cremone/client.hpp>", "<boost/asio.hpp>"}) {
    EXPECT_EQ(broken_by_include("src/open/open.cpp", include), kept) << include;
  }
}

TEST(TreeRules, TheToolIsAUserOfTheLibrary) {
  for (const auto* const include :
       {"\"cli/output.hpp\"", "\"base/text.hpp\"", "<cremone/client.hpp>", "<CLI/CLI.hpp>",
        "<nlohmann/json.hpp>", "<thread>", "<termios.h>", "<sys/wait.h>"}) {
    EXPECT_EQ(broken_by_include("cli/run.cpp", include), kept) << include;
  }
  for (const auto* const include :
       {"\"core/validity.hpp\"", "\"engine/asio_env.hpp\"", "\"backends/memory/memory.hpp\"",
        "\"base/env.hpp\"", "<cremone/backend.hpp>", "<boost/asio.hpp>", "<sqlite3.h>", "\"run.hpp\""}) {
    EXPECT_EQ(broken_by_include("cli/run.cpp", include), direction) << include;
  }
}

TEST(TreeRules, OnlyTheToolsSimulationsKnowTheSimulatorAndOnlyItsFace) {
  for (const auto* const include :
       {"\"sim/schedule.hpp\"", "\"sim/swarm.hpp\"", "\"sim/faults.hpp\"", "\"sim/redis/lua.hpp\""}) {
    EXPECT_EQ(broken_by_include("cli/sim_swarm.cpp", include), kept) << include;
    EXPECT_EQ(broken_by_include("cli/run.cpp", include), direction) << include;
    EXPECT_EQ(broken_by_include("src/engine/engine.cpp", include), direction) << include;
  }
  for (const auto* const include :
       {"\"sim/random.hpp\"", "\"sim/redis/node.hpp\"", "<cremone/backend.hpp>"}) {
    EXPECT_EQ(broken_by_include("cli/sim_swarm.cpp", include), direction) << include;
  }
  EXPECT_EQ(broken_by_include("cli/sim.cpp", "\"cli/output.hpp\""), kept);
}

TEST(TreeRules, AFolderWithoutARowIsRefused) {
  EXPECT_EQ(broken("src/elsewhere/file.cpp", ""), direction);
  EXPECT_EQ(broken("src/file.cpp", ""), direction);
  EXPECT_EQ(broken("include/other/file.hpp", ""), direction);
}

TEST(TreeRules, TestsMayIncludeAnyLayer) {
  EXPECT_EQ(broken_by_include("tests/unit/quorum_test.cpp", "\"core/quorum.hpp\""), kept);
  EXPECT_EQ(broken_by_include("tests/unit/quorum_test.cpp", "\"backends/memory/memory.hpp\""), kept);
}

// ---- how an include is spelled ----------------------------------------------------------------------------

TEST(TreeRules, AnIncludeMayNotClimb) {
  EXPECT_EQ(broken_by_include("tests/unit/quorum_test.cpp", "\"../support/fake.hpp\""), spelling);
  EXPECT_EQ(broken_by_include("tests/unit/quorum_test.cpp", "\"./fake.hpp\""), spelling);
  EXPECT_EQ(broken_by_include("src/core/quorum.cpp", "\"core/../base/check.hpp\""), spelling);
}

TEST(TreeRules, AProjectHeaderIsNamedFromTheRootOfTheSources) {
  EXPECT_EQ(broken_by_include("src/open/open.cpp", "\"url.hpp\""), direction);
  EXPECT_EQ(broken_by_include("src/core/quorum.cpp", "\"quorum.hpp\""), direction);
}

TEST(TreeRules, AProjectHeaderIsQuotedAndAnInstalledOneIsNot) {
  EXPECT_EQ(broken_by_include("src/open/open.cpp", "\"base/url.hpp\""), kept);
  for (const auto* const include : {"<base/url.hpp>", "<core/quorum.hpp>", "<engine/quorum.hpp>",
                                    "<backends/redis/redis.hpp>", "<fence/gate.hpp>", "<open/open.hpp>"}) {
    EXPECT_EQ(broken_by_include("src/open/open.cpp", include), spelling) << include;
  }
  EXPECT_EQ(broken_by_include("tests/unit/lease_test.cpp", "<cremone/lease.hpp>"), kept);
  EXPECT_EQ(broken_by_include("tests/unit/lease_test.cpp", "\"cremone/lease.hpp\""), spelling);
}

// ---- what may not stand in code ---------------------------------------------------------------------------

TEST(TreeRules, TheLayersReadNoClock) {
  for (const auto* const path : {"src/base/backoff.cpp", "src/core/validity.cpp",
                                 "src/backends/memory/memory.cpp", "src/engine/quorum.cpp"}) {
    EXPECT_EQ(broken(path, "auto t = std::chrono::steady_clock::now();"), "no clock") << path;
    EXPECT_EQ(broken(path, "auto t = system_clock :: now ();"), "no clock") << path;
    EXPECT_EQ(broken(path, "clock_gettime(CLOCK_BOOTTIME, &t);"), "no clock") << path;
  }
  EXPECT_EQ(broken("src/core/validity.cpp", "gettimeofday(&t, nullptr);"), "no clock");
  EXPECT_EQ(broken("src/core/validity.cpp", "timespec_get(&t, TIME_UTC);"), "no clock");
  EXPECT_EQ(broken("src/core/validity.cpp", "auto t = event.now(); bool later = now > t;"), kept);
}

TEST(TreeRules, TheEnvironmentOfARealProcessMayReadTheClock) {
  EXPECT_EQ(broken("src/engine/validity_clock.cpp", "clock_gettime(CLOCK_BOOTTIME, &t);"), kept);
  EXPECT_EQ(broken("src/engine/asio_env.cpp", "auto t = steady_clock::now();"), kept);
  EXPECT_EQ(broken("src/engine/asio_env.hpp", "auto t = validity_clock::now();"), kept);
}

TEST(TreeRules, OnlyTheLoopThreadStartsAThread) {
  EXPECT_EQ(broken("src/engine/quorum.cpp", "std::thread worker;"), "no thread");
  EXPECT_EQ(broken("src/backends/memory/memory.cpp", "std::jthread worker;"), "no thread");
  EXPECT_EQ(broken("src/engine/quorum.cpp", "std::vector<std::thread> workers;"), "no thread");
  EXPECT_EQ(broken("src/engine/quorum.cpp", "std::thread::id id = std::this_thread::get_id();"), kept);
  EXPECT_EQ(broken("src/engine/loop_thread.hpp", "std::thread worker;"), kept);
  EXPECT_EQ(broken("src/engine/loop_thread.cpp", "std::jthread worker;"), kept);
}

TEST(TreeRules, TheLayersDrawNoRandomNumbers) {
  for (const auto* const code :
       {"int r = rand();", "int r = std::rand();", "srand(1);", "std::mt19937 generator;",
        "std::mt19937_64 generator;", "std::random_device device;"}) {
    EXPECT_EQ(broken("src/base/backoff.cpp", code), "no randomness") << code;
    EXPECT_EQ(broken("src/engine/quorum.cpp", code), "no randomness") << code;
  }
  EXPECT_EQ(broken("src/base/random.cpp", "getrandom(&bytes, sizeof bytes, 0); int operand(int);"), kept);
}

TEST(TreeRules, NeitherTheLibraryNorAUnitTestSleeps) {
  for (const auto* const code : {"std::this_thread::sleep_for(1s);", "std::this_thread::sleep_until(then);",
                                 "usleep(1);", "nanosleep(&t, nullptr);"}) {
    EXPECT_EQ(broken("src/open/open.cpp", code), "no sleep") << code;
    EXPECT_EQ(broken("tests/unit/lease_test.cpp", code), "no sleep") << code;
    EXPECT_EQ(broken("tests/live/lease_test.cpp", code), kept) << code;
  }
}

TEST(TreeRules, TheLibraryHasNoCoroutines) {
  for (const auto* const code : {"co_await timer;", "co_return;", "co_yield 1;"}) {
    EXPECT_EQ(broken("src/engine/quorum.cpp", code), "no coroutine") << code;
    EXPECT_EQ(broken("include/cremone/async.hpp", code), "no coroutine") << code;
    EXPECT_EQ(broken("examples/async.cpp", code), kept) << code;
  }
}

TEST(TreeRules, CommentsAndLiteralsAreNotCode) {
  EXPECT_EQ(broken("src/core/validity.cpp", "// a user may co_await this\n/* std::thread\n rand() */"), kept);
  EXPECT_EQ(broken("src/core/validity.cpp", "// #include <thread>\n/*\n#include <mutex>\n*/"), kept);
  EXPECT_EQ(
      broken("src/core/validity.cpp", "auto text = \"usleep\"; auto raw = R\"(\n#include <thread>\n)\";"),
      kept);
}

TEST(TreeRules, CodeBesideACommentIsStillCode) {
  EXPECT_EQ(broken("src/core/validity.cpp", "/* why */ std::thread t; // because"), "no thread");
  EXPECT_EQ(broken("src/core/validity.cpp", "#include <thread>  // for a reason"), direction);
  EXPECT_EQ(broken("src/core/validity.cpp", "#  include /* odd */ <thread>"), direction);
  EXPECT_EQ(broken("src/core/validity.cpp", "auto url = \"redis://host\"; std::thread t;"), "no thread");
}

// ---- how a file begins and ends ---------------------------------------------------------------------------

TEST(TreeRules, EveryFileBeginsWithItsLicense) {
  for (const auto* const path : {"include/cremone/lease.hpp", "src/core/quorum.hpp",
                                 "tests/unit/quorum_test.hpp", "bench/bench.hpp", "examples/first.hpp"}) {
    EXPECT_EQ(broken_by_file(path, "#pragma once\n"), "license line") << path;
    EXPECT_EQ(broken_by_file(path, "\n// SPDX-License-Identifier: Apache-2.0\n#pragma once\n"),
              "license line")
        << path;
    EXPECT_EQ(broken_by_file(path, "// SPDX-License-Identifier: MIT\n#pragma once\n"), "license line")
        << path;
    EXPECT_EQ(broken(path, ""), kept) << path;
  }
  EXPECT_EQ(broken_by_file("examples/first.cpp", ""), "license line");
}

TEST(TreeRules, EveryHeaderHasPragmaOnce) {
  EXPECT_EQ(broken_by_file("src/core/quorum.hpp", first_line), "include guard");
  EXPECT_EQ(broken_by_file("src/core/quorum.hpp", std::string(first_line) + "// #pragma once\n"),
            "include guard");
  EXPECT_EQ(broken_by_file("src/core/quorum.cpp", first_line), kept);
}

TEST(TreeRules, AFileOfTheLibraryHasAtMostFiveHundredLines) {
  const auto of_lines = [](std::size_t count) {
    return std::string(first_line) + std::string(count - 1, '\n');
  };
  EXPECT_EQ(broken_by_file("src/core/quorum.cpp", of_lines(500)), kept);
  EXPECT_EQ(broken_by_file("src/core/quorum.cpp", of_lines(501)), "file length");
  EXPECT_EQ(broken_by_file("include/cremone/lease.hpp",
                           "// SPDX-License-Identifier: Apache-2.0\n#pragma once\n" + std::string(499, '\n')),
            "file length");
  EXPECT_EQ(broken_by_file("tests/unit/quorum_test.cpp", of_lines(501)), kept);
}

TEST(TreeRules, AViolationNamesItsLine) {
  const auto found =
      check_file("src/core/quorum.cpp", std::string(first_line) + "/*\n*/\n\nauto x = std::\n thread();\n");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].path, "src/core/quorum.cpp");
  EXPECT_EQ(found[0].line, 5U);
}

// ---- reading C++ ------------------------------------------------------------------------------------------

TEST(SourceText, KeepsEveryPositionWhenItStrips) {
  const std::string_view text = "int a; // one\n/* two\n */ auto b = \"three\";\n";
  EXPECT_EQ(strip(text).without_comments, "int a;       \n      \n    auto b = \"three\";\n");
  EXPECT_EQ(strip(text).code, "int a;       \n      \n    auto b =        ;\n");
}

TEST(SourceText, IsNotMisledByQuotes) {
  EXPECT_EQ(strip(R"x(char c = '"'; int d;)x").code, "char c =    ; int d;");
  EXPECT_EQ(strip(R"x(auto s = "\"//"; int d;)x").code, "auto s =       ; int d;");
  EXPECT_EQ(strip(R"x(char c = '\''; int d;)x").code, "char c =     ; int d;");
  EXPECT_EQ(strip("auto s = R\"a()\" // )a\"; int d;").code, "auto s = R            ; int d;");
  EXPECT_EQ(strip("#error don't\nint d;").code, "#error don  \nint d;");
}

TEST(SourceText, TakesAnApostropheInANumberForWhatItIs) {
  EXPECT_EQ(strip("int a = 1'000'000; int b = 0xFF'FF;").code, "int a = 1'000'000; int b = 0xFF'FF;");
}

TEST(SourceText, EndsWhatIsNeverClosedWithTheText) {
  EXPECT_EQ(strip("/* a").code, "    ");
  EXPECT_EQ(strip("\"a").code, "  ");
  EXPECT_EQ(strip("\"a\\").code, "   ");
  EXPECT_EQ(strip("R\"a").code, "R  ");
  EXPECT_EQ(strip("R\"(a").code, "R   ");
}

TEST(SourceText, CarriesALineCommentOverABackslash) { EXPECT_EQ(strip("// a\\\nb\nc").code, "     \n \nc"); }

// ---- this tree --------------------------------------------------------------------------------------------

namespace fs = std::filesystem;

bool is_source(const fs::path& path) { return path.extension() == ".hpp" || path.extension() == ".cpp"; }

// The sources of the tree, relative to its root. A folder that is not there yet has none.
std::vector<std::string> source_files(const fs::path& root) {
  std::vector<std::string> files;
  for (const auto folder : checked_folders()) {
    if (!fs::exists(root / folder)) continue;
    for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
      if (!entry.is_regular_file() || !is_source(entry.path())) continue;
      files.push_back(entry.path().lexically_relative(root).generic_string());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::string read(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(Tree, KeepsItsRules) {
  const fs::path root = CREMONE_SOURCE_DIR;
  for (const auto& file : source_files(root)) {
    for (const auto& found : check_file(file, read(root / file))) {
      ADD_FAILURE_AT(found.path.c_str(), static_cast<int>(found.line)) << found.rule << ": " << found.why;
    }
  }
}

// Without this, a wrong root would make the test above pass by reading nothing.
TEST(Tree, IsFoundWhereTheBuildSaysItIs) {
  const auto files = source_files(CREMONE_SOURCE_DIR);
  EXPECT_NE(std::find(files.begin(), files.end(), "tests/style/tree_test.cpp"), files.end());
}

}  // namespace
}  // namespace cremone::style
