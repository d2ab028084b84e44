// SPDX-License-Identifier: Apache-2.0
#include "cli/record_json.hpp"

#include "cli/finding_text.hpp"
#include "cli/record_text.hpp"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <utility>

namespace cremone::cli {

namespace {

using json = nlohmann::ordered_json;

// What a store does not know it gives as nothing: an empty text, zero, the epoch.
json number_or_null(std::uint64_t value) { return value == 0 ? json() : json(value); }

json text_or_null(const std::string& text) { return text.empty() ? json() : json(text); }

/// "host", "pid", "user", "label" and "since", null where they are not known.
json owner_json(const owner_data& who) {
  return {{"host", who.host},
          {"pid", who.pid},
          {"user", text_or_null(who.user)},
          {"label", who.label},
          {"since", who.since != wall_time{} ? json(iso_time(who.since)) : json()}};
}

json holder_json(const hold_record& h) {
  json one = h.foreign.empty() ? owner_json(h.owner)
                               : json{{"host", nullptr},
                                      {"pid", nullptr},
                                      {"user", nullptr},
                                      {"label", nullptr},
                                      {"since", nullptr}};
  one["token"] = number_or_null(h.token.value());
  one["ttl_ms"] = number_or_null(static_cast<std::uint64_t>(h.ttl.count()));
  one["mode"] = to_string(h.mode);
  one["liveness"] = to_string(h.liveness);
  one["expires_in_ms"] = h.expires_in ? json(h.expires_in->count()) : json();
  one["renewed_ago_ms"] = h.renewed_ago ? json(h.renewed_ago->count()) : json();
  one["looks_abandoned"] = looks_abandoned(h);
  one["foreign"] = text_or_null(h.foreign);
  return one;
}

json vote_json(const node_vote& v) {
  return {{"node", v.node},
          {"trouble", text_or_null(v.trouble)},
          {"owner", v.holder ? json(v.holder->owner.hex()) : json()},
          {"version", v.holder ? json(v.holder->seq) : json()},
          {"token", number_or_null(v.token.value())},
          {"quarantined", v.quarantined},
          {"avoided", v.avoided},
          {"clock_ahead_ms", v.clock_ahead ? json(v.clock_ahead->count()) : json()}};
}

json record_json(const lock_record& lock) {
  json holders = json::array();
  for (const hold_record& h : lock.holders) {
    holders.push_back(holder_json(h));
  }
  json waiters = json::array();
  for (std::size_t i = 0; i < lock.waiters.size(); ++i) {
    json one = {{"place", i + 1}};
    one.update(owner_json(lock.waiters[i].who));
    one["mode"] = to_string(lock.waiters[i].mode);
    waiters.push_back(std::move(one));
  }
  json value = {{"name", lock.name.str()},
                {"held", !lock.holders.empty()},
                {"last_token", number_or_null(lock.last.value())},
                {"holders", std::move(holders)},
                {"waiters", std::move(waiters)}};
  if (!lock.votes.empty()) {
    json perhaps = json::array();
    for (const hold_record& h : lock.may_hold) {
      perhaps.push_back(holder_json(h));
    }
    value["may_hold"] = std::move(perhaps);
    json votes = json::array();
    for (const node_vote& v : lock.votes) {
      votes.push_back(vote_json(v));
    }
    value["votes"] = std::move(votes);
  }
  return value;
}

std::string line(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

}  // namespace

std::string lock_json(const lock_record& lock, const std::string& store) {
  json value = record_json(lock);
  value["foreign_lock"] = text_or_null(lock.foreign_lock);
  value["store"] = store;
  return line(value);
}

std::string list_json(const std::vector<lock_record>& locks, const std::string& store) {
  json all = json::array();
  for (const lock_record& lock : locks) {
    all.push_back(record_json(lock));
  }
  return line({{"store", store}, {"locks", std::move(all)}});
}

std::string removal_json(const std::string& store, const std::string& name, std::size_t removed) {
  return line({{"store", store}, {"name", name}, {"removed", removed}});
}

std::string change_json(const change& c, wall_time now) {
  json value = {{"time", iso_time(now)}, {"event", to_string(c.what)}, {"name", c.name}};
  value.update(owner_json(c.who));
  if (c.token.value() != 0) {
    value["token"] = c.token.value();
  }
  return line(value);
}

std::string findings_json(const std::vector<finding>& all, const std::string& store) {
  json list = json::array();
  for (const finding& f : all) {
    list.push_back({{"node", f.node},
                    {"subject", f.subject},
                    {"verdict", to_string(f.verdict)},
                    {"value", text_or_null(f.value)},
                    {"reason", f.reason}});
  }
  return line({{"store", store}, {"overall", to_string(overall(all))}, {"findings", std::move(list)}});
}

std::string quarantine_json(const std::vector<quarantine_state>& all, const std::string& store, bool ended) {
  json list = json::array();
  for (const quarantine_state& q : all) {
    list.push_back({{"node", q.node},
                    {"reachable", q.reachable},
                    {"quarantined", q.quarantined},
                    {"left_ms", q.left ? json(q.left->count()) : json()},
                    {"until_ordered", q.until_ordered},
                    {"why", text_or_null(q.why)}});
  }
  return line({{"store", store},
               {"quarantined", any_quarantined(all)},
               {"ended", ended},
               {"servers", std::move(list)}});
}

}  // namespace cremone::cli
