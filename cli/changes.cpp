// SPDX-License-Identifier: Apache-2.0
#include "cli/changes.hpp"

#include "base/text.hpp"
#include "cli/record_text.hpp"

#include <map>
#include <utility>

namespace cremone::cli {

namespace {

using key = std::pair<std::string, owner_id>;

/// Who holds and who waits, by lock and acquisition: an acquisition's id never comes back.
struct view {
  std::map<key, change> holders;
  std::map<key, change> waiters;

  explicit view(const std::vector<lock_record>& locks) {
    for (const lock_record& lock : locks) {
      const std::string& name = lock.name.str();
      for (const hold_record& h : lock.holders) {
        holders.try_emplace({name, h.version.owner}, change{change::kind::held, name, h.owner, h.token});
      }
      for (const hold_record& h : lock.may_hold) {  // nobody has seen it end
        holders.try_emplace({name, h.version.owner}, change{change::kind::held, name, h.owner, h.token});
      }
      for (const waiter_record& w : lock.waiters) {
        waiters.try_emplace({name, w.owner}, change{change::kind::waiting, name, w.who, {}});
      }
    }
  }
};

void add_missing(std::vector<change>& found, const std::map<key, change>& from,
                 const std::map<key, change>& in, change::kind what) {
  for (const auto& [id, c] : from) {
    if (!in.contains(id)) {
      found.push_back(c);
      found.back().what = what;
    }
  }
}

}  // namespace

std::string_view to_string(change::kind k) noexcept {
  switch (k) {
    case change::kind::released: return "released";
    case change::kind::left: return "left";
    case change::kind::waiting: return "waiting";
    case change::kind::held: return "held";
  }
  return "";
}

std::vector<change> changes_between(const std::vector<lock_record>& before,
                                    const std::vector<lock_record>& after) {
  const view was(before);
  const view is(after);
  std::vector<change> found;
  add_missing(found, was.holders, is.holders, change::kind::released);
  auto waiting_or_served = is.waiters;
  waiting_or_served.insert(is.holders.begin(), is.holders.end());
  add_missing(found, was.waiters, waiting_or_served, change::kind::left);
  add_missing(found, is.holders, was.holders, change::kind::held);
  add_missing(found, is.waiters, was.waiters, change::kind::waiting);
  return found;
}

std::string to_line(const change& c, wall_time now) {
  std::string text;
  for (const std::string& cell :
       {iso_time(now), std::string(to_string(c.what)), c.name, c.who.host, std::to_string(c.who.pid),
        c.who.user, c.token.value() == 0 ? std::string() : std::to_string(c.token.value()), c.who.label}) {
    text += (text.empty() ? "" : "\t") + printable(cell);
  }
  return text + "\n";
}

}  // namespace cremone::cli
