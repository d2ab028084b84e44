// SPDX-License-Identifier: Apache-2.0
#include "sim/history.hpp"

#include "engine/hold.hpp"

#include <algorithm>
#include <utility>

namespace cremone::sim {

namespace {
constexpr std::size_t most_kept = 20;  // of one schedule; more say nothing new
}  // namespace

history::~history() = default;

/// What a server has forgotten is made up for by its clock, and by nothing else once that was set back.
bool history::tokens_rest_on_clocks() const { return records_ && forgot_ && went_back_; }

void history::finish() {
  result_.steps = world_.steps();
  result_.length = world_.now();
  if (tokens_rest_on_clocks()) {
    result_.beyond =
        "memory was lost and a wall clock was set back: the order of tokens then rests on that clock";
  } else if (unbounded_) {
    result_.beyond = "clock rates without bound: exclusion rests on them, and only the fence is left";
  }
}

void history::violated(violation_kind kind, std::string what) {
  const bool by_tokens = kind == violation_kind::token || kind == violation_kind::fence;
  const bool expected =
      (by_tokens && tokens_rest_on_clocks()) || (kind == violation_kind::exclusion && unbounded_);
  trace_.say(world_.now(), "",
             "VIOLATION of " + std::string(name_of(kind)) + (expected ? ", expected: " : ": ") + what);
  if (result_.violations.size() < most_kept) {
    result_.violations.push_back({kind, std::move(what), world_.now(), expected});
  }
}

std::size_t history::acquired(const process& by, std::shared_ptr<detail::hold> lease, moment started) {
  const std::size_t number = ++numbers_;
  ++result_.acquisitions;
  check_token(lease->name.str(), lease->token.value(), started, by.name());
  open_.push_back({number, &by, std::move(lease)});
  return number;
}

void history::ended(std::size_t number) {
  std::erase_if(open_, [&](const holding& h) { return h.number == number; });
}

void history::killed(const process& by) {
  std::erase_if(open_, [&](const holding& h) { return h.by == &by; });
}

/// Unique, and higher than all that had come before it was asked for. Complete for both: whoever came in between is concurrent.
void history::check_token(const std::string& name, std::uint64_t token, moment started,
                          const std::string& who) {
  tokens& t = tokens_[name];
  if (!t.seen.insert(token).second) {
    violated(violation_kind::token,
             who + " got token " + std::to_string(token) + " of '" + name + "', which was given before");
  }
  const auto after = std::partition_point(t.marks.begin(), t.marks.end(),
                                          [&](const mark& m) { return m.decided < started; });
  const std::uint64_t before = after == t.marks.begin() ? 0 : std::prev(after)->highest;
  if (token < before) {
    violated(violation_kind::token, who + " got token " + std::to_string(token) + " of '" + name +
                                        "' after " + std::to_string(before) + " had been given");
  }
  t.marks.push_back({world_.now(), std::max(token, t.marks.empty() ? 0 : t.marks.back().highest)});
}

void history::look() {
  if (open_.size() < 2) {
    return;
  }
  const auto valid = [](const holding& h) { return h.lease->deadline.load() > h.by->shown_now(); };
  for (std::size_t i = 0; i < open_.size(); ++i) {
    for (std::size_t k = i + 1; k < open_.size(); ++k) {
      const holding& a = open_[i];
      const holding& b = open_[k];
      if (a.lease->name == b.lease->name && valid(a) && valid(b) &&
          told_.emplace(a.number, b.number).second) {
        violated(violation_kind::exclusion,
                 "'" + a.lease->name.str() + "' is held by " + a.by->name() + " with token " +
                     std::to_string(a.lease->token.value()) + " and by " + b.by->name() + " with token " +
                     std::to_string(b.lease->token.value()) + ", and both are within their leases");
      }
    }
  }
}

}  // namespace cremone::sim
