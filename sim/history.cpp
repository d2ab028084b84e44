// SPDX-License-Identifier: Apache-2.0
#include "sim/history.hpp"

#include "engine/hold.hpp"

#include <algorithm>
#include <utility>

namespace cremone::sim {

namespace {
constexpr std::uint64_t most_kept = 5;  // of a kind, with its text; all are counted
}  // namespace

history::~history() = default;

/// Why a violation of this kind is no surprise; empty if it is one. The published layout promises nothing of the kind, and gets no excuse.
std::string_view history::excuse(violation_kind kind, std::uint64_t token) const {
  const bool by_tokens = kind == violation_kind::token || kind == violation_kind::fence;
  if (store_ == store_kind::record && by_tokens && token <= unfounded_ && unfounded_ > 0) {
    return "memory was lost, and the clocks of server and client were both behind the last token";
  }
  if (store_ != store_kind::classic && kind == violation_kind::exclusion && unbounded_) {
    return "clock rates without bound: exclusion rests on them, and only the fence is left";
  }
  return {};
}

void history::finish() {
  if (store_ == store_kind::record && result_.grants < result_.acquisitions) {
    violated(violation_kind::structure, "the guard saw " + std::to_string(result_.grants) + " grants of " +
                                            std::to_string(result_.acquisitions) +
                                            ": it does not know the script any more");
  }
  result_.steps = world_.steps();
  result_.length = world_.now();
  for (const violation_kind k : {violation_kind::token, violation_kind::exclusion}) {
    if (result_.beyond.empty()) {
      result_.beyond = excuse(k, unfounded_);
    }
  }
}

void history::violated(violation_kind kind, std::string what, std::uint64_t token) {
  const std::string_view why = excuse(kind, token);
  trace_.say(world_.now(), "",
             "VIOLATION of " + std::string(name_of(kind)) + (why.empty() ? ": " : ", expected: ") + what);
  auto& count = (why.empty() ? result_.unexpected : result_.expected)[static_cast<std::size_t>(kind)];
  if (++count <= most_kept) {
    result_.violations.push_back({kind, std::move(what), world_.now(), std::string(why)});
  }
}

std::size_t history::acquired(const process& by, std::shared_ptr<detail::hold> lease, moment started) {
  const std::size_t number = ++numbers_;
  ++result_.acquisitions;
  if (witness_) {
    witness_(lease->name.str(), lease->token.value());
  }
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
  if (store_ == store_kind::classic && token == 0) {
    return;  // several servers of that layout give none
  }
  tokens& t = tokens_[name];
  if (!t.seen.insert(token).second) {
    violated(violation_kind::token,
             who + " got token " + std::to_string(token) + " of '" + name + "', which was given before",
             token);
  }
  const auto after = std::partition_point(t.marks.begin(), t.marks.end(),
                                          [&](const mark& m) { return m.decided < started; });
  const std::uint64_t before = after == t.marks.begin() ? 0 : std::prev(after)->highest;
  if (token < before) {
    violated(violation_kind::token,
             who + " got token " + std::to_string(token) + " of '" + name + "' after " +
                 std::to_string(before) + " had been given",
             before);
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
