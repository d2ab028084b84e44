// SPDX-License-Identifier: Apache-2.0
//
// Processes that come one after the other on one machine, try once and go: what one saw of a dead holder must let a
// later one take over, and nothing else may. Each "process" is a client of its own on virtual time; they share a store
// in memory, which here has an identity, and a state directory.
#include "backends/memory/backend.hpp"
#include "core/validity.hpp"
#include "engine/engine.hpp"
#include "engine/seen_file.hpp"
#include "scenario/lasting_backend.hpp"
#include "scenario/watched_file.hpp"
#include "support/manual_env.hpp"
#include "support/temp_directory.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <string>

namespace cremone::test {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::chrono::milliseconds holders_ttl{10s};
const std::string this_boot = "boot-1/4026531834/0";

class Seen : public ::testing::Test {
 protected:
  struct process {
    std::shared_ptr<manual_env> env;
    std::shared_ptr<detail::engine> engine;

    process(const Seen& test, const std::string& clock, const std::string& store, bool with_directory = true)
        : env(std::make_shared<manual_env>(++test.processes_)) {
      env->advance(test.now_);
      auto backend = std::make_shared<lasting_backend>(
          std::make_shared<memory::memory_backend>(env, test.store_, "memory://"), store);
      auto file = std::make_unique<detail::seen_file>(test.directory_.path(), clock);
      engine = std::make_shared<detail::engine>(env, backend, with_directory ? std::move(file) : nullptr);
    }
    process(const process&) = delete;
    process& operator=(const process&) = delete;
    ~process() { engine->close(); }

    [[nodiscard]] result<lease> try_once(const lock_name& name = "nightly") {
      return ask(name, {.ttl = 10s, .wait = no_wait});
    }
    [[nodiscard]] result<lease> ask(const lock_name& name, const acquire_options& options) {
      std::optional<result<lease>> got;
      engine->acquire(name, options, [&](result<lease> r) { got = std::move(r); });
      env->advance(options.wait);
      EXPECT_TRUE(got) << "not answered";
      return std::move(*got);
    }
  };

  Seen() : holder_(*this, this_boot, "store-1", false) {}

  /// Somebody who holds the lock and will never renew by itself: its time stands still.
  void hold(const lock_name& name = "nightly") {
    holder_.engine->acquire(name, {.ttl = holders_ttl},
                            [&](result<lease> r) { held_.push_back(std::move(r).value()); });
  }
  void renew_held() { holder_.env->advance(4s); }

  /// A process that tries once and ends: true if it got the lock (and gave it back).
  bool a_process_gets_it(const std::string& clock = this_boot, const std::string& store = "store-1") {
    process p(*this, clock, store);
    const auto got = p.try_once();
    return got.has_value();
  }

  void pass(std::chrono::nanoseconds time) { now_ += time; }
  void pass_the_silence() { pass(core::silence_of(holders_ttl, 1000)); }

  [[nodiscard]] std::string file() const { return directory_.file("seen"); }
  [[nodiscard]] std::string text() const {
    std::ifstream in(file());
    return {std::istreambuf_iterator<char>(in), {}};
  }
  void write(const std::string& content) const {
    std::ofstream(file(), std::ios::trunc) << content;
    ASSERT_EQ(::chmod(file().c_str(), 0600), 0);
  }

