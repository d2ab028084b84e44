// SPDX-License-Identifier: Apache-2.0
//
// Six clients, five real servers, one lock, and one who does them harm: kills servers, which come back empty, sets their clocks, or
// stops them for a while. In the layout `record` nobody is inside another's time, and tokens grow; in the layout `classic` the first
// two are known to break it, and this must see it: it is what shows that there is anything to see.
//
// CREMONE_TEST_CHAOS_SECONDS=n lets each run of `record` take that long; it goes on until there are enough acquisitions.
// CREMONE_TEST_SEED=n has the harm done in another order. Neither makes a run repeatable: servers and threads are real.
#include "live/redlock_fixture.hpp"
#include "support/sanitized.hpp"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <iomanip>
#include <iostream>
#include <map>
#include <mutex>
#include <random>
#include <sstream>
#include <thread>

namespace cremone::test {

namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::size_t players = 6;
constexpr milliseconds ttl = 500ms;
constexpr std::size_t enough = sanitized ? 100 : 500;

enum class harm : std::uint8_t { restarts, jumps, stops };

std::string word(harm h) { return h == harm::restarts ? "restarts" : h == harm::jumps ? "jumps" : "stops"; }

std::uint64_t number_in(const char* variable, std::uint64_t otherwise) {
  const char* const given = std::getenv(variable);
  return given == nullptr ? otherwise : std::strtoull(given, nullptr, 10);
}

/// One time that somebody had the lock, all on one clock.
struct acquisition {
  std::size_t who = 0;
  instant asked{};
  instant got{};  ///< the call returned
  instant
      over{};  ///< the release was called, the loss was seen or the deadline was reached, whichever was first
  fence_token token{};
};

struct findings {
  std::size_t acquisitions = 0;
  std::size_t overlaps = 0;
  std::size_t duplicates = 0;
  std::size_t inversions = 0;
  std::string shown;  ///< the first few, for people
};

class judge {
 public:
  [[nodiscard]] static findings of(std::vector<acquisition> all) {
    std::sort(all.begin(), all.end(),
              [](const acquisition& a, const acquisition& b) { return a.got < b.got; });
    judge j;
    j.found_.acquisitions = all.size();
    j.look_for_overlaps(all);
    if (!all.empty() && all.front().token != fence_token()) {
      j.look_at_tokens(all);
    }
    return j.found_;
  }

 private:
  void look_for_overlaps(const std::vector<acquisition>& all) {
    const acquisition* last = nullptr;  // of those before, the one whose time ends last
    for (const acquisition& a : all) {
      if (last != nullptr && a.got < last->over && a.got < a.over) {
        ++found_.overlaps;
        show("inside another's time", *last, a);
      }
      last = last == nullptr || a.over > last->over ? &a : last;
    }
  }

  /// Whoever asked after another had its answer must have a greater token, and no two have the same.
  void look_at_tokens(const std::vector<acquisition>& all) {
    std::map<fence_token, const acquisition*> seen;
    for (const acquisition& a : all) {
      const auto [there, is_new] = seen.try_emplace(a.token, &a);
      if (!is_new) {
        ++found_.duplicates;
        show("the same token", *there->second, a);
      }
    }
    std::vector<const acquisition*> asked;
    for (const acquisition& a : all) {
      asked.push_back(&a);
    }
    std::sort(asked.begin(), asked.end(), [](auto* a, auto* b) { return a->asked < b->asked; });
    auto decided = all.begin();
    const acquisition* highest = nullptr;
    for (const acquisition* a : asked) {
      for (; decided != all.end() && decided->got < a->asked; ++decided) {
        highest = highest == nullptr || decided->token > highest->token ? &*decided : highest;
      }
      if (highest != nullptr && a->token <= highest->token) {
        ++found_.inversions;
        show("a token that does not grow", *highest, *a);
      }
    }
  }

