// SPDX-License-Identifier: Apache-2.0
#include "backends/redis/fitness.hpp"

#include "backends/redis/answers.hpp"
#include "backends/redis/diagnosis.hpp"
#include "backends/redis/info.hpp"
#include "backends/redis/reporting.hpp"

#include <array>
#include <utility>

namespace cremone::redis {

void fitness::start() {
  node_->on_change([weak = weak_from_this(), report = report_changes(events_, node_->settings().node),
                    lost = false](const error* why) mutable {
    report(why);
    const auto self = weak.lock();
    if (self && why == nullptr && lost) {
      self->ask();  // it may be another server, or the same one set up anew
    }
    lost = why != nullptr;
  });
  ask();  // goes first when it connects
}

void fitness::ask() {
  const std::array<std::string_view, 2> words = {"INFO", "all"};
  node_->command(words, longest_limit, [weak = weak_from_this()](outcome o) {
    if (const auto self = weak.lock()) {
      self->take_info(std::move(o));
    }
  });
  node_->check_rights([weak = weak_from_this()](std::optional<error> lacking) {
    if (const auto self = weak.lock()) {
      const std::lock_guard lock(self->mutex_);
      self->lacking_ = std::move(lacking);
    }
  });
}

void fitness::take_info(outcome&& o) {
  const auto* told = std::get_if<reply>(&o);
  if (told == nullptr || !told->is(reply::kind::text)) {
    return;  // denied, or not there: what is not told refuses nothing
  }
  const server_facts facts = read_facts(parse_info(told->text));
  const purpose wanted = purpose_of(node_->settings());
  std::vector<std::string> news;
  {
    const std::lock_guard lock(mutex_);
    misfit_ = fit_for_use(wanted, facts);
    for (std::string& text : warnings(wanted, facts)) {
      if (warned_.insert(text).second) {
        news.push_back(std::move(text));
      }
    }
  }
  for (std::string& text : news) {
    events_->tell(event_kind::warning, std::move(text));
  }
}

std::optional<error> fitness::trouble() {
  std::optional<error> why;
  {
    const std::lock_guard lock(mutex_);
    why = misfit_ ? misfit_ : lacking_;
  }
  if (why) {
    ask();
  }
  return why;
}

}  // namespace cremone::redis
