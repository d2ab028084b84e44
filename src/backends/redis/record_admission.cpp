// SPDX-License-Identifier: Apache-2.0
//
// A server that may have forgotten: what is said to those who ask meanwhile, what it shows of itself, and how it comes back.
// How long that takes and when it is enough is decided by who asks.
#include "backends/redis/record.hpp"

#include "backends/redis/digest.hpp"
#include "backends/redis/examination.hpp"
#include "base/reading.hpp"
#include "base/text.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

namespace cremone::redis {

namespace {

using kind = reply::kind;

/// Names this quarantine and no other: the server's life is in the marker, and since when.
owner_id life_of(std::string_view marker) { return owner_id(sha1(marker)); }

std::string why_of(const quarantine_mark& mark) {
  return mark.missing ? "it is new to cremone, or was emptied" : "it has restarted, or was promoted";
}

constexpr std::string_view perhaps_unused =
    "it has not been used yet, or was emptied; who asks for a lock finds out which";

/// Between two attempts while only an operator can end the quarantine, or correct a clock.
constexpr std::chrono::seconds poll_until_ordered{1};

/// Is it a master with all keys? Where it is not, what it says about our keys means nothing.
bool serves(const std::vector<finding>& found) {
  return std::none_of(found.begin(), found.end(), [](const finding& f) {
    return f.verdict == verdict::bad && (f.subject == "mode" || f.subject == "role");
  });
}

}  // namespace

error record_backend::other_settings(std::string_view theirs) const {
  const std::string_view known = theirs.substr(0, theirs.find(' '));
  return {errc::misconfigured, node_->server() + ": the prefix '" + node_->settings().prefix +
                                   "' is used there with other settings (" + printable(known) + ", here " +
                                   settings_ + "); all who share locks must agree, so take another prefix"};
}

std::optional<std::string> record_backend::kept_by_clocks(std::optional<wall_time> theirs) const {
  auto why = theirs ? clocks_too_far_apart(*theirs, env_->wall_now()) : std::nullopt;
  if (why) {
    *why +=
        node_->settings().voters == 1
            ? ". Correct the wrong clock"
            : ". If too few other servers remember the last token, the quarantine does not end by itself: "
              "correct the wrong clock, or run `cremone quarantine --end`";
  }
  return why;
}

rejection record_backend::quarantined(const quarantine_mark& mark, bool nothing_forgotten,
                                      std::optional<wall_time> theirs) const {
  rejection no;
  const auto clocks = kept_by_clocks(theirs);
  no.until_ordered = clocks && node_->settings().voters == 1;
  if (no.until_ordered) {
    no.retry_after = poll_until_ordered;
  }
  no.why = error(errc::quarantined,
                 node_->server() + " may have forgotten who holds what: " + why_of(mark) +
                     (clocks ? "; " + *clocks : std::string()) + ". No lock is granted there until " +
                     (no.until_ordered ? "the clocks agree and " : "") + "every lease from before is over");
  hold_record stands_for_it;
  stands_for_it.version = {life_of(mark.text), 0};
  stands_for_it.ttl = quarantine_length(node_->settings().max_ttl);
  no.holders.push_back(std::move(stands_for_it));
  no.nothing_forgotten = nothing_forgotten;
  return no;
}

void record_backend::refuse_for_now(const std::string& marker, std::optional<wall_time> theirs,
                                    callback<void(acquire_answer)> reply) {
  auto mark = parse_quarantine(marker);
  if (!mark) {
    return reply(unknown{error(errc::protocol_error, node_->server() + ": the marker at " + boot_ +
                                                         " makes no sense: " + printable(marker))});
  }
  bool news = false;
  std::optional<bool> nothing_forgotten;
  {
    const std::lock_guard lock(mutex_);
    if (quarantine_.marker != marker) {
      news = true;
      quarantine_ = {marker, life_of(marker), mark->missing ? std::nullopt : std::optional(false)};
    }
    nothing_forgotten = quarantine_.nothing_forgotten;
  }
  if (news && !mark->missing) {
    events_->tell(event_kind::quarantined, quarantined(*mark, false, theirs).why.detail());
  }
  if (nothing_forgotten) {
    return reply(quarantined(*mark, *nothing_forgotten, theirs));
  }
  const std::array<std::string_view, 5> words = {"INFO", "server", "replication", "stats", "commandstats"};
  node_->command(words, longest_limit,
                 [self = shared_from_this(), mark = std::move(*mark), theirs, before = env_->wall_now(),
                  reply = std::move(reply)](outcome o) mutable {
                   const auto* r = std::get_if<redis::reply>(&o);
                   const info_text info = parse_info(r != nullptr && r->is(kind::text) ? r->text : "");
                   const wall_time clock(std::chrono::microseconds(
                       static_cast<std::int64_t>(info.number("server_time_usec").value_or(0))));
                   const bool fine = forgot_nothing(read_facts(info), clock, before, self->env_->wall_now(),
                                                    self->node_->settings().max_ttl);
                   bool first = false;
                   {
                     const std::lock_guard lock(self->mutex_);
                     if (self->quarantine_.marker == mark.text && r != nullptr) {
                       first = !self->quarantine_.nothing_forgotten;
                       self->quarantine_.nothing_forgotten = fine;
                     }
                   }
                   rejection no = self->quarantined(mark, fine, theirs);
                   if (first && !fine) {
                     self->events_->tell(event_kind::quarantined, no.why.detail());
                   }
                   reply(std::move(no));
                 });
}

void record_backend::admit(const admission& order, callback<void(answer)> reply) {
  std::string marker;
  if (order.quarantine != hold_version{}) {
    const std::lock_guard lock(mutex_);
    if (quarantine_.marker.empty() || order.quarantine != hold_version{quarantine_.life, 0}) {
      return node_->decline(error(errc::not_held), [reply = std::move(reply)](outcome o) mutable {
        reply(as_answer(std::get<failure>(std::move(o))));
      });
    }
    marker = quarantine_.marker;
  }
  admit(marker, order.floor, order.by_clock, std::move(reply));
}

void record_backend::admit(const std::string& mark, fence_token floor, bool by_clock,
                           callback<void(answer)> reply) {
  const std::string number = std::to_string(floor.value());
  const std::string clock = std::to_string(env_->wall_now().time_since_epoch().count());
  const std::string bound = std::to_string(std::chrono::microseconds(quarantine_clock_bound).count());
  const std::array<std::string_view, 7> arguments = {
      boot_, settings_, mark, number, by_clock ? std::string_view(clock) : "counted", bound, "-"};
  node_->run(record_script::admit, arguments, 1, longest_limit, {},
             [self = shared_from_this(), sent = env_->now(), reply = std::move(reply)](outcome o) mutable {
               reply(self->judge_admission(sent, std::move(o)));
             });
}

answer record_backend::judge_admission(instant sent, outcome&& o) {
  answer a = judge_removal(record_script::admit, sent, std::move(o));
  bool news = false;
  if (std::holds_alternative<done>(a)) {
    const std::lock_guard lock(mutex_);
    news = !std::exchange(quarantine_, {}).marker.empty();
  }
  if (news) {
    events_->tell(event_kind::admitted, node_->server() + " gives out locks");
  }
  return a;
}

void record_backend::end_quarantine(callback<void(answer)> reply) {
  admit("", fence_token(), true, std::move(reply));
}

void record_backend::floor(callback<void(result<token_floor>)> reply) {
  std::vector<std::string> words = {boot_};
  for (std::uint32_t bucket = 0; bucket < bucket_count; ++bucket) {
    words.push_back(node_->settings().prefix + ":count:" + std::to_string(bucket));
  }
  const std::size_t keys = words.size();
  words.push_back(settings_);
  words.emplace_back("-");
  const std::vector<std::string_view> arguments(words.begin(), words.end());
  node_->run(record_script::floor, arguments, keys, longest_limit, {},
             [self = shared_from_this(), reply = std::move(reply)](outcome o) mutable {
               if (auto* f = std::get_if<failure>(&o)) {
                 return reply(unanswered(std::move(*f)));
               }
               if (auto why = self->fitness_->trouble()) {
                 return reply(std::move(*why));
               }
               const auto& r = std::get<redis::reply>(o);
               const bool forgetful = r.is(kind::list) && r.items.size() == 4 && r.items[0].text == "Q";
               if (!forgetful && !(r.is(kind::list) && r.items.size() == 3 && r.items[0].is(kind::integer))) {
                 return reply(self->nonsense(record_script::floor, r));
               }
               const auto number = whole_number<std::uint64_t>(r.items.back().text);
               if (!number || *number >= fence_token::limit) {
                 return reply(self->nonsense(record_script::floor, r));
               }
               reply(token_floor{fence_token(*number), forgetful});
             });
}

result<quarantine_state> record_backend::state_in(std::string_view marker) const {
  quarantine_state state;
  state.node = node_->server();
  const std::string life = node_->life();
  if (const auto mark = parse_quarantine(marker);
      mark && marker.starts_with("Q " + life + " " + settings_ + " ")) {
    state.quarantined = true;
    state.why = why_of(*mark);
    state.version = {life_of(marker), 0};
    state.length = quarantine_length(node_->settings().max_ttl);
    return state;
  }
  const std::string here = "A " + life + " ";
  if (marker.starts_with(here + settings_ + " ")) {
    state.why = "nothing was forgotten in this life of the server, or that is long ago";
    return state;
  }
  if (marker.starts_with(here) || marker.starts_with("Q " + life + " ")) {
    return other_settings(marker.substr(here.size()));
  }
  state.quarantined = true;
  state.why = marker.empty() ? std::string(perhaps_unused) : "it has restarted, or was promoted";
  state.length = quarantine_length(node_->settings().max_ttl);
  return state;
}

void record_backend::examine(callback<void(result<std::vector<finding>>)> reply) {
  // Less than half of what client::examine() waits.
  constexpr std::chrono::seconds time_for_layout{2};
  const instant give_up = env_->now() + time_for_layout;
  quarantine([self = shared_from_this(), give_up,
              reply = std::move(reply)](result<std::vector<quarantine_state>> state) mutable {
    examination_order order;
    order.rights_command = self->node_->rights_words();
    order.among = self->fitness_;
    if (state && state->size() == 1) {
      order.quarantine = std::move(state->front());
      order.perhaps_unused = order.quarantine->why.starts_with(perhaps_unused);
    }
    std::optional<error> unusable;  // the keys of this prefix are not what they should be
    if (!state && (state.error() == errc::misconfigured || state.error() == errc::protocol_error)) {
      unusable = state.error();
    }
    redis::examine(self->env_, self->node_, std::move(order),
                   [self, give_up, unusable = std::move(unusable),
                    reply = std::move(reply)](result<std::vector<finding>> found) mutable {
                     if (found && unusable && serves(*found)) {
                       found->push_back({.node = self->node_->settings().node,
                                         .subject = "prefix",
                                         .verdict = verdict::bad,
                                         .value = self->node_->settings().prefix,
                                         .reason = unusable->detail()});
                     }
                     if (!found || !serves(*found) || self->env_->now() >= give_up) {
                       return reply(std::move(found));
                     }
                     self->check_layout(give_up, [found = std::move(found),
                                                  reply = std::move(reply)](finding layout) mutable {
                       found->push_back(std::move(layout));
                       reply(std::move(found));
                     });
                   });
  });
}

void record_backend::quarantine(callback<void(result<std::vector<quarantine_state>>)> reply) {
  const std::array<std::string_view, 4> arguments = {boot_, settings_, "all", "-"};
  node_->run(record_script::look, arguments, 1, longest_limit, {},
             [self = shared_from_this(), reply = std::move(reply)](outcome o) mutable {
               if (auto* f = std::get_if<failure>(&o)) {
                 return reply(unanswered(std::move(*f)));
               }
               const auto& r = std::get<redis::reply>(o);
               if (!r.is(kind::list) || r.items.size() != 2 || !r.items[1].is(kind::text)) {
                 return reply(self->nonsense(record_script::look, r));
               }
               auto state = self->state_in(r.items[1].text);
               if (!state) {
                 return reply(state.error());
               }
               const auto clocks = self->kept_by_clocks(time_in(r.items[0]));
               if (clocks && state->quarantined) {
                 state->why += "; " + *clocks;
                 state->until_ordered = self->node_->settings().voters == 1;
               }
               if (state->quarantined && state->version != hold_version{}) {
                 const std::lock_guard lock(self->mutex_);
                 if (self->quarantine_.marker != r.items[1].text) {
                   self->quarantine_ = {r.items[1].text, state->version.owner, std::nullopt};
                 }
               }
               reply(std::vector{std::move(*state)});
             });
}

}  // namespace cremone::redis