  void show(const std::string& what, const acquisition& a, const acquisition& b) {
    if (++shown_ > 5) {
      return;
    }
    std::ostringstream line;
    const auto ms = [&](instant t) { return std::chrono::duration<double, std::milli>(t - a.got).count(); };
    line << std::fixed << std::setprecision(2) << what << ": client " << a.who << " asked " << ms(a.asked)
         << " ms, 0 to " << ms(a.over) << " ms, token " << a.token << "; client " << b.who << " asked "
         << ms(b.asked) << " ms, " << ms(b.got) << " to " << ms(b.over) << " ms, token " << b.token << "\n";
    found_.shown += line.str();
  }

  findings found_;
  int shown_ = 0;
};

/// What a client does, again and again.
class player {
 public:
  player(std::size_t who, const std::string& url, std::uint64_t seed)
      : who_(who), random_(seed), locks_(opened(url)) {}

  void play(const std::atomic<bool>& stop) {
    while (!stop) {
      const bool abandons = one_in(100);
      const instant asked = validity_clock::now();
      auto got = locks_.acquire(
          "lock", {.ttl = ttl, .wait = 2s, .max_hold = abandons ? milliseconds(ttl / 2) : forever});
      const instant now = validity_clock::now();
      if (!got) {
        ++refusals_;
        std::this_thread::sleep_for(5ms);  // who is refused at once asks no faster than this
        continue;
      }
      acquisition a{.who = who_, .asked = asked, .got = now, .over = now, .token = got->token()};
      a.over = hold(*got, abandons ? 2 * ttl : some_time());
      note(a);
      if (abandons) {  // the handle stays; others see a hold that is not renewed any more
        std::this_thread::sleep_for(ttl);
      } else if (!one_in(20)) {
        (void)got->release();
      }
    }
  }

  void add_to(std::vector<acquisition>& all) {
    const std::lock_guard lock(mutex_);
    all.insert(all.end(), done_.begin(), done_.end());
  }
  [[nodiscard]] std::uint64_t refusals() const noexcept { return refusals_; }

 private:
  [[nodiscard]] bool one_in(int n) { return std::uniform_int_distribution<>(1, n)(random_) == 1; }
  [[nodiscard]] milliseconds between(int least, int most) {
    return milliseconds(std::uniform_int_distribution<>(least, most)(random_));
  }
  /// Mostly short, so that there are many; sometimes for a part of the ttl; sometimes beyond it, with renewals.
  [[nodiscard]] milliseconds some_time() {
    const int which = std::uniform_int_distribution<>(1, 100)(random_);
    return which <= 3 ? between(550, 1100) : which <= 12 ? between(50, 300) : between(0, 5);
  }

  /// Until when it believed to hold the lock.
  [[nodiscard]] static instant hold(const lease& mine, milliseconds span) {
    const instant leave = validity_clock::now() + span;
    instant promised = instant::min();
    while (true) {
      const instant deadline = mine.deadline();
      const instant now = validity_clock::now();
      if (deadline == instant::min()) {  // lost, since the last look
        return promised == instant::min() ? promised : std::min(now, promised);
      }
      promised = deadline;
      if (now >= leave) {
        return std::min(now, promised);
      }
      std::this_thread::sleep_for(std::min<std::chrono::nanoseconds>(1ms, leave - now));
    }
  }

  void note(const acquisition& a) {
    const std::lock_guard lock(mutex_);
    done_.push_back(a);
  }

  const std::size_t who_;
  std::mt19937_64 random_;
  client locks_;
  std::atomic<std::uint64_t> refusals_ = 0;
  std::mutex mutex_;
  std::vector<acquisition> done_;
};

/// Does one kind of harm, one after the other.
class nemesis {
 public:
  nemesis(harm what, redlock_servers& to, std::uint64_t seed)
      : what_(what), servers_(to), random_(seed), offset_(to.size(), 0ms) {}

