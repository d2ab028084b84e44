// SPDX-License-Identifier: Apache-2.0
//
// The check of `doctor` for locks that other programs keep under names in use here.
#include "backends/redis/record.hpp"

#include "backends/redis/diagnosis.hpp"

#include <chrono>
#include <tuple>
#include <utility>

namespace cremone::redis {

namespace {

constexpr std::string_view scan_step = "500";         // keys
constexpr std::size_t most_names = 100;               // enough to find one; `doctor` shows three
constexpr std::chrono::milliseconds look_limit{500};  // per round trip: the user waits for `doctor`

}  // namespace

struct record_backend::layout_check {
  instant give_up{};
  callback<void(finding)> reply;
  std::string cursor = "0";
  std::vector<lock_record> unchecked{};
  bool scanned = false;  // the scan is complete, or has failed
  layout_evidence seen{};
};

void record_backend::check_layout(instant give_up, callback<void(finding)> reply) {
  const auto c = std::make_shared<layout_check>();
  c->give_up = give_up;
  c->reply = std::move(reply);
  check_layout(c);
}

/// One step: checks the next name, or scans for more. One command at a time, so a denial by the ACL
/// costs one entry in its log, not a hundred.
void record_backend::check_layout(const std::shared_ptr<layout_check>& c) {
  const bool enough = c->seen.denied || c->seen.names == most_names || env_->now() >= c->give_up;
  if (enough || (c->unchecked.empty() && c->scanned)) {
    return c->reply(judge_layout(purpose_of(node_->settings()), c->seen));
  }
  if (c->unchecked.empty()) {
    return scan(
        c->cursor, scan_step,
        [self = shared_from_this(), c](result<std::pair<std::string, std::vector<lock_record>>> step) {
          c->scanned = !step || step->first == "0";
          if (step) {
            std::tie(c->cursor, c->unchecked) = std::move(*step);
          }
          self->check_layout(c);
        });
  }
  const lock_name name = c->unchecked.back().name;
  c->unchecked.pop_back();
  foreign_->look(name, look_limit, [self = shared_from_this(), c, name](foreign_look one) {
    if (!one.answered) {
      c->give_up = self->env_->now();
    }
    c->seen.denied = one.denied;
    c->seen.names += one.answered && !one.denied ? 1U : 0U;
    if (!one.found.empty()) {
      c->seen.shared.insert(name.str());
      c->seen.example = std::move(one.found);
    }
    self->check_layout(c);
  });
}

}  // namespace cremone::redis
