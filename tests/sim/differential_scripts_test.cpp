// SPDX-License-Identifier: Apache-2.0
//
// The production scripts of both layouts, with random arguments, in the simulated Redis and in the real one: few owners and
// names, a clock that jumps, and now and then something that is none of ours.
#include "backends/redis/digest.hpp"
#include "backends/redis/scripts.hpp"
#include "sim/both_servers.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace cremone::test {
namespace {

using texts = std::vector<std::string>;

const texts owners = {redis::sha1_hex("ann"), redis::sha1_hex("ben"), redis::sha1_hex("cid")};
const texts locks = {"p", "q", "r"};
const texts channels = {"t:wake:1", "t:wake:2", "t:wake:3"};

texts called(chooser& choose, const redis::script& s, const texts& keys, const texts& arguments) {
  texts words = {"EVALSHA", s.sha, std::to_string(keys.size())};
  if (choose.once_in(15)) {
    words = {"EVAL", std::string(s.text), std::to_string(keys.size())};
  }
  words.insert(words.end(), keys.begin(), keys.end());
  words.insert(words.end(), arguments.begin(), arguments.end());
  return words;
}

const std::string no_master_before = "." + std::string(40, '0');

/// One client of the layout `record` that says anything at any time.
class record_talk {
 public:
  record_talk(both_servers& both, std::uint64_t seed, int voters)
      : both_(both),
        choose_(seed),
        queues_(voters == 1),
        usual_("n" + std::to_string(voters) + ",max_ttl=2000"),
        book_(both.run_id() + no_master_before + ".0", 0),
        other_life_(both.run_id() + no_master_before + ".1", 0) {}

  void step() {
    using enum redis::record_script;
    ++steps_;
    const std::string name = choose_.one_of(locks);
    const std::string lock = "t:lock:" + name;
    const std::string queue = "t:queue:" + name;
    const std::string wait = "t:wait:" + name;
    switch (choose_.below(22)) {
      case 0:
      case 1:
      case 2:
      case 3:
      case 4:
      case 5:
      case 6: return say(grant, with_queue({boot, count(), lock}, name), grant_wish());
      case 7:
      case 8:
      case 9:
      case 10:
        return say(release, with_queue({boot, lock}, name),
                   {settings(), owner(), "4000", choose_.once_in(3) ? "" : "t:free:1", name, mark()});
      case 11:
      case 12: return renew_some();
      case 13:
        return say(remove, {boot, count(), lock, queue, wait},
                   {settings(), owner(), number_in(lock), "4000", choose_.once_in(3) ? "force" : "",
                    "t:free:1", name, mark()});
      case 14:
      case 15:
        return say(listen, {boot, lock, queue, wait},
                   {settings(), choose_.one_of(channels), owner(), owner(), mark()});
      case 16: return say(admit, {boot}, {settings(), observed(), "0", caller_clock(), "9000000", mark()});
      case 17:
        return say(look, {boot, lock, queue, wait, "t:lock:p", "t:queue:p", "t:wait:p"},
                   {settings(), choose_.once_in(2) ? "all" : "used", mark()});
      case 18: return listen_or_not();
      case 19: return say(commit, {boot, count(), lock}, {settings(), owner(), proposal(), mark()});
      case 20: return say(floor, {boot, "t:count:1", "t:count:2"}, {settings(), mark()});
      default: return meddle(lock, queue, wait);
    }
  }

  /// What a server is told before all else: its scripts, and that it may give out locks.
  void begin() {
    for (std::size_t i = 0; i < redis::record_script_count; ++i) {
      both_.ask({"SCRIPT", "LOAD", std::string(book_.at(static_cast<redis::record_script>(i)).text)});
    }
    say(redis::record_script::admit, {boot}, {usual_, "", "0", "counted", "9000000", "-"});
  }

 private:
  static constexpr const char* boot = "t:boot";

  texts with_queue(texts keys, const std::string& name) const {
    if (queues_) {
      keys.insert(keys.end(), {"t:queue:" + name, "t:wait:" + name});
    }
    return keys;
  }