  /// And waits a while.
  void strike() {
    switch (what_) {
      case harm::restarts: restart(); break;
      case harm::jumps: jump(); break;
      case harm::stops: stop(); break;
    }
  }
  [[nodiscard]] std::size_t faults() const noexcept { return faults_; }

 private:
  [[nodiscard]] milliseconds between(milliseconds least, milliseconds most) {
    return milliseconds(std::uniform_int_distribution<std::int64_t>(least.count(), most.count())(random_));
  }

  /// Mostly one, sometimes two or three at once.
  [[nodiscard]] std::vector<std::size_t> some_servers() {
    std::vector<std::size_t> all(servers_.size());
    for (std::size_t i = 0; i < all.size(); ++i) {
      all[i] = i;
    }
    std::shuffle(all.begin(), all.end(), random_);
    const int which = std::uniform_int_distribution<>(1, 10)(random_);
    all.resize(which == 1 ? 3 : which <= 3 ? 2 : 1);
    faults_ += all.size();
    return all;
  }

  /// Not so often that most servers are in quarantine most of the time: it lasts for the ttl and a second.
  void restart() {
    servers_.restart_empty(some_servers());
    std::this_thread::sleep_for(between(200ms, 1800ms));
  }

  /// By half a ttl to two ttls, there or back, and never further away than that.
  void jump() {
    for (const std::size_t i : some_servers()) {
      milliseconds by = between(ttl / 2, 2 * ttl);
      by = std::uniform_int_distribution<>(0, 1)(random_) == 0 ? by : -by;
      by = std::chrono::abs(offset_[i] + by) > 2 * ttl ? -by : by;
      offset_[i] += by;
      servers_[i].set_clock(offset_[i]);
    }
    std::this_thread::sleep_for(between(20ms, 200ms));
  }

  void stop() {
    const auto these = some_servers();
    for (const std::size_t i : these) {
      servers_[i].suspend();
    }
    std::this_thread::sleep_for(between(ttl / 10, 2 * ttl));
    for (const std::size_t i : these) {
      servers_[i].resume();
    }
    std::this_thread::sleep_for(between(20ms, 300ms));
  }

  const harm what_;
  redlock_servers& servers_;
  std::mt19937_64 random_;
  std::vector<milliseconds> offset_;
  std::size_t faults_ = 0;
};

/// What there was to see, in the end, of all runs of this process.
class table {
 public:
  static void add(layout l, harm h, std::size_t faults, std::uint64_t refusals, const findings& f) {
    std::ostringstream row;
    row << std::left << std::setw(9) << cremone::test::word(l) << std::setw(10) << word(h) << std::right
        << std::setw(8) << faults << std::setw(14) << f.acquisitions << std::setw(10) << refusals
        << std::setw(10) << f.overlaps;
    for (const std::size_t n : {f.duplicates, f.inversions}) {
      row << std::setw(12) << (l == layout::record ? std::to_string(n) : "no tokens");
    }
    rows_ += row.str() + "\n";
  }
  static void print() {
    std::cout << "layout   harm        faults  acquisitions  refusals  overlaps  duplicates  inversions\n"
              << rows_ << std::flush;
  }

 private:
  static inline std::string rows_;
};

struct course {
  layout kind;
  harm what;
};
std::ostream& operator<<(std::ostream& out, const course& c) {
  return out << c.kind << " under " << word(c.what);
}

class RedlockChaos : public ::testing::TestWithParam<course> {
 protected:
  static void TearDownTestSuite() { table::print(); }

  [[nodiscard]] findings look() {
    std::vector<acquisition> all;
    for (const auto& p : players_) {
      p->add_to(all);
    }
    return judge::of(std::move(all));
  }

  /// A control ends when it has seen what it is there for; what must not happen is looked for as long as it was told.
  [[nodiscard]] bool is_enough(std::chrono::nanoseconds since) {
    const findings f = look();
    if (kind() == layout::record) {
      return since >= time_ && f.acquisitions >= enough;
    }
    return since >= time_ / 4 && (f.overlaps > 0 || what() == harm::stops || since >= 4 * time_);
  }

