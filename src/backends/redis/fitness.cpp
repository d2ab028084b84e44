// SPDX-License-Identifier: Apache-2.0
#include "backends/redis/fitness.hpp"

#include "backends/redis/diagnosis.hpp"
#include "backends/redis/info.hpp"
#include "backends/redis/reporting.hpp"

#include <utility>
#include <vector>

namespace cremone::redis {

void fitness::start() {
  node_->on_facts([weak = weak_from_this()](const server_facts& facts) {
    if (const auto self = weak.lock()) {
      self->judge(facts);
    }
  });
  node_->on_change(
      [weak = weak_from_this(), report = report_changes(events_, node_)](const error* why) mutable {
        report(why);
        if (const auto self = weak.lock(); self && why == nullptr) {
          self->ask_for_rights();
        }
      });
}

void fitness::ask_for_rights() {
  node_->check_rights([weak = weak_from_this()](std::optional<error> lacking) {
    if (const auto self = weak.lock()) {
      const std::lock_guard lock(self->mutex_);
      self->lacking_ = std::move(lacking);
    }
  });
}

/// What the server does not tell refuses nothing.
void fitness::judge(const server_facts& facts) {
  if (roster_) {
    roster_->note(number_, node_->server(), facts.run_id);
  }
  const purpose wanted = purpose_of(node_->settings());
  std::vector<std::string> news;
  {
    const std::lock_guard lock(mutex_);
    misfit_ = fit_for_use(wanted, facts);
    for (risk& r : warnings(wanted, facts)) {
      if (warned_.insert(std::move(r.subject)).second) {
        news.push_back(std::move(r.text));
      }
    }
  }
  for (std::string& text : news) {
    events_->tell(event_kind::warning, std::move(text));
  }
}

std::optional<error> fitness::misfit() {
  const std::lock_guard lock(mutex_);
  return misfit_;
}

std::optional<error> fitness::trouble() {
  std::optional<error> why = roster_ ? roster_->twins() : std::nullopt;
  if (!why) {
    const std::lock_guard lock(mutex_);
    why = misfit_ ? misfit_ : lacking_;
  }
  if (why) {
    node_->ask_about();
    ask_for_rights();
  }
  return why;
}

}  // namespace cremone::redis