  void say(redis::record_script which, const texts& keys, const texts& arguments) {
    const auto& book = choose_.once_in(40) ? other_life_ : book_;
    both_.ask(called(choose_, book.at(which), keys, arguments));
  }

  /// Few at a time; new ones come, because who was once gone never gets a lock again.
  std::string owner() { return redis::sha1_hex(std::to_string(steps_ / 6 + choose_.below(5))); }
  std::string settings() { return choose_.once_in(50) ? usual_ + "1" : usual_; }
  std::string mark() { return choose_.once_in(20) ? "+" : "-"; }
  std::string count() { return choose_.once_in(2) ? "t:count:1" : "t:count:2"; }

  /// A clock that is not the server's.
  std::string proposal() {
    return std::to_string(both_.now().time_since_epoch().count() +
                          static_cast<std::int64_t>(choose_.below(20'000'000)) - 10'000'000);
  }

  /// The caller's clock, often further from the server's than an admission allows.
  std::string caller_clock() { return choose_.once_in(3) ? "counted" : proposal(); }

  /// The quarantine that an admission names: whichever it is (""), one that does not exist, or the
  /// one that the server is in.
  std::string observed() {
    const std::string* const marker = both_.keys().text(boot);
    return choose_.once_in(3) ? "nonsense" : choose_.once_in(2) || marker == nullptr ? "" : *marker;
  }

  texts grant_wish() {
    texts wish = {settings(), owner(), "2000", "x", proposal(), "somebody\n42"};
    if (queues_) {
      wish.insert(wish.end(), {choose_.once_in(3) ? "0" : "1",
                               (choose_.once_in(3) ? "-" : "") + choose_.one_of(channels)});
    }
    wish.push_back(mark());
    return wish;
  }

  /// The version or the token of who holds it, or some other number.
  std::string number_in(const std::string& lock) {
    const std::string* const record = both_.keys().text(lock);
    const auto line = record == nullptr ? std::string::npos : record->find('\n');
    if (line == std::string::npos || record->size() < line + 58 || choose_.once_in(5)) {
      return std::to_string(both_.now().time_since_epoch().count() + 11'000'000);
    }
    return record->substr(line + 42, 16);
  }

  void renew_some() {
    texts names;
    texts counters;
    texts arguments = {settings()};
    const std::size_t many = 1 + choose_.below(3);
    for (std::size_t i = 0; i < many; ++i) {
      names.push_back("t:lock:" + choose_.one_of(locks));
      counters.push_back(count());
      const std::string seq = number_in(names.back());
      arguments.insert(arguments.end(), {owner(), seq, "2000", seq, "x"});
    }
    arguments.insert(arguments.end(), {"somebody", mark()});
    names.insert(names.begin(), boot);
    names.insert(names.end(), counters.begin(), counters.end());
    say(redis::record_script::renew, names, arguments);
  }

  void listen_or_not() {
    both_.listen({choose_.once_in(3) ? "UNSUBSCRIBE" : "SUBSCRIBE", choose_.one_of(channels)});
  }

  /// What no client of ours does.
  void meddle(const std::string& lock, const std::string& queue, const std::string& wait) {
    switch (choose_.below(12)) {
      case 0: both_.ask({"SET", lock, "garbage"}); break;
      case 1: both_.ask({"DEL", lock, queue, wait}); break;
      case 2: both_.ask({"DEL", boot}); break;
      case 3: both_.ask({"SET", boot, "A other " + usual_ + " 5"}); break;
      case 4: both_.ask({"SET", count(), "abc"}); break;
      case 5: both_.ask({"DEL", "t:count:1", "t:count:2"}); break;
      case 6: both_.ask({"HSET", lock + "x", "f", "v"}); break;
      case 7: both_.ask({"DEL", wait}); break;
      case 8: both_.ask({"SCRIPT", "FLUSH"}); return begin();
      case 9: both_.move_clock(std::chrono::seconds(choose_.below(40))); break;
      case 10: both_.move_clock(-std::chrono::milliseconds(choose_.below(5000))); break;
      default:
        both_.ask({"DEL", lock});
        both_.ask({"HSET", lock, "f", "v"});
        break;
    }
    if (choose_.once_in(3)) {  // so that there is something to work with again
      both_.ask({"FLUSHALL"});
      begin();
    }
  }

