// SPDX-License-Identifier: Apache-2.0
#include "cli/record_text.hpp"

#include "base/text.hpp"
#include "cli/duration.hpp"

#include <algorithm>
#include <ctime>
#include <utility>

namespace cremone::cli {

namespace {

using fact = std::pair<std::string, std::string>;

std::chrono::milliseconds since(wall_time then, wall_time now) {
  return std::chrono::floor<std::chrono::milliseconds>(now - then);
}

std::string when(wall_time then, wall_time now) {
  return iso_time(then) + " (" + shown(since(then, now)) + " ago)";
}

/// What a store does not know it gives as nothing: an empty text, zero, the epoch.
bool known(wall_time t) { return t != wall_time{}; }

std::string number_or_blank(std::uint64_t value) { return value == 0 ? "" : std::to_string(value); }

void add_holder(std::vector<fact>& facts, const lock_record& lock, const std::string& store,
                const hold_record& h, wall_time now, const char* how = "held by") {
  facts.emplace_back(how, holder_words(h));
  const auto add_known = [&](const char* name, std::string value) {
    if (!value.empty()) {
      facts.emplace_back(name, std::move(value));
    }
  };
  add_known("label", h.owner.label);
  add_known("since", known(h.owner.since) ? when(h.owner.since, now) : "");
  add_known("token", number_or_blank(h.token.value()));
  add_known("ttl", h.ttl == h.ttl.zero() ? "" : shown(h.ttl));
  add_known("expires", expiry_words(h));
  add_known("renewed", renewal_words(h));
  add_known("mode", h.mode == mode::exclusive ? "" : std::string(to_string(h.mode)));
  add_known("process", liveness_words(h.liveness, lock.name.str(), store));
}

void add_waiter(std::vector<fact>& facts, std::size_t place, const owner_data& who, wall_time now) {
  std::string text = "#" + std::to_string(place) + " " + owner_words(who);
  if (known(who.since)) {
    text += " since " + when(who.since, now);
  }
  if (!who.label.empty()) {
    text += " '" + who.label + "'";
  }
  facts.emplace_back("waiting", std::move(text));
}

/// One server's, of several.
std::string vote_words(const node_vote& v, const lock_record& lock) {
  if (!v.trouble.empty()) {
    return v.node + ": none: " + v.trouble;
  }
  std::string text = v.node + ": ";
  if (!v.holder) {
    text += "for nobody";
  } else {
    const auto is_among = [&](const std::vector<hold_record>& some) {
      return std::any_of(some.begin(), some.end(),
                         [&](const hold_record& h) { return h.version.owner == v.holder->owner; });
    };
    text += is_among(lock.holders)
                ? "for the holder"
                : "for " + v.holder->owner.hex().substr(0, 8) +
                      (is_among(lock.may_hold) ? ", who may hold it" : ", who does not hold it");
    text += v.holder->seq == 0 ? "" : ", version " + std::to_string(v.holder->seq);
  }
  text += v.quarantined ? ", in quarantine: it does not count" : "";
  text += v.avoided ? ", silent lately: asked now and then" : "";
  if (v.clock_ahead) {
    const auto off = v.clock_ahead->count();
    text += ", clock " + std::string(off < 0 ? "-" : "+") + std::to_string(off < 0 ? -off : off) + "ms";
  }
  return text;
}

std::vector<fact> facts_about(const lock_record& lock, const std::string& store, wall_time now) {
  std::vector<fact> facts = {{"lock", lock.name.str()},
                             {"store", store},
                             {"state", !lock.holders.empty()    ? "held"
                                       : !lock.may_hold.empty() ? "perhaps held"
                                                                : "free"}};
  for (const hold_record& h : lock.holders) {
    add_holder(facts, lock, store, h, now);
  }
  for (const hold_record& h : lock.may_hold) {
    add_holder(facts, lock, store, h, now, "perhaps by");
  }
  if (lock.holders.empty() && lock.last.value() != 0) {
    facts.emplace_back("last token", std::to_string(lock.last.value()));
  }
  for (std::size_t i = 0; i < lock.waiters.size(); ++i) {
    add_waiter(facts, i + 1, lock.waiters[i].who, now);
  }
  for (const node_vote& v : lock.votes) {
    facts.emplace_back("vote", vote_words(v, lock));
  }
  return facts;
}

std::string state_word(const hold_record& h) {
  if (!h.foreign.empty()) {
    return "foreign";
  }
  switch (h.liveness) {
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

std::string owner_words(const owner_data& who) {
  const std::string text = who.host + " pid " + std::to_string(who.pid);
  return who.user.empty() ? text : text + " user " + who.user;
}

std::string holder_words(const hold_record& h) {
  return h.foreign.empty() ? owner_words(h.owner) : "another program, which left '" + h.foreign + "'";
}

std::string expiry_words(const hold_record& h) {
  if (h.expires_in) {
    return "in " + shown(*h.expires_in) + " unless renewed";
  }
  return h.ttl == h.ttl.zero() ? "never" : "";  // a record with a ttl ends by silence
}

std::string renewal_words(const hold_record& h) {
  if (!h.renewed_ago) {
    return {};
  }
  const std::string when = *h.renewed_ago < h.renewed_ago->zero() ? "unknown: the store's clock was set back"
                                                                  : shown(*h.renewed_ago) + " ago";
  return looks_abandoned(h) ? when + "; looks abandoned: `cremone run --try` observes it and takes over"
                            : when;
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

std::string describe_lock(const lock_record& lock, const std::string& store, wall_time now, bool terminal,
                          const palette& colours) {
  std::string text;
  for (const auto& [name, value] : facts_about(lock, store, now)) {
    if (!terminal) {
      text += name + "\t" + printable(value) + "\n";
      continue;
    }
    const std::string_view colour = name == "state"  ? (value == "free" ? colours.good : colours.bad)
                                    : name == "lock" ? colours.strong
                                                     : std::string_view{};
    text += std::string(colours.dim) + padded(name, 11) + std::string(colours.plain) + std::string(colour) +
            printable(value) + std::string(colour.empty() ? colour : colours.plain) + "\n";
  }
  return text;
}

std::vector<std::string> list_columns(bool votes) {
  std::vector<std::string> names = {"NAME",  "STATE", "HOST",    "PID",  "USER",
                                    "SINCE", "TOKEN", "WAITERS", "LABEL"};
  if (votes) {
    names.emplace_back("VOTES");
  }
  return names;
}

bool any_votes(const std::vector<lock_record>& locks) noexcept {
  return std::any_of(locks.begin(), locks.end(), [](const lock_record& l) { return !l.votes.empty(); });
}

std::vector<std::vector<std::string>> list_rows(const lock_record& lock, wall_time now, bool relative) {
  const std::string waiters = std::to_string(lock.waiters.size());
  std::vector<std::vector<std::string>> rows;
  const std::vector<hold_record>& shown_as_rows = lock.holders.empty() ? lock.may_hold : lock.holders;
  for (const hold_record& h : shown_as_rows) {
    const std::string then = !known(h.owner.since) ? ""
                             : relative            ? shown(since(h.owner.since, now))
                                                   : iso_time(h.owner.since);
    rows.push_back({lock.name.str(), lock.holders.empty() ? "perhaps" : state_word(h), h.owner.host,
                    h.foreign.empty() ? std::to_string(h.owner.pid) : "", h.owner.user, then,
                    number_or_blank(h.token.value()), waiters, h.owner.label});
  }
  if (rows.empty()) {
    rows.push_back({lock.name.str(), "waited for", "", "", "", "", "", waiters, ""});
  }
  for (std::size_t i = 0; i < rows.size() && !lock.votes.empty(); ++i) {
    const auto votes = std::count_if(lock.votes.begin(), lock.votes.end(), [&](const node_vote& v) {
      return i < shown_as_rows.size() && v.holder && v.holder->owner == shown_as_rows[i].version.owner;
    });
    rows[i].push_back(std::to_string(votes) + "/" + std::to_string(lock.votes.size()));
  }
  for (auto& row : rows) {
    std::transform(row.begin(), row.end(), row.begin(),
                   [](const std::string& cell) { return printable(cell); });
  }
  return rows;
}

}  // namespace cremone::cli