  const temp_directory directory_;
  const std::shared_ptr<memory::store> store_ = std::make_shared<memory::store>();
  std::chrono::nanoseconds now_{};
  mutable std::uint64_t processes_ = 0;
  process holder_;
  std::vector<lease> held_;
};

TEST_F(Seen, LetsAProcessThatTriesOnceTakeOverFromADeadHolder) {
  hold();
  EXPECT_FALSE(a_process_gets_it());
  pass_the_silence();
  EXPECT_TRUE(a_process_gets_it());
}

TEST_F(Seen, IsNotEnoughBeforeTheWholeSilenceHasPassed) {
  hold();
  EXPECT_FALSE(a_process_gets_it());
  pass_the_silence();
  pass(-1ns);
  EXPECT_FALSE(a_process_gets_it());
  pass(1ns);
  EXPECT_TRUE(a_process_gets_it()) << "it counts from the first of them, not from the last";
}

TEST_F(Seen, CountsFromTheFirstOfMany) {
  hold();
  for (int second = 0; second <= 10; ++second) {
    EXPECT_FALSE(a_process_gets_it()) << second;
    pass(1s);
  }
  EXPECT_TRUE(a_process_gets_it());
}

TEST_F(Seen, IsOfNoUseWhenTheHolderRenewedInBetween) {
  hold();
  EXPECT_FALSE(a_process_gets_it());
  renew_held();
  pass_the_silence();
  EXPECT_FALSE(a_process_gets_it());
  pass_the_silence();
  EXPECT_TRUE(a_process_gets_it()) << "that version has now been silent";
}

TEST_F(Seen, IsOfNoUseAfterAnotherBootOrInAnotherTimeNamespaceOrForAnotherStore) {
  hold();
  EXPECT_FALSE(a_process_gets_it());
  pass_the_silence();
  EXPECT_FALSE(a_process_gets_it("boot-2/4026531834/0"));
  EXPECT_FALSE(a_process_gets_it("boot-1/4026532000/0"));
  EXPECT_FALSE(a_process_gets_it(this_boot, "store-2"));
  EXPECT_TRUE(a_process_gets_it()) << "the others' notes did not push ours out";
}

TEST_F(Seen, IsOfNoUseWhenItLiesInTheFuture) {
  hold();
  pass(1h);
  EXPECT_FALSE(a_process_gets_it());
  pass(-30min);
  EXPECT_FALSE(a_process_gets_it());
  pass_the_silence();
  EXPECT_TRUE(a_process_gets_it()) << "it counts from when this clock saw it";
}

TEST_F(Seen, HelpsAWaiterToo) {
  hold();
  EXPECT_FALSE(a_process_gets_it());
  pass(9s);
  process p(*this, this_boot, "store-1");
  EXPECT_TRUE(p.ask("nightly", {.ttl = 10s, .wait = 3s})) << "alone it would have had to watch for ten";
}

TEST_F(Seen, IsLeftByAWaiterThatTimedOutAndByOneThatWasCutShort) {
  hold("timed out");
  hold("cut short");
  {
    process p(*this, this_boot, "store-1");
    EXPECT_EQ(p.ask("timed out", {.wait = 2s}).error(), errc::timed_out);
    std::optional<result<lease>> answer;
    p.engine->acquire("cut short", {}, [&](result<lease> r) { answer = std::move(r); });
    p.engine->close();
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->error(), errc::cancelled);
  }
  pass(3s);
  pass_the_silence();
  process p(*this, this_boot, "store-1");
  EXPECT_TRUE(p.try_once("timed out"));
  EXPECT_TRUE(p.try_once("cut short"));
}

TEST_F(Seen, SaysHowLongTheHolderHasBeenSilent) {
  hold();
  EXPECT_FALSE(a_process_gets_it());
  pass(6s);
  process p(*this, this_boot, "store-1");
  EXPECT_THAT(p.try_once().error().detail(),
              HasSubstr("; silent for 6.0 s, taken over after 10 s of silence"));
}

TEST_F(Seen, NeedsNoDirectory) {
  hold();
  {
    process p(*this, this_boot, "store-1", false);
    EXPECT_EQ(p.try_once().error(), errc::busy);
  }
  EXPECT_EQ(::access(file().c_str(), F_OK), -1);
  pass_the_silence();
  EXPECT_FALSE(a_process_gets_it());
}

