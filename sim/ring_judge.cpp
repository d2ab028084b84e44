// SPDX-License-Identifier: Apache-2.0
#include "sim/ring_judge.hpp"

#include "base/reading.hpp"

#include <algorithm>

namespace cremone::sim {

ring_judge::ring_judge(const plan& p, const world& time, history& facts)
    : plan_(p), world_(time), facts_(facts), servers_(static_cast<std::size_t>(p.nodes)) {}

void ring_judge::forgets(int node) { of(node).sure_since = never; }

void ring_judge::doubts(int node) {
  of(node).sure_since = never;
  of(node).doubtful_since = world_.now();
}

void ring_judge::gave(int node, const std::string& name, const std::string& counter, std::uint64_t number) {
  of(node).given.emplace(name, number, counter);
}

/// Either not so many others were sure of what they had given, all through the quarantine, that they are a majority; or those that did
/// not answer were waited for: the quarantine, which is max_ttl + 1 s, and max_ttl again, by a clock that may be too fast.
bool ring_judge::clock_was_needed(int node) const {
  const server& forgot = servers_[static_cast<std::size_t>(node) - 1];
  const auto sure = std::count_if(servers_.begin(), servers_.end(), [&](const server& s) {
    return &s != &forgot && s.sure_since <= forgot.doubtful_since;
  });
  const moment waited = 2 * moment(plan_.max_ttl) + std::chrono::seconds(1);
  return sure < plan_.nodes / 2 + 1 || world_.now() - forgot.doubtful_since >= waited - waited / 500;
}

bool ring_judge::may_use_clocks(int node, const admission& how) {
  const std::string name = "n" + std::to_string(node);
  if (how.by_person) {
    return true;
  }
  if (plan_.strict) {
    facts_.violated(violation_kind::structure,
                    name + " votes again by the clock, though amnesia=strict leaves that to an operator");
    return false;
  }
  if (!clock_was_needed(node)) {
    facts_.violated(violation_kind::structure,
                    name + " votes again by the clock, though a majority of others remembers");
    return false;
  }
  return true;
}

namespace {

std::uint64_t remembered(const std::string& counter, const keyspace& keys) {
  const std::string* last = keys.text(counter);
  return last == nullptr ? 0 : whole_number<std::uint64_t>(*last).value_or(0);
}

}  // namespace

/// A number that is still on its way to a client becomes a token later: acquired() looks it up.
void ring_judge::excuse_uncovered(server& s, const admission& how, const keyspace& keys) {
  for (const auto& vote : s.given) {
    const auto& [lock, number, counter] = vote;
    if (std::max(how.due, remembered(counter, keys)) >= number) {
      continue;
    }
    s.uncovered.emplace(lock, number);
    if (s.helped.contains(vote)) {
      facts_.token_unfounded(number);
    }
  }
}

void ring_judge::let_in(int node, const admission& how, const keyspace& keys) {
  server& s = of(node);
  if (how.by_clock && may_use_clocks(node, how)) {
    excuse_uncovered(s, how, keys);
  }
  s.sure_since = world_.now();
  if (plan_.mix.has(fault::freeze) || plan_.mix.has(fault::racing)) {
    return;  // a vote from before may have been counted when the quarantine was over
  }
  for (const auto& [lock, number, counter] : s.helped) {
    const std::uint64_t known = std::max(how.floor, remembered(counter, keys));
    if (known < number) {
      facts_.violated(violation_kind::token,
                      "n" + std::to_string(node) + " grants again with a floor of " + std::to_string(known) +
                          ", though it helped to give " + std::to_string(number) + " of '" + lock + "'",
                      number);
      return;
    }
  }
}

void ring_judge::acquired(const std::string& name, std::uint64_t token) {
  for (server& s : servers_) {
    for (auto vote = s.given.lower_bound({name, token, ""});
         vote != s.given.end() && std::get<0>(*vote) == name && std::get<1>(*vote) == token; ++vote) {
      s.helped.insert(*vote);
    }
    if (s.uncovered.contains({name, token})) {
      facts_.token_unfounded(token);
    }
  }
}

}  // namespace cremone::sim
