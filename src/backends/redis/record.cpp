// SPDX-License-Identifier: Apache-2.0
#include "backends/redis/record.hpp"

#include "backends/redis/digest.hpp"
#include "backends/redis/record_text.hpp"
#include "base/reading.hpp"
#include "base/text.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <utility>

namespace cremone::redis {

namespace {

using kind = reply::kind;

/// The first of an answer: a number, or the letter of a special one.
bool begins_with(const reply& r, std::string_view letter) {
  return r.is(kind::list) && r.items.size() >= 2 && r.items[0].is(kind::text) && r.items[0].text == letter;
}

bool begins_with(const reply& r, std::int64_t number, std::size_t size) {
  return r.is(kind::list) && r.items.size() == size && r.items[0].is(kind::integer) &&
         r.items[0].number == number;
}

std::string seconds(std::chrono::microseconds t) {
  char text[32];
  const int size = std::snprintf(text, sizeof text, "%.3f s", std::chrono::duration<double>(t).count());
  return {text, static_cast<std::size_t>(size)};
}

}  // namespace

record_backend::record_backend(std::shared_ptr<env> e, std::shared_ptr<transport> net,
                               const node_settings& to, std::shared_ptr<const event_hub> events)
    : env_(e),
      node_(std::make_shared<node>(e, net, to)),
      wakes_(std::make_shared<wakes>(e, net, to, node_->place())),
      notices_(std::make_shared<notices>(e, net, to, node_->place())),
      events_(std::move(events)),
      fitness_(std::make_shared<fitness>(node_, events_)),
      boot_(to.prefix + ":boot"),
      locks_(to.prefix + ":lock:"),
      settings_("n" + std::to_string(to.voters) + ",max_ttl=" + std::to_string(to.max_ttl.count()) +
                (to.ring.empty() ? "" : "," + to.ring) + (to.strict ? ",strict" : "")),
      remembered_(std::to_string(2 * to.max_ttl.count())) {}

void record_backend::start(const std::shared_ptr<roster>& all, std::size_t number) {
  if (all) {
    fitness_->join(all, number);
  }
  wakes_->on_listening([self = weak_from_this()](const lock_name& name, const std::vector<owner_id>& owners) {
    if (const auto here = self.lock()) {
      here->tell_that_they_listen(name, owners);
    }
  });
  fitness_->start();
  node_->start();
}

traits record_backend::describe() const {
  const node_settings& to = node_->settings();
  traits t;
  t.store = to.store;
  t.identity = "redis " + to.node + "/" + std::to_string(to.db) + " " + to.prefix;
  t.fifo = to.voters == 1;
  t.voters = to.voters;
  t.hints = true;
  t.observed_takeover = true;
  t.quarantines = true;
  t.sweeps = true;
  t.max_ttl = to.max_ttl;
  t.waiter_refresh =
      std::chrono::seconds(10);  // a third of the lease in common.lua; the dead are passed over sooner
  return t;
}

std::string record_backend::count_key(const lock_name& name) const {
  return node_->settings().prefix + ":count:" + std::to_string(bucket_of(name.str()));
}

record_backend::lock_keys record_backend::keys_of(const lock_name& name) const {
  const std::string& prefix = node_->settings().prefix;
  return {count_key(name), lock_key(name), prefix + ":queue:" + name.str(), prefix + ":wait:" + name.str()};
}

error record_backend::nonsense(record_script which, const reply& r) const {
  return redis::nonsense(node_->server(), name_of(which), r);
}

void record_backend::check_clock(instant sent, const reply& r) {
  const auto theirs = r.is(kind::list) && r.items.size() >= 2 ? time_in(r.items[1]) : std::nullopt;
  if (!theirs) {
    return;
  }
  std::optional<std::chrono::microseconds> step;
  {
    const std::lock_guard lock(mutex_);
    step = clock_.sample(sent, env_->now(), theirs->time_since_epoch());
  }
  if (step) {
    events_->tell(event_kind::clock_step, node_->server() + ": its clock was set " +
                                              (step->count() < 0 ? "back" : "forward") + " by about " +
                                              seconds(std::chrono::abs(*step)) + "; no lock depends on it");
  }
}

void record_backend::try_acquire(const acquire_request& request, callback<void(acquire_answer)> reply) {
  if (request.mode != mode::exclusive) {
    error why(errc::unsupported, "redis:// knows exclusive locks only");
    return node_->decline(std::move(why), [reply = std::move(reply)](outcome o) mutable {
      reply(as_acquire_answer(std::get<failure>(std::move(o))));
    });
  }
  const lock_keys keys = keys_of(request.name);
  const std::string owner = request.owner.hex();
  const std::string ttl = std::to_string(request.ttl.count());
  const char mode_letter = letter_of(request.mode);
  const std::string proposal =
      std::to_string(request.proposal == fence_token{} ? env_->wall_now().time_since_epoch().count()
                                                       : static_cast<std::int64_t>(request.proposal.value()));
  const std::string who = encode_who(request.who);
  const std::string_view channel = request.join ? wakes_->channel() : "";
  std::vector<std::string_view> arguments = {boot_, keys.count, keys.lock};
  if (queues()) {
    arguments.insert(arguments.end(), {keys.queue, keys.wait});
  }
  const std::size_t key_count = arguments.size();
  arguments.insert(arguments.end(),
                   {settings_, owner, ttl, std::string_view(&mode_letter, 1), proposal, who});
  if (queues()) {
    arguments.insert(arguments.end(), {request.join ? "1" : "0", channel});
  }
  arguments.emplace_back("-");
  node_->run(
      record_script::grant, arguments, key_count, answer_limit(request.ttl),
      {.owner = number_of(request.owner)},
      [self = shared_from_this(), by = asked{request, env_->now(), !channel.starts_with('-')},
       reply = std::move(reply)](outcome o) mutable { self->judge(by, std::move(o), std::move(reply)); });
}

void record_backend::judge(const asked& by, outcome&& o, callback<void(acquire_answer)> reply) {
  const acquire_request& request = by.request;
  if (auto* f = std::get_if<failure>(&o)) {
    if (auto why = f->why == errc::unreachable ? std::nullopt : fitness_->misfit()) {
      f->why = std::move(*why);  // such a server answers with all kinds of errors
    }
    return reply(as_acquire_answer(std::move(*f)));
  }
  auto& r = std::get<redis::reply>(o);
  check_clock(by.sent, r);
  {
    const std::lock_guard lock(mutex_);
    if (self_.empty()) {
      owner_data me = request.who;
      me.label = "kept through a restart of the server";
      me.since = {};
      self_ = encode_who(me);
    }
  }
  if (auto why = fitness_->trouble()) {
    return reply(unknown{std::move(*why)});  // it may be ours now; whoever asked has it released again
  }
  if (begins_with(r, "Q") && r.items.size() == 3 && r.items[2].is(kind::text)) {
    return refuse_for_now(r.items[2].text, time_in(r.items[1]), std::move(reply));
  }
  if (begins_with(r, 0, 4)) {
    return reply(judge_refusal(by, r));
  }
  const bool again = begins_with(r, 2, 4);
  if (again || begins_with(r, 1, 4)) {
    const auto token = token_in(r.items[2]);
    const auto ticket = whole_number<std::uint64_t>(r.items[3].text);
    if (token && ticket) {
      wakes_->leave(request.owner);
      return reply(grant{.token = *token, .ticket = *ticket, .repeated = again});
    }
  }
  if (begins_with(r, "D")) {
    wakes_->leave(request.owner);
    return reply(rejection{.why = error(errc::not_held, "this owner id was released before")});
  }
  if (begins_with(r, "X") && r.items.size() == 3) {
    return reply(rejection{.why = other_settings(r.items[2].text)});
  }
  reply(unknown{nonsense(record_script::grant, r)});
}

acquire_answer record_backend::judge_refusal(const asked& by, reply& r) {
  const acquire_request& request = by.request;
  if (!r.items[2].is(kind::integer) || !r.items[3].is(kind::text)) {
    return unknown{nonsense(record_script::grant, r)};
  }
  rejection no;
  if (!r.items[3].text.empty()) {
    auto hold = parse_hold(r.items[3].text);
    if (!hold) {
      return unknown{nonsense(record_script::grant, r)};
    }
    hold->version.life = node_->life_number();
    no.holders.push_back(std::move(*hold));
  }
  if (const std::int64_t place = r.items[2].number; place >= 0 && request.join) {
    no.place = static_cast<std::size_t>(place);
    if (auto denied = wakes_->take_denial()) {
      return unknown{std::move(*denied)};  // it stands in the queue, which it is now to leave
    }
    if (!node_->released(number_of(request.owner))) {
      wakes_->wait(request.name, request.owner, request.wake, by.listened);
      if (node_->released(number_of(request.owner))) {
        wakes_->leave(request.owner);  // while it was put there
      }
    }
  }
  return no;
}

/// Whatever comes of it: who is not told of its turn asks by its timer.
void record_backend::tell_that_they_listen(const lock_name& name, const std::vector<owner_id>& owners) {
  constexpr std::size_t most_at_once = 500;
  const lock_keys keys = keys_of(name);
  for (std::size_t from = 0; from < owners.size(); from += most_at_once) {
    std::vector<std::string> words = {boot_,     keys.lock, keys.queue,
                                      keys.wait, settings_, std::string(wakes_->channel())};
    for (std::size_t i = from; i < std::min(from + most_at_once, owners.size()); ++i) {
      words.push_back(owners[i].hex());
    }
    words.emplace_back("-");
    const std::vector<std::string_view> arguments(words.begin(), words.end());
    node_->run(record_script::listen, arguments, 4, longest_limit, {}, [](const outcome&) {});
  }
}

void record_backend::release(const release_request& request, callback<void(answer)> reply) {
  wakes_->leave(request.owner);
  const lock_keys keys = keys_of(request.name);
  const std::string owner = request.owner.hex();
  const std::string channel =
      request.quiet ? std::string() : notices_->channel_of(bucket_of(request.name.str()));
  std::vector<std::string_view> arguments = {boot_, keys.lock};
  if (queues()) {
    arguments.insert(arguments.end(), {keys.queue, keys.wait});
  }
  const std::size_t key_count = arguments.size();
  arguments.insert(arguments.end(), {settings_, owner, remembered_, channel, request.name.str(), "-"});
  node_->run(record_script::release, arguments, key_count, longest_limit,
             {.owner = number_of(request.owner), .ends = true, .reserved = true},
             [self = shared_from_this(), sent = env_->now(), reply = std::move(reply)](outcome o) mutable {
               reply(self->judge_removal(record_script::release, sent, std::move(o)));
             });
}

answer record_backend::judge_removal(record_script which, instant sent, outcome&& o) {
  if (auto* f = std::get_if<failure>(&o)) {
    return as_answer(std::move(*f));
  }
  const auto& r = std::get<reply>(o);
  check_clock(sent, r);
  if (begins_with(r, 1, 2)) {
    return done{};
  }
  if (begins_with(r, 0, 2)) {
    return refused{error(errc::not_held)};
  }
  if (begins_with(r, "Q")) {
    return refused{error(errc::quarantined, node_->server() + " may have forgotten who holds what")};
  }
  if (begins_with(r, "X") && r.items.size() == 3) {
    return refused{other_settings(r.items[2].text)};
  }
  if (begins_with(r, "C")) {
    return refused{
        error(errc::quarantined, node_->server() + " stays in quarantine: " +
                                     kept_by_clocks(time_in(r.items[1])).value_or("the clocks differ"))};
  }
  return unknown{nonsense(which, r)};
}

void record_backend::commit(const lock_name& name, const owner_id& owner, fence_token token,
                            callback<void(acquire_answer)> reply) {
  const lock_keys keys = keys_of(name);
  const std::string whose = owner.hex();
  const std::string number = std::to_string(token.value());
  const std::array<std::string_view, 7> arguments = {boot_, keys.count, keys.lock, settings_,
                                                     whose, number,     "-"};
  node_->run(record_script::commit, arguments, 3, longest_limit,
             {.owner = number_of(owner), .reserved = true},
             [self = shared_from_this(), sent = env_->now(), reply = std::move(reply)](outcome o) mutable {
               if (auto why = self->fitness_->twins()) {
                 return reply(unknown{std::move(*why)});
               }
               if (auto* r = std::get_if<redis::reply>(&o); r != nullptr && begins_with(*r, 1, 3)) {
                 self->check_clock(sent, *r);
                 if (const auto given = token_in(r->items[2])) {
                   return reply(grant{.token = *given});
                 }
               }
               answer a = self->judge_removal(record_script::commit, sent, std::move(o));
               if (auto* no = std::get_if<refused>(&a)) {
                 return reply(rejection{.why = std::move(no->why)});
               }
               auto* in_doubt = std::get_if<unknown>(&a);
               reply(in_doubt != nullptr ? std::move(*in_doubt) : unknown{error(errc::protocol_error)});
             });
}

void record_backend::await_release(const lock_name& name, const owner_id& waiter,
                                   const std::weak_ptr<hint_sink>& wake) {
  (void)notices_->wait(name, waiter, wake, notices_->heard(bucket_of(name.str())));
}

void record_backend::stop_awaiting(const lock_name& name, const owner_id& waiter, bool served) noexcept {
  notices_->leave(name, waiter, served);
}

void record_backend::evict(const lock_name& name, const hold_version& version, callback<void(answer)> reply) {
  std::string marker;
  {
    const std::lock_guard lock(mutex_);
    if (!quarantine_.marker.empty() && version == hold_version{quarantine_.life, 0}) {
      marker = quarantine_.marker;
    }
  }
  if (!marker.empty() && node_->settings().voters == 1) {  // of several, the others know the floor
    return admit(marker, fence_token(), true, std::move(reply));
  }
  const std::uint64_t life = node_->life_number();
  if (version.life != 0 && life == 0) {  // not heard of yet: whoever asks has seen it through another client
    return inspect(name, [self = shared_from_this(), name, version,
                          reply = std::move(reply)](const result<lock_record>& seen) mutable {
      if (seen && self->node_->life_number() != 0) {
        return self->evict(name, version, std::move(reply));
      }
      reply(refused{seen ? error(errc::unreachable) : seen.error()});
    });
  }
  if (version.life != 0 && version.life != life) {  // seen in another life, or on another server that votes
    return node_->decline(error(errc::not_held), [reply = std::move(reply)](outcome o) mutable {
      reply(as_answer(std::get<failure>(std::move(o))));
    });
  }
  remove(name, version, "silence", std::move(reply));
}

void record_backend::force(const lock_name& name, const owner_id& holder, callback<void(answer)> reply) {
  remove(name, {holder, 0}, "force", std::move(reply));
}

void record_backend::remove(const lock_name& name, const hold_version& version, std::string_view by,
                            callback<void(answer)> reply) {
  const lock_keys keys = keys_of(name);
  const std::string holder = version.owner.hex();
  const std::string seq = std::to_string(version.seq);
  const std::string channel = notices_->channel_of(bucket_of(name.str()));
  const std::array<std::string_view, 13> arguments = {
      boot_, keys.count,  keys.lock, keys.queue, keys.wait,  settings_, holder,
      seq,   remembered_, by,        channel,    name.str(), "-"};
  node_->run(record_script::remove, arguments, 5, longest_limit, {},
             [self = shared_from_this(), sent = env_->now(), reply = std::move(reply)](outcome o) mutable {
               reply(self->judge_removal(record_script::remove, sent, std::move(o)));
             });
}

void record_backend::close() noexcept {
  notices_->close();
  wakes_->close();
  node_->close();
}

}  // namespace cremone::redis
