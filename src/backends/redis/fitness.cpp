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
  if (roster_) {
    node_->on_run_id([all = roster_, number = number_, weak = std::weak_ptr(node_)](const std::string& id) {
      if (const auto server = weak.lock()) {
        all->note(number, server->server(), id);
      }
    });
  }
  node_->on_change(
      [weak = weak_from_this(), report = report_changes(events_, node_)](const error* why) mutable {
        report(why);
        const auto self = weak.lock();
        if (self && why == nullptr) {
          self->ask_for_rights();
        } else if (self && self->roster_) {
          self->roster_->note(self->number_, {}, {});  // nobody, until it is there again
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

std::optional<error> fitness::twins() const { return roster_ ? roster_->twins() : std::nullopt; }

std::optional<error> fitness::trouble() {
  std::optional<error> why = twins();
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
