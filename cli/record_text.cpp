// SPDX-License-Identifier: Apache-2.0
#include "cli/record_text.hpp"

#include "base/text.hpp"
#include "cli/duration.hpp"

#include <algorithm>
#include <ctime>
#include <utility>

namespace cremone::cli {

namespace {

using json = nlohmann::ordered_json;
using fact = std::pair<std::string, std::string>;

std::chrono::milliseconds since(wall_time then, wall_time now) {
  return std::chrono::floor<std::chrono::milliseconds>(now - then);
}

std::string when(wall_time then, wall_time now) {
  return iso_time(then) + " (" + shown(since(then, now)) + " ago)";
}

json owner_json(const owner_data& who) {
  return {{"host", who.host},
          {"pid", who.pid},
          {"user", who.user},
          {"label", who.label},
          {"since", iso_time(who.since)}};
}

void add_holder(std::vector<fact>& facts, const lock_record& lock, const std::string& store,
                const hold_record& h, wall_time now) {
  facts.emplace_back("held by",
                     h.owner.host + " pid " + std::to_string(h.owner.pid) + " user " + h.owner.user);
  if (!h.owner.label.empty()) {
    facts.emplace_back("label", h.owner.label);
  }
  facts.emplace_back("since", when(h.owner.since, now));
  facts.emplace_back("token", std::to_string(h.token.value()));
  facts.emplace_back("ttl", shown(h.ttl));
  if (h.mode != mode::exclusive) {
    facts.emplace_back("mode", to_string(h.mode));
  }
  if (const std::string words = liveness_words(h.liveness, lock.name.str(), store); !words.empty()) {
    facts.emplace_back("process", words);
  }
}

void add_waiter(std::vector<fact>& facts, std::size_t place, const owner_data& who, wall_time now) {
  std::string text = "#" + std::to_string(place) + " " + who.host + " pid " + std::to_string(who.pid) +
                     " user " + who.user + " since " + when(who.since, now);
  if (!who.label.empty()) {
    text += " '" + who.label + "'";
  }
  facts.emplace_back("waiting", std::move(text));
}

std::vector<fact> facts_about(const lock_record& lock, const std::string& store, wall_time now) {
  std::vector<fact> facts = {
      {"lock", lock.name.str()}, {"store", store}, {"state", lock.holders.empty() ? "free" : "held"}};
  for (const hold_record& h : lock.holders) {
    add_holder(facts, lock, store, h, now);
  }
  if (lock.holders.empty() && lock.last.value() != 0) {
    facts.emplace_back("last token", std::to_string(lock.last.value()));
  }
  for (std::size_t i = 0; i < lock.waiters.size(); ++i) {
    add_waiter(facts, i + 1, lock.waiters[i].who, now);
  }
  return facts;
}

std::string state_word(liveness l) {
  switch (l) {
    case liveness::untold: return "held";
    case liveness::alive: return "held";
    case liveness::command_only: return "orphaned";
    case liveness::dead: return "dead";
  }
  return "held";
}

}  // namespace

std::string iso_time(wall_time t) {
  const std::time_t seconds = std::chrono::system_clock::to_time_t(t);
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  char text[32];
  return {text, std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts)};
}

std::string shell_word(std::string_view text) {
  constexpr std::string_view plain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:%+,@=";
  if (!text.empty() && text.find_first_not_of(std::string(plain) + "-") == std::string_view::npos) {
    return std::string(text);
  }
  std::string word = "'";
  for (const char c : text) {
    word += c == '\'' ? std::string("'\\''") : std::string(1, c);
  }
  return word + "'";
}

std::string liveness_words(liveness l, std::string_view lock, std::string_view store) {
  switch (l) {
    case liveness::untold: return {};
    case liveness::alive: return "alive";
    case liveness::command_only:
      return "cremone is gone, its command still runs; to take the lock from it: cremone release --force "
             "--url " +
             shell_word(store) + " -- " + shell_word(lock);
    case liveness::dead: return "dead; the next who asks gets the lock";
  }
  return {};
}

json to_json(const lock_record& lock) {
  json holders = json::array();
  for (const hold_record& h : lock.holders) {
    json one = owner_json(h.owner);
    one["token"] = h.token.value();
    one["ttl_ms"] = h.ttl.count();
    one["mode"] = to_string(h.mode);
    one["liveness"] = to_string(h.liveness);
    holders.push_back(std::move(one));
  }
  json waiters = json::array();
  for (std::size_t i = 0; i < lock.waiters.size(); ++i) {
    json one = {{"place", i + 1}};
    one.update(owner_json(lock.waiters[i].who));
    one["mode"] = to_string(lock.waiters[i].mode);
    waiters.push_back(std::move(one));
  }
  return {{"name", lock.name.str()},
          {"held", !lock.holders.empty()},
          {"last_token", lock.last.value()},
          {"holders", std::move(holders)},
          {"waiters", std::move(waiters)}};
}

std::string json_line(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

std::string describe_lock(const lock_record& lock, const std::string& store, wall_time now, bool terminal,
                          const palette& colours) {
  std::string text;
  for (const auto& [name, value] : facts_about(lock, store, now)) {
    if (!terminal) {
      text += name + "\t" + printable(value) + "\n";
      continue;
    }
    const std::string_view colour = name == "state"  ? (value == "held" ? colours.bad : colours.good)
                                    : name == "lock" ? colours.strong
                                                     : std::string_view{};
    text += std::string(colours.dim) + padded(name, 11) + std::string(colours.plain) + std::string(colour) +
            printable(value) + std::string(colour.empty() ? colour : colours.plain) + "\n";
  }
  return text;
}

std::vector<std::string> list_columns() {
  return {"NAME", "STATE", "HOST", "PID", "USER", "SINCE", "TOKEN", "WAITERS", "LABEL"};
}

std::vector<std::vector<std::string>> list_rows(const lock_record& lock, wall_time now, bool relative) {
  const std::string waiters = std::to_string(lock.waiters.size());
  std::vector<std::vector<std::string>> rows;
  for (const hold_record& h : lock.holders) {
    rows.push_back({lock.name.str(), state_word(h.liveness), h.owner.host, std::to_string(h.owner.pid),
                    h.owner.user, relative ? shown(since(h.owner.since, now)) : iso_time(h.owner.since),
                    std::to_string(h.token.value()), waiters, h.owner.label});
  }
  if (rows.empty()) {
    rows.push_back({lock.name.str(), "waited for", "", "", "", "", "", waiters, ""});
  }
  for (auto& row : rows) {
    std::transform(row.begin(), row.end(), row.begin(),
                   [](const std::string& cell) { return printable(cell); });
  }
  return rows;
}

}  // namespace cremone::cli