  findings run() {
    nemesis them(what(), world_.servers(), seed_);
    std::atomic<bool> stop = false;
    std::vector<std::jthread> threads;
    for (const auto& p : players_) {
      threads.emplace_back([&stop, &p] { p->play(stop); });
    }
    const instant began = validity_clock::now();
    do {
      them.strike();  // here: servers die with the thread that started them
    } while (!is_enough(validity_clock::now() - began) && validity_clock::now() - began < 4 * time_);
    stop = true;
    threads.clear();
    std::uint64_t refusals = 0;
    for (const auto& p : players_) {
      refusals += p->refusals();
    }
    const findings f = look();
    table::add(kind(), what(), them.faults(), refusals, f);
    std::cout << f.shown;
    return f;
  }

  void SetUp() override {
    world_.open_up();
    for (std::size_t i = 0; i < players; ++i) {
      players_.push_back(std::make_unique<player>(
          i, world_.url(kind() == layout::record ? "&amnesia=time" : ""), seed_ * players + i));
    }
  }

  [[nodiscard]] static layout kind() { return GetParam().kind; }
  [[nodiscard]] static harm what() { return GetParam().what; }

  const seconds time_{number_in("CREMONE_TEST_CHAOS_SECONDS", sanitized ? 15 : 60)};
  const std::uint64_t seed_ = number_in("CREMONE_TEST_SEED", 1);
  redlock_world world_{kind(), ttl, {.clock = what() == harm::jumps}};
  std::vector<std::unique_ptr<player>> players_;
};

TEST_P(RedlockChaos, BreaksTheClassicLayoutAndNotTheOther) {
  const findings f = run();
  if (kind() == layout::record) {
    EXPECT_GE(f.acquisitions, enough) << "nobody got on with anything";
    EXPECT_EQ(f.overlaps, 0U);
    EXPECT_EQ(f.duplicates, 0U);
    EXPECT_EQ(f.inversions, 0U);
  } else if (what() != harm::stops) {  // which it withstands, as long as clients look at their clocks
    EXPECT_GT(f.overlaps, 0U) << "there was nothing to see: would it be seen in the other layout?";
  }
}

INSTANTIATE_TEST_SUITE_P(
    On, RedlockChaos,
    ::testing::Values(course{layout::classic, harm::restarts}, course{layout::classic, harm::jumps},
                      course{layout::classic, harm::stops}, course{layout::record, harm::restarts},
                      course{layout::record, harm::jumps}, course{layout::record, harm::stops}),
    [](const auto& run) { return cremone::test::word(run.param.kind) + "_" + word(run.param.what); });

/// The judge finds what it is there for.
TEST(RedlockChaosJudge, SeesOverlapsDuplicatesAndInversions) {
  const auto at = [](int ms) { return instant(milliseconds(ms)); };
  const auto one = [&](int asked, int got, int over, std::uint64_t token) {
    return acquisition{
        .who = 0, .asked = at(asked), .got = at(got), .over = at(over), .token = fence_token(token)};
  };
  const findings good = judge::of({one(10, 30, 40, 6), one(0, 10, 20, 5), one(0, 40, 50, 7)});
  EXPECT_EQ(good.overlaps + good.duplicates + good.inversions, 0U) << good.shown;
  EXPECT_EQ(judge::of({one(0, 10, 100, 5), one(0, 20, 30, 6), one(0, 40, 50, 7)}).overlaps, 2U);
  EXPECT_EQ(judge::of({one(0, 10, 20, 5), one(0, 30, 40, 5)}).duplicates, 1U);
  EXPECT_EQ(judge::of({one(0, 10, 20, 5), one(11, 30, 40, 4)}).inversions, 1U);
  EXPECT_EQ(judge::of({one(0, 10, 20, 5), one(9, 30, 40, 4)}).inversions, 0U) << "they asked side by side";
}

}  // namespace

}  // namespace cremone::test
