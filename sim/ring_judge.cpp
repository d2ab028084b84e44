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
  first_given_.try_emplace({name, number}, world_.now());
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

void ring_judge::let_in(int node, const admission& how, const keyspace& keys) {
  const std::string name = "n" + std::to_string(node);
  if (how.by_clock && !how.by_person) {
    if (plan_.strict) {
      facts_.violated(violation_kind::structure,
                      name + " votes again by the clock, though that is left to a person");
    } else if (!clock_was_needed(node)) {
      facts_.violated(violation_kind::structure,
                      name + " votes again by the clock, though a majority of others remembers");
    } else {
      leaps_.push_back({world_.now(), how.due});
      if (how.due < highest_) {
        facts_.tokens_unfounded();
      }
    }
  }
  of(node).sure_since = world_.now();
  if (plan_.mix.has(fault::freeze) || plan_.mix.has(fault::racing)) {
    return;  // a vote from before may have been counted when the quarantine was over
  }
  for (const auto& [lock, number, counter] : of(node).helped) {
    const std::string* last = keys.text(counter);
    const std::uint64_t known =
        std::max(how.floor, last == nullptr ? 0 : whole_number<std::uint64_t>(*last).value_or(0));
    if (known < number) {
      std::string what = name + " votes again and knows of no token above " + std::to_string(known);
      what += ", though it helped to give " + std::to_string(number) + " of '";
      what += lock + "'";
      facts_.violated(violation_kind::token, std::move(what));
      return;
    }
  }
}

/// One that was on its way when the clock took over, to somebody who heard of it later, counts as given before.
void ring_judge::acquired(const std::string& name, std::uint64_t token) {
  for (server& s : servers_) {
    for (auto vote = s.given.lower_bound({name, token, ""});
         vote != s.given.end() && std::get<0>(*vote) == name && std::get<1>(*vote) == token; ++vote) {
      s.helped.insert(*vote);
    }
  }
  highest_ = std::max(highest_, token);
  const auto first = first_given_.find({name, token});
  if (first != first_given_.end() && std::any_of(leaps_.begin(), leaps_.end(), [&](const leap& l) {
        return l.at > first->second && l.due < token;
      })) {
    facts_.tokens_unfounded();
  }
}

}  // namespace cremone::sim
