// SPDX-License-Identifier: Apache-2.0
#include "sim/redis_guard.hpp"

#include "base/reading.hpp"

#include <algorithm>
#include <utility>

namespace cremone::sim {

namespace {

constexpr std::string_view boot_key = "s:boot";
constexpr std::string_view count_keys = "s:count:";
constexpr std::string_view lock_keys = "s:lock:";

/// EVALSHA or EVAL, the script, the number of keys, the keys, the arguments.
bool runs_script(std::span<const std::string_view> words, std::string_view keys, std::size_t size) {
  return words.size() == size && (words[0] == "EVALSHA" || words[0] == "EVAL") && words[2] == keys;
}
bool is_grant(std::span<const std::string_view> words) {
  return runs_script(words, "5", 17) || runs_script(words, "3", 13);  // with a queue, or where several vote
}
bool is_removal(std::span<const std::string_view> words) { return runs_script(words, "5", 16); }
bool is_release(std::span<const std::string_view> words) {
  constexpr std::size_t owner_size = 40;
  return runs_script(words, "4", 13) && words[8].size() == owner_size;  // else somebody says that it listens
}

bool is_admission(std::span<const std::string_view> words) { return runs_script(words, "1", 10); }
bool is_commit(std::span<const std::string_view> words) { return runs_script(words, "3", 10); }

std::uint64_t last_number(std::string_view marker) {
  return whole_number<std::uint64_t>(marker.substr(marker.rfind(' ') + 1)).value_or(0);
}

/// Where nothing but this goes wrong, everybody is served in turn.
bool excuses_nobody(fault_set mix) { return mix.remove(fault::drift).remove(fault::set_back).empty(); }

/// "<owner> <seq>" of the hold in a record; empty if it is free.
std::string version_in(std::string_view record) {
  const std::size_t line = record.find('\n');
  if (line == std::string_view::npos) {
    return {};
  }
  std::string_view hold = record.substr(line + 1);
  const std::string_view owner = cut(hold, ' ');
  const std::string_view seq = cut(hold, ' ');
  return owner.empty() ? std::string() : std::string(owner) + " " + std::string(seq);
}

/// No token at or below it will be given.
std::uint64_t floor_in(std::string_view record) {
  return record.size() < 20 ? 0 : whole_number<std::uint64_t>(record.substr(4, 16)).value_or(0);
}

}  // namespace

redis_guard::redis_guard(const plan& p, history& facts, std::string node)
    : records_(p.store == store_kind::record),
      in_order_(p.nodes == 1 && excuses_nobody(p.mix)),
      facts_(facts),
      node_(std::move(node)) {}

redis_guard::news redis_guard::carried_out(std::span<const std::string_view> words, std::string_view reply,
                                           const std::vector<std::string>& changed, const keyspace& keys,
                                           std::string_view run_id) {
  news what;
  if (!records_) {
    return what;
  }
  for (const std::string& key : changed) {
    if (key.starts_with(count_keys)) {
      check_counter(key, keys);
    } else if (key.starts_with(lock_keys)) {
      check_lock(key, keys, run_id);
      if (is_grant(words) || is_commit(words)) {
        what.lock = key.substr(lock_keys.size());
        what.counter = words[4];
        what.number = counters_[key];
      }
    } else if (key == boot_key) {
      const std::string* marker = keys.text(key);
      const bool begins = marker != nullptr && marker->starts_with("Q");
      facts_.result().quarantines += begins ? 1U : 0U;
      what.doubted = begins;
      what.admitted = !begins;
      if (is_admission(words)) {
        what.by_clock = words[7] != "counted";
        what.by_person = words[5].empty();
        what.asked = whole_number<std::uint64_t>(words[6]).value_or(0);
      }
      what.floor = marker == nullptr ? 0 : last_number(*marker);
    }
  }
  what.granted = is_grant(words) && reply.starts_with("*4\r\n:1\r\n");
  if (what.granted) {
    ++facts_.result().grants;
    check_grant(keys, run_id);
  }
  if (in_order_) {
    check_order(words, reply, what.granted);
  }
  if (is_removal(words) && reply.starts_with("*2\r\n:1\r\n")) {
    ++facts_.result().evictions;
  }
  return what;
}

void redis_guard::check_grant(const keyspace& keys, std::string_view run_id) {
  const std::string* marker = keys.text(std::string(boot_key));
  if (marker == nullptr || !marker->starts_with("A " + std::string(run_id) + ".")) {
    facts_.violated(violation_kind::structure, node_ + " gave out a lock in quarantine; its marker: " +
                                                   (marker == nullptr ? "none" : *marker));
  }
}

/// Whoever was told to wait first is served first. Who leaves says so.
void redis_guard::check_order(std::span<const std::string_view> words, std::string_view reply, bool granted) {
  if (is_release(words)) {
    std::erase(queues_[std::string(words[4])], words[8]);
    return;
  }
  if (!is_grant(words)) {
    return;
  }
  std::vector<std::string>& queue = queues_[std::string(words[5])];
  const std::string owner(words[9]);
  const auto place = std::find(queue.begin(), queue.end(), owner);
  if (granted && place != queue.begin()) {  // whether it waits or not: others have waited for longer
    facts_.violated(violation_kind::order, node_ + " gave " + std::string(words[5]) + " to " +
                                               owner.substr(0, 6) + " while " + queue.front().substr(0, 6) +
                                               " had waited for longer");
  }
  if (granted && place != queue.end()) {
    queue.erase(place);
  } else if (!granted && place == queue.end() && words[14] == "1" && reply.starts_with("*4\r\n:0\r\n")) {
    queue.push_back(owner);
  }
}

void redis_guard::check_counter(const std::string& key, const keyspace& keys) {
  const std::string* text = keys.text(key);
  const std::uint64_t now = text == nullptr ? 0 : whole_number<std::uint64_t>(*text).value_or(0);
  std::uint64_t& last = counters_[key];
  if (now < last) {
    facts_.violated(violation_kind::structure, node_ + ": the counter " + key + " fell from " +
                                                   std::to_string(last) + " to " + std::to_string(now));
  }
  last = now;
}

void redis_guard::check_lock(const std::string& key, const keyspace& keys, std::string_view run_id) {
  const std::string* record = keys.text(key);
  if (record == nullptr) {
    counters_.erase(key);
    versions_.erase(key);
    return;
  }
  // A record that was forgotten in time begins at 0; the bucket's counter goes on for it.
  std::uint64_t& last = counters_[key];
  const std::uint64_t now = floor_in(*record);
  if (now < last && now != 0) {
    facts_.violated(violation_kind::structure, node_ + ": the floor of " + key + " fell from " +
                                                   std::to_string(last) + " to " + std::to_string(now));
  }
  last = now;
  std::string version = version_in(*record);
  if (!version.empty()) {
    version.insert(0, std::string(run_id) + " ");  // a life's numbers say nothing about another's
  }
  std::string& stood = versions_[key];
  if (version != stood && !version.empty() && !ever_[key].insert(version).second) {
    facts_.violated(violation_kind::structure, node_ + ": version " + version + " of " + key + " came back");
  }
  stood = std::move(version);
}

void redis_guard::begins_anew() {
  counters_.clear();
  versions_.clear();
}

}  // namespace cremone::sim
