// SPDX-License-Identifier: Apache-2.0
//
// Many threads with tokens out of order, at a log and at a file that is replaced: flock() is per opened file, so that threads exclude each other as
// processes do.
#include "fence/file_fixture.hpp"
#include "fence/writers.hpp"

#include <atomic>
#include <sstream>
#include <thread>

namespace cremone::test {

namespace {

using ::testing::ElementsAre;
using namespace std::chrono_literals;

/// A log whose last line is the state.
class log_file final : public fenced_resource {
 public:
  explicit log_file(std::string path) : path_(std::move(path)) {}

  std::unique_ptr<fenced_writer> connect() override {
    class writer final : public fenced_writer {
     public:
      explicit writer(const std::string& path) : file_(path, 60s) {}
      result<void> write(fence_token token) override {
        return file_.append(token, std::to_string(token.value()) + "\n");
      }

     private:
      fenced_file file_;
    };
    return std::make_unique<writer>(path_);
  }
  std::vector<std::uint64_t> log() override {
    std::vector<std::uint64_t> tokens;
    std::istringstream lines(content_of(path_));
    for (std::uint64_t token = 0; lines >> token;) {
      tokens.push_back(token);
    }
    return tokens;
  }
  std::uint64_t state() override { return log().back(); }
  std::uint64_t highest() override { return highest_of(path_); }

 private:
  std::string path_;
};

TEST_F(FencedFile, OfManyWritersIsALogInTheOrderOfTheirTokens) {
  log_file log(path("log"));
  contend(log);
  EXPECT_THAT(names_in(directory_.path()), ElementsAre("log", "log.fence"));
}

TEST_F(FencedFile, OfManyWritersIsReplacedByHigherTokensOnlyAndIsNeverTorn) {
  const std::vector<std::uint64_t> tokens = tokens_out_of_order(2);
  const std::uint64_t last = *std::max_element(tokens.begin(), tokens.end());
  const auto content = [](std::uint64_t token) {  // long enough to tear
    std::string text;
    for (int i = 0; i < 1000; ++i) {
      text += std::to_string(token) + "\n";
    }
    return text;
  };
  ASSERT_TRUE(fenced_file(path()).write(fence_token(1), content(1)));
  std::atomic<std::size_t> next = 0;
  std::atomic<int> accepted = 0;
  std::atomic<bool> over = false;
  std::vector<std::thread> threads;
  for (std::size_t w = 0; w < writer_count; ++w) {
    threads.emplace_back([&, w] {
      std::mt19937 random(static_cast<std::uint32_t>(w));
      const fenced_file file(path(), 60s);
      for (std::size_t i = next++; i < tokens.size(); i = next++) {
        if (random() % 4 == 0) {
          std::this_thread::sleep_for(std::chrono::microseconds(random() % 2000));
        }
        const auto done = file.write(fence_token(tokens[i]), content(tokens[i]));
        if (done) {
          ++accepted;
        } else if (done.error().code() != errc::stale_token) {
          ADD_FAILURE() << done.error();
          return;
        }
      }
    });
  }
  std::thread reader([&] {
    std::uint64_t before = 0;
    int changes = 0;
    while (!over) {
      const std::string seen = content_of(path());
      const std::uint64_t token = std::stoull(seen);
      if (token < before || seen != content(token)) {
        ADD_FAILURE() << "after " << before << " came '" << seen.substr(0, 30) << "'";
        return;
      }
      changes += token > before ? 1 : 0;
      before = token;
    }
    EXPECT_GT(changes, 10);
  });
  for (std::thread& t : threads) {
    t.join();
  }
  over = true;
  reader.join();
  EXPECT_EQ(content_of(path()), content(last));
  EXPECT_EQ(highest_of(path()), last);
  EXPECT_GT(accepted, 500);
  EXPECT_LT(static_cast<std::size_t>(accepted), tokens.size()) << "nothing came too late";
  EXPECT_THAT(names_in(directory_.path()), ElementsAre("report", "report.fence"));
}

}  // namespace

}  // namespace cremone::test
