// SPDX-License-Identifier: Apache-2.0
#include "sim/both_servers.hpp"

#include "backends/redis/info.hpp"

#include <algorithm>
#include <utility>

namespace cremone::test {

namespace {

constexpr std::uint64_t speaker = 1;
constexpr std::uint64_t listener = 2;

/// Some moment; far from 0, so that the clock can be set back.
constexpr wall_time beginning{std::chrono::microseconds(1'700'000'000'123'456)};

std::string run_id_of(redis_link& link) {
  return redis::read_facts(redis::parse_info(link.ask({"INFO", "server"}).text)).run_id;
}

/// The two keep hashes in different orders: wherever a list of texts is, its pairs are put in order.
void order_pairs(resp& r) {
  const bool flat = std::all_of(r.items.begin(), r.items.end(), [](const resp& i) { return i.type == '$'; });
  if (!flat) {
    std::for_each(r.items.begin(), r.items.end(), order_pairs);
    return;
  }
  std::vector<std::pair<std::string, std::string>> pairs;
  for (std::size_t i = 0; i + 1 < r.items.size(); i += 2) {
    pairs.emplace_back(r.items[i].text, r.items[i + 1].text);
  }
  std::sort(pairs.begin(), pairs.end());
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    r.items[2 * i].text = pairs[i].first;
    r.items[2 * i + 1].text = pairs[i].second;
  }
}

bool asks_for_fields(const std::vector<std::string>& words) {
  return std::any_of(words.begin(), words.end(),
                     [](const std::string& w) { return w == "HGETALL" || w == "hgetall"; });
}

}  // namespace

std::string spelled(const resp& r) {
  switch (r.type) {
    case ':': return ":" + std::to_string(r.number);
    case '$': return r.null ? "nil" : '"' + r.text + '"';
    case '*': break;
    default: return r.type + r.text;
  }
  if (r.null) {
    return "no list";
  }
  std::string out = "[";
  for (const resp& item : r.items) {
    out += spelled(item) + " ";
  }
  return out + "]";
}

both_servers::both_servers()
    : real_({.clock = true, .extra = {"--enable-debug-command", "yes"}}),
      link_(real_.port()),
      listener_(real_.port()),
      run_id_(run_id_of(link_)),
      now_(beginning),
      simulated_(lua_, run_id_, beginning) {
  // A key goes when it is looked at; by itself it would go at a moment that depends on the machine.
  EXPECT_EQ(spelled(link_.ask({"DEBUG", "SET-ACTIVE-EXPIRE", "0"})), "+OK");
  move_clock({});
  simulated_.on_command([this](auto, auto, const auto& changed) { changed_ = changed; });
  start_over(0);
}

std::string both_servers::place() const { return "seed " + std::to_string(seed_) + ": " + last_; }

void both_servers::move_clock(std::chrono::microseconds by) {
  now_ += by;
  real_.freeze_clock(now_.time_since_epoch());
}

std::vector<resp> both_servers::say(std::uint64_t connection, const std::vector<std::string>& words) {
  std::vector<sim::utterance> said;
  simulated_.receive(connection, resp_command(words), now_, said);
  std::vector<resp> answers;
  for (const sim::utterance& one : said) {
    std::size_t used = 0;
    auto r = parse_resp(one.bytes, used);
    EXPECT_TRUE(r && used == one.bytes.size()) << "no RESP: " << one.bytes;
    if (r && one.to == connection) {
      answers.push_back(std::move(*r));
    } else if (r) {
      heard_.push_back(spelled(*r));
    }
  }
  return answers;
}

/// Whoever watches must hear of every key that is another than before.
void both_servers::expect_changes_noted(const sim::keyspace::map& before) {
  const auto value_in = [](const sim::keyspace::map& all, const std::string& key) {
    sim::keyspace one;
    if (const auto at = all.find(key); at != all.end()) {
      one.replace(key, at->second.value).expiry = at->second.expiry;
    }
    return one.dump();
  };
  std::vector<std::string> names;
  for (const auto* const all : {&before, &keys().all()}) {
    for (const auto& [key, value] : *all) {
      names.push_back(key);
    }
  }
  for (const std::string& key : names) {
    if (value_in(before, key) != value_in(keys().all(), key)) {
      EXPECT_NE(std::find(changed_.begin(), changed_.end(), key), changed_.end())
          << key << " was changed and nobody told; " << place();
    }
  }
}

resp both_servers::ask(const std::vector<std::string>& words) {
  last_.clear();
  for (const std::string& word : words) {
    last_ += (word.size() > 300 ? word.substr(0, 20) + "…" : word) + " ";
  }
  const auto before = keys().all();
  auto answers = say(speaker, words);
  resp expected = link_.ask(words);
  if (answers.size() != 1) {
    ADD_FAILURE() << "answered " << answers.size() << " times; " << place();
    return {};
  }
  if (asks_for_fields(words)) {
    order_pairs(answers[0]);
    order_pairs(expected);
  }
  EXPECT_EQ(spelled(answers[0]), spelled(expected)) << place();
  expect_changes_noted(before);
  return answers[0];
}

void both_servers::listen(const std::vector<std::string>& words) {
  compare_heard();
  const auto answers = say(listener, words);
  const resp expected = listener_.ask(words);
  ASSERT_EQ(answers.size(), 1U);
  EXPECT_EQ(spelled(answers[0]), spelled(expected)) << place();
}

void both_servers::compare_heard() {
  listener_.say({"PING", "all of it"});
  std::vector<std::string> expected;
  for (;;) {
    const resp r = listener_.hear();
    if (r.is_error() || spelled(r).find("all of it") != std::string::npos) {
      break;
    }
    expected.push_back(spelled(r));
  }
  EXPECT_EQ(heard_, expected) << place();
  heard_.clear();
}

sim::keyspace both_servers::real_keys() {
  sim::keyspace all;
  for (const std::string& key : real_.keys_in()) {
    const std::string type = link_.ask({"TYPE", key}).text;
    sim::stored* s = nullptr;
    if (type == "string") {
      s = &all.replace(key, link_.ask({"GET", key}).text);
    } else if (type == "hash") {
      sim::hash_value fields;
      const auto texts = link_.ask({"HGETALL", key}).texts();
      for (std::size_t i = 0; i + 1 < texts.size(); i += 2) {
        fields[texts[i]] = texts[i + 1];
      }
      s = &all.replace(key, std::move(fields));
    } else if (type == "zset") {
      sim::sorted_set set;
      const auto texts = link_.ask({"ZRANGE", key, "0", "-1", "WITHSCORES"}).texts();
      for (std::size_t i = 0; i + 1 < texts.size(); i += 2) {
        set.put(texts[i], std::stod(texts[i + 1]));
      }
      s = &all.replace(key, std::move(set));
    }
    const std::int64_t left = link_.ask({"PTTL", key}).number;
    if (s != nullptr && left >= 0) {
      s->expiry = std::chrono::floor<std::chrono::milliseconds>(now_).time_since_epoch().count() + left;
    }
  }
  return all;
}

void both_servers::compare() {
  compare_counts();
  (void)say(speaker, {"DBSIZE"});  // what is gone by the clock goes
  EXPECT_EQ(keys().dump(), real_keys().dump()) << place();
  ask({"CONFIG", "RESETSTAT"});  // looking has run commands too
}

void both_servers::compare_counts() {
  const auto ours = redis::parse_info(say(speaker, {"INFO", "commandstats"}).at(0).text);
  const auto theirs = redis::parse_info(link_.ask({"INFO", "commandstats"}).text);
  for (const auto& [key, value] : ours.values) {
    const std::string command = key.substr(std::string("cmdstat_").size());
    if (command != "ping") {  // by which this class asks what was heard
      EXPECT_EQ(ours.calls(command), theirs.calls(command)) << command;
    }
  }
}

void both_servers::start_over(std::uint64_t seed) {
  seed_ = seed;
  ask({"FLUSHALL"});
  ask({"CONFIG", "RESETSTAT"});
}

}  // namespace cremone::test
