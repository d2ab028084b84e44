// SPDX-License-Identifier: Apache-2.0
#include "backends/redis/classic.hpp"

#include "backends/redis/digest.hpp"
#include "backends/redis/examination.hpp"
#include "backends/redis/value.hpp"
#include "base/text.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

namespace cremone::redis {

namespace {

using std::chrono::milliseconds;
using kind = reply::kind;

}  // namespace

hold_record hold_in(const reply& value, const reply& pttl) {
  hold_record hold = decode_value(value.text);
  if (pttl.number >= 0) {
    hold.expires_in = milliseconds(pttl.number);
  }
  return hold;
}

classic_backend::classic_backend(std::shared_ptr<env> e, std::shared_ptr<transport> net,
                                 const node_settings& to, std::shared_ptr<const event_hub> events)
    : env_(e),
      node_(std::make_shared<node>(e, net, to)),
      notices_(std::make_shared<notices>(e, net, to, node_->place())),
      events_(std::move(events)),
      fence_(to.prefix + ":classic:fence"),
      fitness_(std::make_shared<fitness>(node_, events_)) {}

void classic_backend::start(const std::shared_ptr<roster>& all, std::size_t number) {
  if (all) {
    fitness_->join(all, number);
  }
  fitness_->start();
  node_->start();
}

traits classic_backend::describe() const {
  traits t;
  t.store = node_->settings().store;
  t.hints = true;
  t.records = false;
  t.drift_ppm = drift_ppm;
  return t;
}

void classic_backend::try_acquire(const acquire_request& request, callback<void(acquire_answer)> reply) {
  if (request.mode != mode::exclusive) {
    error why(errc::unsupported, "the layout 'classic' knows exclusive locks only");
    return node_->decline(std::move(why), [reply = std::move(reply)](outcome o) mutable {
      reply(rejection{.why = std::get<failure>(std::move(o)).why});
    });
  }
  const std::string value = encode_value(request.owner, request.who);
  const std::string_view mark = std::string_view(value).substr(0, mark_size);
  const std::string ttl = std::to_string(request.ttl.count());
  if (node_->settings().voters > 1) {
    return vote(request, value, ttl, std::move(reply));
  }
  const std::uint32_t bucket = bucket_of(request.name.str());
  const std::string bucket_text = std::to_string(bucket);
  const std::array<std::string_view, 6> arguments = {request.name.str(), fence_, value, ttl,
                                                     bucket_text,        mark};
  node_->run(scripts().grant, arguments, 2, answer_limit(request.ttl), {.owner = number_of(request.owner)},
             [self = shared_from_this(), &request, heard = notices_->heard(bucket), reply = std::move(reply)](
                 outcome o) mutable { reply(self->judge(request, heard, std::move(o))); });
}

/// One of several: the published command, and no token, since each server would count for itself. A script would cost three times as
/// much. Only who is refused asks what stands there.
void classic_backend::vote(const acquire_request& request, std::string_view value, std::string_view ttl,
                           callback<void(acquire_answer)> reply) {
  const std::array<std::string_view, 6> words = {"SET", request.name.str(), value, "NX", "PX", ttl};
  node_->command(words, answer_limit(request.ttl), {.owner = number_of(request.owner)},
                 [self = shared_from_this(), &request, reply = std::move(reply)](outcome o) mutable {
                   if (auto* f = std::get_if<failure>(&o)) {
                     return reply(as_acquire_answer(std::move(*f)));
                   }
                   if (auto why = self->fitness_->trouble()) {
                     return reply(unknown{std::move(*why)});  // whoever asked has it released again
                   }
                   const auto& r = std::get<redis::reply>(o);
                   if (r.is(kind::status) && r.text == "OK") {
                     return reply(grant{});
                   }
                   if (!r.is(kind::nil)) {
                     return reply(unknown{nonsense(self->node_->server(), "SET", r)});
                   }
                   self->say_who(request.name, request.owner, std::move(reply));
                 });
}

void classic_backend::say_who(const lock_name& name, const owner_id& asking,
                              callback<void(acquire_answer)> reply) {
  const std::string bucket = std::to_string(bucket_of(name.str()));
  const std::array<std::string_view, 3> arguments = {name.str(), fence_, bucket};
  node_->run(
      scripts().inspect, arguments, 2, longest_limit, {},
      [self = shared_from_this(), mark = owner_mark(asking), reply = std::move(reply)](outcome o) mutable {
        if (auto* f = std::get_if<failure>(&o)) {
          f->nothing_done = true;  // it was refused; only why is not known
          return reply(as_acquire_answer(std::move(*f)));
        }
        const auto& r = std::get<redis::reply>(o);
        if (!r.is(kind::list) || r.items.size() != 3 || !r.items[0].is(kind::integer) ||
            !r.items[1].is(kind::text)) {
          return reply(rejection{.why = nonsense(self->node_->server(), "inspect", r)});
        }
        if (r.items[1].text.starts_with(mark)) {
          return reply(grant{.repeated = true});  // an earlier request had arrived
        }
        rejection no;
        if (constexpr int nothing_there = -2; r.items[0].number != nothing_there) {
          no.holders.push_back(hold_in(r.items[1], r.items[0]));
        }
        reply(std::move(no));
      });
}

acquire_answer classic_backend::judge(const acquire_request& request, std::uint32_t heard, outcome&& o) {
  if (auto* f = std::get_if<failure>(&o)) {
    return as_acquire_answer(std::move(*f));
  }
  auto& r = std::get<reply>(o);
  if (auto why = fitness_->trouble()) {
    return unknown{std::move(
        *why)};  // it may be ours now; whoever asked has it released again, as far as the ACL allows
  }
  if (r.is(kind::list) && r.items.size() == 3) {
    return judge_refusal(request, heard, r);
  }
  constexpr int first_time = 1;
  constexpr int again = 2;
  if (r.is(kind::list) && r.items.size() == 2 && r.items[0].is(kind::integer) &&
      (r.items[0].number == first_time || r.items[0].number == again)) {
    if (const auto token = token_in(r.items[1])) {
      notices_->leave(request.name, request.owner, true);
      return grant{.token = *token, .ticket = 0, .repeated = r.items[0].number == again};
    }
  }
  return unknown{nonsense(node_->server(), "grant", r)};
}

acquire_answer classic_backend::judge_refusal(const acquire_request& request, std::uint32_t heard, reply& r) {
  if (!r.items[1].is(kind::text) || !r.items[2].is(kind::integer)) {
    return unknown{nonsense(node_->server(), "grant", r)};
  }
  rejection no;
  no.holders.push_back(hold_in(r.items[1], r.items[2]));
  if (request.join && no.holders.front().foreign.empty() && !node_->released(number_of(request.owner))) {
    if (auto denied = notices_->take_denial()) {
      return rejection{.why = std::move(*denied)};
    }
    const bool fresh = notices_->wait(request.name, request.owner, request.wake, heard);
    if (fresh && notices_->heard(bucket_of(request.name.str())) != heard) {
      // Something was released since we asked, this lock perhaps, and nobody knew yet that we wait for it.
      if (const auto sink = request.wake.lock()) {
        sink->hint();
      }
    }
  }
  return no;
}

void classic_backend::release(const release_request& request, callback<void(answer)> reply) {
  notices_->leave(request.name, request.owner, false);
  const std::string mark = owner_mark(request.owner);
  const std::string channel =
      request.quiet ? std::string() : notices_->channel_of(bucket_of(request.name.str()));
  const std::array<std::string_view, 3> arguments = {request.name.str(), mark, channel};
  node_->run(scripts().release, arguments, 1, longest_limit,
             {.owner = number_of(request.owner), .ends = true, .reserved = true},
             [self = shared_from_this(), reply = std::move(reply)](outcome o) mutable {
               reply(self->judge_removal("release", std::move(o)));
             });
}

answer classic_backend::judge_removal(std::string_view script, outcome&& o) const {
  if (auto* f = std::get_if<failure>(&o)) {
    // These scripts write once, at the end: whoever is denied a command has changed nothing.
    f->nothing_done = f->nothing_done || f->why.code() == errc::access_denied;
    return as_answer(std::move(*f));
  }
  const auto& r = std::get<reply>(o);
  if (!r.is(kind::integer)) {
    return unknown{nonsense(node_->server(), script, r)};
  }
  if (r.number == 1) {
    return done{};
  }
  return refused{error(errc::not_held)};
}

void classic_backend::evict(const lock_name& name, const hold_version& version,
                            callback<void(answer)> reply) {
  if (version.seq != 0) {  // values here have no versions beyond their owner
    return node_->decline(error(errc::not_held), [reply = std::move(reply)](outcome o) mutable {
      reply(as_answer(std::get<failure>(std::move(o))));
    });
  }
  remove(name, version.owner, "ours", std::move(reply));
}

void classic_backend::force(const lock_name& name, const owner_id& holder, callback<void(answer)> reply) {
  remove(name, holder, "any", std::move(reply));
}

void classic_backend::remove(const lock_name& name, const owner_id& owner, std::string_view whose,
                             callback<void(answer)> reply) {
  const std::string holder = owner.hex();
  const std::string channel = notices_->channel_of(bucket_of(name.str()));
  const std::array<std::string_view, 4> arguments = {name.str(), holder, channel, whose};
  node_->run(scripts().force, arguments, 1, longest_limit, {},
             [self = shared_from_this(), reply = std::move(reply)](outcome o) mutable {
               reply(self->judge_removal("force", std::move(o)));
             });
}

void classic_backend::inspect(const lock_name& name, callback<void(result<lock_record>)> reply) {
  const std::string bucket = std::to_string(bucket_of(name.str()));
  const std::array<std::string_view, 3> arguments = {name.str(), fence_, bucket};
  node_->run(scripts().inspect, arguments, 2, longest_limit, {},
             [self = shared_from_this(), name = name, reply = std::move(reply)](outcome o) mutable {
               if (auto* f = std::get_if<failure>(&o)) {
                 return reply(unanswered(std::move(*f)));
               }
               if (auto why = self->fitness_->misfit()) {
                 return reply(std::move(*why));
               }
               const auto& r = std::get<redis::reply>(o);
               if (!r.is(kind::list) || r.items.size() != 3 || !r.items[0].is(kind::integer) ||
                   !r.items[1].is(kind::text)) {
                 return reply(nonsense(self->node_->server(), "inspect", r));
               }
               lock_record seen;
               seen.name = std::move(name);
               if (constexpr int nothing_there = -2; r.items[0].number != nothing_there) {
                 seen.holders.push_back(hold_in(r.items[1], r.items[0]));
                 // The bucket's counter: this lock's own token, or, if a neighbour was granted since, a little more.
                 seen.last = token_in(r.items[2]).value_or(fence_token());
               }
               if (self->node_->settings().voters > 1) {
                 node_vote vote;
                 vote.node = self->node_->server();
                 if (!seen.holders.empty()) {
                   vote.holder = seen.holders.front().version;
                 }
                 seen.last = fence_token();  // each server counts for itself: that is no order
                 seen.votes.push_back(std::move(vote));
               }
               reply(std::move(seen));
             });
}

void classic_backend::await_release(const lock_name& name, const owner_id& waiter,
                                    const std::weak_ptr<hint_sink>& wake) {
  (void)notices_->wait(name, waiter, wake, notices_->heard(bucket_of(name.str())));
}

void classic_backend::stop_awaiting(const lock_name& name, const owner_id& waiter, bool served) noexcept {
  notices_->leave(name, waiter, served);
}

void classic_backend::examine(callback<void(result<std::vector<finding>>)> reply) {
  examination_order order;
  order.rights_command = node_->rights_words();
  order.among = fitness_;
  redis::examine(env_, node_, std::move(order), std::move(reply));
}

void classic_backend::close() noexcept {
  notices_->close();
  node_->close();
}

}  // namespace cremone::redis