TEST_F(Seen, IsNotWrittenForAStoreThatEndsWithTheProcess) {
  hold();
  EXPECT_FALSE(a_process_gets_it(this_boot, ""));
  EXPECT_EQ(::access(file().c_str(), F_OK), -1);
}

TEST_F(Seen, IsNotWrittenWhenNobodyWasInTheWay) {
  EXPECT_TRUE(a_process_gets_it());
  EXPECT_EQ(::access(file().c_str(), F_OK), -1);
}

// ---- how often it is written ------------------------------------------------------------------------------

TEST_F(Seen, IsWrittenOncePerVersionHoweverOftenOneTries) {
  hold();
  process p(*this, this_boot, "store-1");
  EXPECT_FALSE(p.try_once().has_value());
  {
    const watched_file first(file());
    for (int i = 0; i < 5; ++i) {
      p.env->advance(1s);
      EXPECT_FALSE(p.try_once().has_value());
    }
    EXPECT_TRUE(first.same());
    EXPECT_FALSE(a_process_gets_it()) << "another process has nothing to add either";
    EXPECT_TRUE(first.same());
  }
  const watched_file first(file());
  renew_held();
  EXPECT_FALSE(p.try_once().has_value());
  EXPECT_FALSE(first.same());
}

TEST_F(Seen, IsWrittenOnceASecondAtMostAndTheRestAtTheEnd) {
  for (const char* name : {"a", "b", "c"}) {
    hold(name);
  }
  {
    process p(*this, this_boot, "store-1");
    EXPECT_FALSE(p.try_once("a").has_value());
    const watched_file first(file());
    EXPECT_FALSE(p.try_once("b").has_value());
    p.env->advance(999ms);
    EXPECT_FALSE(p.try_once("b").has_value());
    EXPECT_TRUE(first.same());
    p.env->advance(1ms);
    EXPECT_FALSE(p.try_once("a").has_value());
    EXPECT_FALSE(first.same()) << "what had to wait goes with the next";
    EXPECT_THAT(text(), HasSubstr(" b "));
    EXPECT_FALSE(p.try_once("c").has_value());
    EXPECT_THAT(text(), Not(HasSubstr(" c ")));
  }
  EXPECT_THAT(text(), HasSubstr(" c "));
}

// ---- when something is wrong with the file ----------------------------------------------------------------

TEST_F(Seen, ThatAStoreGaveOutLocksIsWrittenAtOnce) {
  traits store;
  store.observed_takeover = true;
  store.identity = "store-1";
  const auto file = [&] { return std::make_unique<detail::seen_file>(directory_.path(), this_boot); };
  const instant now = instant() + 1h;
  detail::lookout first(store, file());
  hold_record holder;
  holder.ttl = holders_ttl;
  first.with_table([&](core::observations& table) { (void)table.note("nightly", holder, now); });
  first.leave("nightly", now);
  first.saw_open(now);  // less than a second later, and killed right after that
  EXPECT_TRUE(detail::lookout(store, file()).ever_open());
}

TEST_F(Seen, IsBelievedLineByLine) {
  hold();
  EXPECT_FALSE(a_process_gets_it());
  write("garbage\n" + text() + std::string(1000, '\xff'));
  pass_the_silence();
  EXPECT_TRUE(a_process_gets_it());
}

TEST_F(Seen, FindsNothingInARuinedFileAndWritesItAnew) {
  hold();
  for (const std::string& ruin : {std::string(), std::string(1000, '\0'), std::string(5U << 20U, 'x')}) {
    write(ruin);
    EXPECT_FALSE(a_process_gets_it());
    EXPECT_THAT(text(), HasSubstr(" nightly "));
  }
}

TEST_F(Seen, IsNotBelievedWhenOthersCouldHaveWrittenIt) {
  hold();
  EXPECT_FALSE(a_process_gets_it());
  pass_the_silence();
  for (const mode_t loose : {0620U, 0602U}) {
    ASSERT_EQ(::chmod(file().c_str(), loose), 0);
    EXPECT_FALSE(a_process_gets_it());
  }
  ASSERT_EQ(::chmod(file().c_str(), 0600), 0);
  EXPECT_TRUE(a_process_gets_it());
}