  both_servers& both_;
  chooser choose_;
  std::size_t steps_ = 0;
  bool queues_;  // one server alone; else it is one of several that vote
  std::string usual_;
  redis::record_book book_;
  redis::record_book other_life_;  // of which the server is not
};

TEST(SimulatedRedis, RunsTheScriptsOfTheLayoutRecordAsTheRealOne) {
  both_servers both;
  for (std::uint64_t seed = 201; seed <= 230 && !::testing::Test::HasFailure(); ++seed) {
    both.start_over(seed);
    record_talk talk(both, seed, seed % 2 == 0 ? 1 : 3);
    chooser when(seed);
    talk.begin();
    for (int i = 0; i < 250; ++i) {
      talk.step();
      both.compare_heard();
      both.move_clock(std::chrono::microseconds(when.once_in(10) ? when.below(800'000) : when.below(3000)));
      if (when.once_in(20)) {
        both.compare();
      }
    }
  }
}

texts classic_step(chooser& choose) {
  const auto& s = redis::scripts();
  const std::string lock = choose.one_of(locks);
  const std::string owner = choose.one_of(owners);
  const std::string mark = "cremone1:" + owner + ":";
  const std::string fence = "cremone:classic:fence";
  const std::string channel = choose.one_of(channels);
  const std::string ttl = choose.once_in(2) ? "50" : "3000";
  switch (choose.below(14)) {
    case 0:
    case 1:
    case 2:
    case 3: return called(choose, s.grant, {lock, fence}, {mark + "x 3000\nwho", ttl, lock, mark});
    case 4:
    case 5: return called(choose, s.release, {lock}, {mark, channel});
    case 6:
    case 7: return called(choose, s.renew, {lock, "p"}, {mark, ttl, mark, ttl});
    case 8:
      return called(choose, s.force, {lock},
                    {choose.once_in(3) ? redis::sha1_hex("foreign") : owner, channel,
                     choose.once_in(2) ? "any" : "ours"});
    case 9: return called(choose, s.inspect, {lock, fence}, {lock});
    case 10: return called(choose, s.pick, locks, {});
    case 11: return called(choose, s.rights, {"trying", fence}, {channel});
    case 12: return {"SET", lock, "foreign"};
    default: break;
  }
  switch (choose.below(5)) {
    case 0: return {"HSET", fence, lock, choose.once_in(2) ? "abc" : "9007194959773697"};
    case 1: return {"DEL", fence};
    case 2: return {"SET", fence, "5"};
    case 3: return {"HSET", lock, "f", "v"};
    default: return {"DEL", lock};
  }
}

TEST(SimulatedRedis, RunsTheScriptsOfTheLayoutClassicAsTheRealOne) {
  both_servers both;
  const auto& s = redis::scripts();
  for (const auto* const one : {&s.grant, &s.release, &s.renew, &s.force, &s.inspect, &s.pick}) {
    both.ask({"SCRIPT", "LOAD", std::string(one->text)});
  }
  for (std::uint64_t seed = 301; seed <= 312 && !::testing::Test::HasFailure(); ++seed) {
    both.start_over(seed);
    chooser choose(seed);
    for (int i = 0; i < 250; ++i) {
      both.ask(classic_step(choose));
      if (choose.once_in(10)) {
        both.listen({choose.once_in(3) ? "UNSUBSCRIBE" : "SUBSCRIBE", choose.one_of(channels)});
      }
      both.compare_heard();
      both.move_clock(std::chrono::microseconds(choose.below(30'000)));
    }
    both.compare();
  }
}

}  // namespace
}  // namespace cremone::test
