// SPDX-License-Identifier: Apache-2.0
#include "engine/quorum/acquiring.hpp"

#include "base/check.hpp"
#include "engine/describe.hpp"

#include <algorithm>
#include <utility>

namespace cremone::detail {

namespace {

using core::vote_answer;
using kind = core::coordinator_action::kind;
using std::chrono::milliseconds;

/// Far below the ttl: how long the slowest may take once a majority has answered.
milliseconds patience_with(milliseconds ttl) {
  return std::clamp(ttl / 20, milliseconds(10), milliseconds(50));
}

vote_answer vote_for(errc why) noexcept {
  switch (why) {
    case errc::busy: return vote_answer::held;
    case errc::quarantined: return vote_answer::quarantined;
    case errc::unreachable:
    case errc::outcome_unknown: return vote_answer::unreachable;
    default: return vote_answer::unfit;
  }
}

/// It takes requests and does not answer, or has answered with something that says nothing about that.
bool silent(const error& why) noexcept { return why == errc::unreachable || why == errc::outcome_unknown; }

}  // namespace

error merged(errc code, const std::vector<error>& reasons) {
  struct said {
    std::vector<std::string_view> by;
    std::string_view what;
  };
  std::vector<said> all;
  for (const error& r : reasons) {
    const std::string_view text = r.detail();  // begins with the server's name: "a:1 is …", "a:1: …"
    const std::string_view word = text.substr(0, text.find(' '));
    const std::string_view name = word.substr(0, word.size() - (word.ends_with(':') ? 1 : 0));
    const std::string_view what = text.substr(name.size());
    const auto known = std::find_if(all.begin(), all.end(), [&](const said& s) {
      return s.what == what && (!what.empty() || s.by.front() == name);
    });
    if (known == all.end()) {
      all.push_back({{name}, what});
    } else if (std::find(known->by.begin(), known->by.end(), name) == known->by.end()) {
      known->by.push_back(name);
    }
  }
  std::string text;
  for (const said& s : all) {
    if (s.by.front().empty() && s.what.empty()) {
      continue;
    }
    text += text.empty() ? "" : "; ";
    for (std::size_t i = 0; i < s.by.size(); ++i) {
      text += i == 0 ? "" : i + 1 == s.by.size() ? " and " : ", ";
      text += s.by[i];
    }
    text += s.what;
  }
  return {code, std::move(text)};
}

quorum::acquiring::acquiring(std::shared_ptr<quorum> by, const acquire_request& request, bool tokens,
                             callback<void(acquire_answer)> reply)
    : by_(std::move(by)),
      request_(request),
      join_(request.join),
      wake_(request.wake),
      reply_(std::move(reply)),
      votes_({by_->nodes_->size(), tokens, patience_with(request.ttl)}, by_->env_->now()),
      asked_(by_->nodes_->size(), false) {
  request_.join = false;  // nobody queues where several vote: each would have another order
  request_.wake.reset();
  if (tokens) {
    request_.proposal = by_->proposal();
  }
}

void quorum::acquiring::start() {
  sent_ = by_->env_->now();
  for (std::size_t node = 0; node < asked_.size(); ++node) {
    if (by_->avoided(node)) {
      votes_.doubt(node);
    }
    asked_[node] = by_->may_ask(node, sent_);
  }
  for (std::size_t node = 0; node < asked_.size() && !has_failed(); ++node) {
    ask(node);
    // Those who answered meanwhile may have decided it, on another thread, and our request may have left after the release.
    if (asked_[node] && has_failed()) {
      take_back(node);
    }
  }
}

bool quorum::acquiring::has_failed() {
  const std::lock_guard lock(mutex_);
  return failed_;
}

void quorum::acquiring::ask(std::size_t node) {
  if (!asked_[node]) {
    return take(node,
                rejection{.why = error(errc::unreachable, by_->name_of(node) + " has not answered lately")});
  }
  (*by_->nodes_)[node]->try_acquire(
      request_, [self = shared_from_this(), node](acquire_answer a) { self->take(node, std::move(a)); });
}

void quorum::acquiring::take(std::size_t node, acquire_answer&& a) {
  const instant now = by_->env_->now();
  if (const auto* no = std::get_if<rejection>(&a)) {
    // One that is down refuses at once. One that lets us wait for nothing is as bad as one that is silent.
    const bool slowly = silent(no->why) && now >= sent_ + patience_with(request_.ttl);
    if (asked_[node] && (slowly || !silent(no->why))) {
      by_->heard_from(node, !slowly, now);
    }
  } else {
    const auto* in_doubt = std::get_if<unknown>(&a);
    by_->heard_from(node, in_doubt == nullptr || !silent(in_doubt->why), now);
  }
  core::coordinator_action next;
  {
    const std::lock_guard lock(mutex_);
    std::uint64_t number = 0;
    const vote_answer said = note(node, std::move(a), number);
    by_->saw_token(number);
    next = votes_.answered(node, now, said, number);
    failed_ = failed_ || next.what == kind::fail;
  }
  perform(std::move(next));
}

/// With the mutex held.
vote_answer quorum::acquiring::note(std::size_t node, acquire_answer&& a, std::uint64_t& number) {
  if (const auto* yes = std::get_if<grant>(&a)) {
    repeated_ = repeated_ || yes->repeated;
    number = yes->token.value();
    return vote_answer::yes;
  }
  if (auto* in_doubt = std::get_if<unknown>(&a)) {
    reasons_.push_back(std::move(in_doubt->why));
    return silent(reasons_.back()) ? vote_answer::unsure : vote_answer::unfit;
  }
  auto& no = std::get<rejection>(a);
  const vote_answer said = vote_for(no.why.code());
  if (said == vote_answer::quarantined && !no.holders.empty()) {
    by_->saw_quarantine(node, no.holders.front().version);
    forgot_nothing_ += no.nothing_forgotten ? 1U : 0U;
  }
  if (said != vote_answer::held) {
    reasons_.push_back(std::move(no.why));
  }
  for (hold_record& h : no.holders) {
    no_.holders.push_back(std::move(h));
  }
  return said;
}

void quorum::acquiring::tick() {
  core::coordinator_action next;
  {
    const std::lock_guard lock(mutex_);
    next = votes_.tick(by_->env_->now());
    failed_ = failed_ || next.what == kind::fail;
  }
  perform(std::move(next));
}

void quorum::acquiring::perform(core::coordinator_action&& action) {
  switch (action.what) {
    case kind::nothing: break;
    case kind::commit: commit(action); break;
    case kind::succeed: return succeed(action.token);
    case kind::fail: return fail();
  }
  instant wake;
  {
    const std::lock_guard lock(mutex_);
    wake = votes_.wake_at();
  }
  if (wake != instant::max()) {
    arm(wake);
  }
}

void quorum::acquiring::arm(instant when) {
  const std::lock_guard lock(mutex_);
  if (!timer_) {
    timer_ = by_->env_->make_timer([weak = weak_from_this()] {
      if (const auto self = weak.lock()) {
        self->tick();
      }
    });
  }
  timer_->arm(when);
}

void quorum::acquiring::commit(const core::coordinator_action& action) {
  for (const std::size_t node : action.to) {
    (*by_->nodes_)[node]->commit(
        request_.name, request_.owner, fence_token(action.token),
        [self = shared_from_this(), node](const acquire_answer& a) { self->take_commit(node, a); });
  }
}

void quorum::acquiring::take_commit(std::size_t node, const acquire_answer& a) {
  const instant now = by_->env_->now();
  core::coordinator_action next;
  {
    const std::lock_guard lock(mutex_);
    if (const auto* yes = std::get_if<grant>(&a)) {
      by_->saw_token(yes->token.value());
      next = votes_.committed(node, now, yes->token.value());
    } else {
      if (const auto* no = std::get_if<rejection>(&a); no != nullptr && no->why != errc::not_held) {
        reasons_.push_back(no->why);
      }
      next = votes_.commit_failed(node, now);
    }
    failed_ = failed_ || next.what == kind::fail;
  }
  perform(std::move(next));
}

void quorum::acquiring::succeed(std::uint64_t token) {
  grant yes{.token = fence_token(token)};
  {
    const std::lock_guard lock(mutex_);
    yes.repeated = repeated_;
    yes.some_quarantined = votes_.count(vote_answer::quarantined) > 0;
    ++by_->acquisitions_;
    by_->in_one_round_ += votes_.rounds() == 1 ? 1U : 0U;
    timer_.reset();
  }
  (void)by_->waits_no_more(request_.owner, true);
  std::exchange(reply_, nullptr)(yes);
}

/// Takes back what was granted, everywhere and at once.
void quorum::acquiring::fail() {
  rejection no;
  std::vector<std::size_t> voted;
  {
    const std::lock_guard lock(mutex_);
    no = refusal();
    timer_.reset();
    for (std::size_t node = 0; node < asked_.size(); ++node) {
      // As published, all of them. By its tokens we know a layout of our own: where a no is final, there is nothing to take back, and in a
      // crowd that would be half of all requests.
      if (asked_[node] && (!by_->tokens_ || votes_.may_have_voted(node))) {
        voted.push_back(node);
      }
    }
  }
  for (const std::size_t node : voted) {
    take_back(node);
  }
  if (join_) {
    by_->failed_attempt(request_, wake_, no.why == errc::busy);
  }
  std::exchange(reply_, nullptr)(std::move(no));
}

/// Behind the request, on the same connection.
void quorum::acquiring::take_back(std::size_t node) {
  const auto end =
      std::make_shared<const release_request>(release_request{request_.name, request_.owner, true});
  by_->release_at(node, *end, [end](const answer&) {});
}

/// Which of several reasons is the reason. Those who could be asked decide, if they are a majority.
errc quorum::acquiring::code_of_failure() const {
  const std::size_t needed = core::majority_of(asked_.size());
  const std::size_t answered = votes_.count(vote_answer::yes) + votes_.count(vote_answer::held);
  const std::size_t quarantined = votes_.count(vote_answer::quarantined);
  if (answered >= needed) {
    return errc::busy;
  }
  if (answered + quarantined >= needed) {
    return errc::quarantined;
  }
  const auto unfit = std::find_if(reasons_.begin(), reasons_.end(),
                                  [](const error& e) { return vote_for(e.code()) == vote_answer::unfit; });
  if (unfit != reasons_.end() && votes_.count(vote_answer::unfit) > asked_.size() - needed) {
    return unfit->code();
  }
  return errc::unreachable;
}

/// With the mutex held.
rejection quorum::acquiring::refusal() {
  rejection no = std::move(no_);
  const errc code = code_of_failure();
  const std::size_t nodes = asked_.size();
  const std::size_t needed = core::majority_of(nodes);
  no.spent = true;
  no.complete = votes_.missing() == 0 && votes_.count(vote_answer::unsure) == 0;
  no.some_quarantined = votes_.count(vote_answer::quarantined) > 0;
  no.abstained = nodes - votes_.count(vote_answer::yes) - votes_.count(vote_answer::held);
  no.nothing_forgotten = forgot_nothing_ == nodes;
  if (code == errc::busy) {
    std::map<owner_id, std::size_t> votes;
    std::size_t most = 0;
    for (const hold_record& h : no.holders) {
      most = std::max(most, ++votes[h.version.owner]);
    }
    std::stable_sort(no.holders.begin(), no.holders.end(), [&](const hold_record& a, const hold_record& b) {
      return votes[a.version.owner] > votes[b.version.owner];
    });
    no.split = most < needed;
    no.why = error(errc::busy);
  } else {
    if (code == errc::quarantined) {  // what stands for a quarantine has no owner to be named
      std::erase_if(no.holders, [&](const hold_record& h) { return !by_->quarantined_as(h.version); });
    }
    // Where so many have said no that the silent ones could not have changed it, those are not to blame.
    const bool needed_all = votes_.count(vote_answer::held) + votes_.count(vote_answer::quarantined) +
                                votes_.count(vote_answer::unreachable) + votes_.count(vote_answer::unfit) <=
                            nodes - needed;
    for (std::size_t node = 0; node < nodes && needed_all; ++node) {
      if (votes_.waits_for(node)) {
        reasons_.emplace_back(errc::unreachable, by_->name_of(node) + " has not answered in time");
      }
    }
    no.until_ordered = code == errc::quarantined && by_->options_.strict;
    no.why = error(code, std::to_string(needed) + " of " + std::to_string(nodes) +
                             " servers must agree: " + merged(code, reasons_).detail() +
                             (no.until_ordered ? "; " + std::string(too_few_remember) : std::string()));
  }
  if (code != errc::quarantined) {
    std::erase_if(no.holders,
                  [&](const hold_record& h) { return by_->quarantined_as(h.version).has_value(); });
  }
  if (no.holders.size() > rejection::max_reported_holders) {
    no.holders.resize(rejection::max_reported_holders);
    no.complete = false;
  }
  return no;
}

}  // namespace cremone::detail