TEST_F(Seen, IsNotFollowedToAnotherPlace) {
  hold();
  EXPECT_FALSE(a_process_gets_it());
  const std::string elsewhere = directory_.file("elsewhere");
  ASSERT_EQ(::rename(file().c_str(), elsewhere.c_str()), 0);
  ASSERT_EQ(::symlink(elsewhere.c_str(), file().c_str()), 0);
  pass_the_silence();
  EXPECT_FALSE(a_process_gets_it());
  struct stat link {};
  ASSERT_EQ(::lstat(file().c_str(), &link), 0);
  EXPECT_TRUE(S_ISLNK(link.st_mode)) << "what is not ours is not replaced";
}

TEST_F(Seen, DoesNotHangOnAPipe) {
  hold();
  ASSERT_EQ(::mkfifo(file().c_str(), 0600), 0);
  EXPECT_FALSE(a_process_gets_it());
}

TEST_F(Seen, GoesOnWithoutADirectoryThatCanBeWritten) {
  hold();
  const std::string gone = directory_.path() + "-gone";
  ASSERT_EQ(::rename(directory_.path().c_str(), gone.c_str()), 0);
  EXPECT_FALSE(a_process_gets_it());
  { std::ofstream(directory_.path()) << "a file in its place"; }
  EXPECT_FALSE(a_process_gets_it());
  ASSERT_EQ(::unlink(directory_.path().c_str()), 0);
  ASSERT_EQ(::rename(gone.c_str(), directory_.path().c_str()), 0);
  EXPECT_EQ(::access(file().c_str(), F_OK), -1);
}

TEST_F(Seen, IsOursAlone) {
  hold();
  EXPECT_FALSE(a_process_gets_it());
  for (const char* name : {"seen", "seen.lock"}) {
    struct stat made {};
    ASSERT_EQ(::stat(directory_.file(name).c_str(), &made), 0) << name;
    EXPECT_EQ(made.st_mode & 0777U, 0600U) << name;
  }
  EXPECT_EQ(::access(directory_.file("seen.new").c_str(), F_OK), -1);
}

TEST_F(Seen, IsWrittenThoughAnotherDiedWhileWriting) {
  hold();
  std::ofstream(directory_.file("seen.new")) << "half a li";
  EXPECT_FALSE(a_process_gets_it());
  EXPECT_THAT(text(), HasSubstr(" nightly "));
  EXPECT_THAT(text(), Not(HasSubstr("half a li")));
}

TEST_F(Seen, DoesNotWaitForAnotherWhoWrites) {
  hold();
  const int other = ::open(directory_.file("seen.lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  ASSERT_EQ(::flock(other, LOCK_EX), 0);
  EXPECT_FALSE(a_process_gets_it());
  EXPECT_EQ(::access(file().c_str(), F_OK), -1);
  ::close(other);
  EXPECT_FALSE(a_process_gets_it());
  EXPECT_EQ(::access(file().c_str(), F_OK), 0);
}

TEST_F(Seen, StaysBoundedAndKeepsTheLatest) {
  std::vector<core::sighting> many;
  for (std::size_t i = 0; i < core::max_sightings; ++i) {
    many.push_back({{this_boot, "store-1"}, "lock-" + std::to_string(i), {}, first_instant});
  }
  write(core::encode(many));
  hold();
  EXPECT_FALSE(a_process_gets_it());
  EXPECT_EQ(core::decode(text()).size(), core::max_sightings);
  EXPECT_THAT(text(), Not(HasSubstr(" lock-0 ")));
  pass_the_silence();
  EXPECT_TRUE(a_process_gets_it());
}

}  // namespace
}  // namespace cremone::test
