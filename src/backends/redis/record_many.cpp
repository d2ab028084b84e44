// SPDX-License-Identifier: Apache-2.0
//
// The calls that are about many locks at once: renewing those that are due, looking, listing, and sweeping.
#include "backends/redis/record.hpp"

#include "backends/redis/record_text.hpp"
#include "base/reading.hpp"
#include "base/text.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

namespace cremone::redis {

namespace {

using std::chrono::milliseconds;
using kind = reply::kind;

/// Locks per script: bounds how long the server is busy with one of ours.
constexpr std::size_t renewals_per_script = 100;

/// Keys per step of a SCAN; the server serves others between two steps.
constexpr std::string_view list_step = "500";
constexpr std::string_view sweep_step_size = "100";

/// A list that takes longer is given up: a server with so many keys is no place to look for locks by hand.
constexpr milliseconds list_limit{4500};

/// A prefix may have characters that SCAN takes for patterns.
std::string as_pattern(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (std::string_view("*?[]\\^-").find(c) != std::string_view::npos) {
      out += '\\';
    }
    out += c;
  }
  return out + "*";
}

}  // namespace

/// One call of renew, in as many scripts as it takes.
struct record_backend::renewing {
  renewing(std::size_t items, std::size_t scripts, callback<void(std::vector<answer>)> to)
      : answers(items), left(scripts), reply(std::move(to)) {}

  void take(std::size_t from, std::size_t count, outcome&& o, const record_backend& by) {
    bool last = false;
    {
      const std::lock_guard lock(mutex);
      for (std::size_t i = 0; i < count; ++i) {
        answers[from + i] = one(i, count, o, by);
      }
      last = --left == 0;
    }
    if (last) {
      reply(std::move(answers));
    }
  }

  [[nodiscard]] static answer one(std::size_t i, std::size_t count, const outcome& o,
                                  const record_backend& by) {
    if (const auto* f = std::get_if<failure>(&o)) {
      return f->nothing_done ? answer(refused{f->why}) : answer(unknown{f->why});
    }
    const auto& r = std::get<redis::reply>(o);
    const std::string& digits = r.is(kind::list) && r.items.size() >= 2 ? r.items[0].text : r.text;
    if (digits == "X" && r.items.size() == 3) {
      return unknown{by.other_settings(r.items[2].text)};
    }
    if (digits == "Q" && r.items.size() == 3) {
      return refused{error(errc::quarantined, by.node_->server() + " may have forgotten who holds what")};
    }
    if (digits.size() != count) {
      return unknown{by.nonsense(record_script::renew, r)};
    }
    switch (digits[i]) {
      case '1': return done{};
      case '0': return refused{error(errc::lost, "it was released, evicted or given to another")};
      case '2':
        return unknown{error(errc::misconfigured, by.node_->server() + ": what stands at the lock's key is "
                                                                       "no record of cremone any more")};
      default: return unknown{by.nonsense(record_script::renew, r)};
    }
  }

  std::mutex mutex;  // close() answers on another thread
  std::vector<answer> answers;
  std::size_t left;
  callback<void(std::vector<answer>)> reply;
};

void record_backend::renew(std::span<const renewal> items, callback<void(std::vector<answer>)> reply) {
  const std::size_t scripts_needed =
      std::max<std::size_t>((items.size() + renewals_per_script - 1) / renewals_per_script, 1);
  const auto all = std::make_shared<renewing>(items.size(), scripts_needed, std::move(reply));
  std::string self;
  {
    const std::lock_guard lock(mutex_);
    self = self_;
  }
  for (std::size_t n = 0; n < scripts_needed; ++n) {
    const std::size_t from = n * renewals_per_script;
    const auto some = items.subspan(from, std::min(renewals_per_script, items.size() - from));
    std::vector<std::string> words = {boot_};
    milliseconds limit = longest_limit;
    words.reserve(4 + 7 * some.size());
    for (const renewal& item : some) {
      words.push_back(lock_key(*item.name));
      limit = std::min(limit, answer_limit(item.ttl));
    }
    for (const renewal& item : some) {
      words.push_back(count_key(*item.name));
    }
    words.push_back(settings_);
    for (const renewal& item : some) {
      words.push_back(item.owner.hex());
      words.push_back(std::to_string(item.token.value() + item.seq));  // as the grant began
      words.push_back(std::to_string(item.ttl.count()));
      words.push_back(std::to_string(item.token.value()));
      words.emplace_back(1, letter_of(mode::exclusive));
    }
    words.push_back(self);
    words.emplace_back("-");
    const std::vector<std::string_view> arguments(words.begin(), words.end());
    node_->run(record_script::renew, arguments, 1 + 2 * some.size(), limit,
               {.reserved = true, .renews = true},
               [self = shared_from_this(), all, from, sent = env_->now(), count = some.size()](outcome o) {
                 if (const auto* r = std::get_if<redis::reply>(&o)) {
                   self->check_clock(sent, *r);
                 }
                 if (auto why = self->fitness_->twins()) {
                   o = failure{std::move(*why)};
                 }
                 all->take(from, count, std::move(o), *self);
               });
  }
}

void record_backend::look(std::vector<lock_name> names, std::string_view which,
                          callback<void(result<std::vector<lock_record>>)> reply) {
  std::vector<std::string> words = {boot_};
  for (const lock_name& name : names) {
    lock_keys keys = keys_of(name);
    words.push_back(std::move(keys.lock));
    words.push_back(std::move(keys.queue));
    words.push_back(std::move(keys.wait));
  }
  const std::size_t keys = words.size();
  words.push_back(settings_);
  words.emplace_back(which);
  words.emplace_back("-");
  const std::vector<std::string_view> arguments(words.begin(), words.end());
  node_->run(record_script::look, arguments, keys, longest_limit, {},
             [self = shared_from_this(), names = std::move(names), before = env_->wall_now(),
              reply = std::move(reply)](outcome o) mutable {
               if (auto* f = std::get_if<failure>(&o)) {
                 return reply(unanswered(std::move(*f)));
               }
               if (auto why = self->fitness_->misfit()) {
                 return reply(std::move(*why));
               }
               auto found = self->locks_in(names, std::get<redis::reply>(o));
               if (const auto used = found ? self->state_in(std::get<redis::reply>(o).items[1].text)
                                           : result<quarantine_state>(quarantine_state{});
                   !used) {
                 found = used.error();  // those who hold locks there have others in mind
               }
               if (found && self->node_->settings().voters > 1) {
                 for (lock_record& lock : *found) {
                   lock.votes.push_back(self->vote_on(lock, std::get<redis::reply>(o), before));
                 }
               }
               reply(std::move(found));
             });
}

result<std::vector<lock_record>> record_backend::locks_in(const std::vector<lock_name>& names,
                                                          const reply& r) const {
  if (!r.is(kind::list) || r.items.size() < 2 || (r.items.size() - 2) % 3 != 0) {
    return nonsense(record_script::look, r);
  }
  std::vector<lock_record> found;
  for (std::size_t i = 2; i < r.items.size(); i += 3) {
    const auto& [number, record, waiters] = std::tie(r.items[i], r.items[i + 1], r.items[i + 2]);
    const bool fits = number.is(kind::integer) && number.number >= 0 &&
                      static_cast<std::size_t>(number.number) < names.size() && record.is(kind::text) &&
                      waiters.is(kind::list) && waiters.items.size() % 2 == 0;
    if (!fits) {
      return nonsense(record_script::look, r);
    }
    const lock_name& name = names[static_cast<std::size_t>(number.number)];
    auto lock = parse_lock(name.str(), record.text, r.items[0].text);
    if (!lock && names.size() > 1) {
      continue;  // one that somebody has spoilt does not hide the others
    }
    if (!lock) {
      return error(errc::misconfigured, node_->server() + ": what stands at " + printable(lock_key(name)) +
                                            " is no record of cremone; delete it if nobody needs it");
    }
    for (hold_record& hold : lock->holders) {
      hold.version.life = node_->life_number();
    }
    for (std::size_t w = 0; w < waiters.items.size(); w += 2) {
      if (auto one = parse_waiter(waiters.items[w].text, waiters.items[w + 1].text)) {
        lock->waiters.push_back(std::move(*one));
      }
    }
    std::sort(lock->waiters.begin(), lock->waiters.end(),
              [](const waiter_record& a, const waiter_record& b) { return a.ticket < b.ticket; });
    found.push_back(std::move(*lock));
  }
  return found;
}

/// What this server says, as one of several.
node_vote record_backend::vote_on(const lock_record& lock, const reply& r, wall_time before) const {
  node_vote vote;
  vote.node = node_->server();
  vote.quarantined = !r.items[1].text.starts_with("A " + node_->life() + " ");
  if (!lock.holders.empty()) {
    vote.holder = lock.holders.front().version;
    vote.token = lock.holders.front().token;
  }
  if (const auto theirs = whole_number<std::int64_t>(r.items[0].text)) {  // read about half way
    const auto ours = before + (env_->wall_now() - before) / 2;
    vote.clock_ahead =
        std::chrono::round<milliseconds>(std::chrono::microseconds(*theirs) - ours.time_since_epoch());
  }
  return vote;
}

void record_backend::inspect(const lock_name& name, callback<void(result<lock_record>)> reply) {
  look({name}, "all",
       [self = shared_from_this(), reply = std::move(reply)](result<std::vector<lock_record>> r) mutable {
         if (!r) {
           return reply(r.error());
         }
         if (r->size() != 1) {
           return reply(error(errc::protocol_error,
                              "one lock was asked for, and " + std::to_string(r->size()) + " came"));
         }
         const lock_name inspected = r->front().name;
         self->foreign_->look(
             inspected, longest_limit,
             [lock = std::move(r->front()), reply = std::move(reply)](foreign_look seen) mutable {
               lock.foreign_lock = std::move(seen.found);
               reply(std::move(lock));
             });
       });
}

/// One step of a SCAN, and what is used of the locks that it finds.
void record_backend::scan(const std::string& cursor, std::string_view count,
                          callback<void(result<std::pair<std::string, std::vector<lock_record>>>)> reply) {
  const std::string pattern = as_pattern(locks_);
  const std::array<std::string_view, 8> words = {"SCAN",  cursor, "MATCH", pattern,
                                                 "COUNT", count,  "TYPE",  "string"};
  node_->command(words, longest_limit,
                 [self = shared_from_this(), reply = std::move(reply)](outcome o) mutable {
                   if (auto* f = std::get_if<failure>(&o)) {
                     return reply(unanswered(std::move(*f)));
                   }
                   auto& r = std::get<redis::reply>(o);
                   if (!r.is(kind::list) || r.items.size() != 2 || !r.items[0].is(kind::text) ||
                       !r.items[1].is(kind::list)) {
                     return reply(redis::nonsense(self->node_->server(), "SCAN", r));
                   }
                   std::vector<lock_name> names;
                   for (const redis::reply& key : r.items[1].items) {
                     if (key.text.starts_with(self->locks_)) {
                       names.emplace_back(key.text.substr(self->locks_.size()));
                     }
                   }
                   std::string next = std::move(r.items[0].text);
                   if (names.empty()) {
                     return reply(std::pair(std::move(next), std::vector<lock_record>()));
                   }
                   self->look(std::move(names), "used",
                              [next = std::move(next),
                               reply = std::move(reply)](result<std::vector<lock_record>> found) mutable {
                                if (!found) {
                                  return reply(found.error());
                                }
                                reply(std::pair(std::move(next), std::move(*found)));
                              });
                 });
}

/// One call of list.
struct record_backend::listing {
  std::string cursor = "0";
  std::map<std::string, lock_record> found;  // a SCAN may come across a key twice
  instant give_up{};
  callback<void(result<std::vector<lock_record>>)> reply;
};

void record_backend::list(callback<void(result<std::vector<lock_record>>)> reply) {
  const auto l = std::make_shared<listing>();
  l->give_up = env_->now() + list_limit;
  l->reply = std::move(reply);
  // Where there is no lock nobody would see that others are in use there.
  quarantine([self = shared_from_this(), l](const result<std::vector<quarantine_state>>& state) {
    state ? self->scan_on(l) : l->reply(state.error());
  });
}

void record_backend::scan_on(const std::shared_ptr<listing>& l) {
  scan(l->cursor, list_step,
       [self = shared_from_this(), l](result<std::pair<std::string, std::vector<lock_record>>> r) {
         if (!r) {
           return l->reply(r.error());
         }
         l->cursor = std::move(r->first);
         for (lock_record& lock : r->second) {
           l->found.insert_or_assign(lock.name.str(), std::move(lock));
         }
         if (l->cursor == "0") {
           std::vector<lock_record> all;
           for (auto& [name, lock] : l->found) {
             all.push_back(std::move(lock));
           }
           return l->reply(std::move(all));
         }
         if (self->env_->now() >= l->give_up) {
           return l->reply(
               error(errc::timed_out,
                     self->node_->server() +
                         " has more keys than can be looked through in 4.5 s; ask for one lock by name"));
         }
         self->scan_on(l);
       });
}

void record_backend::sweep(std::uint64_t cursor, callback<void(result<sweep_step>)> reply) {
  scan(std::to_string(cursor), sweep_step_size,
       [reply = std::move(reply)](result<std::pair<std::string, std::vector<lock_record>>> r) mutable {
         if (!r) {
           return reply(r.error());
         }
         std::erase_if(r->second, [](const lock_record& lock) { return lock.holders.empty(); });
         reply(sweep_step{std::move(r->second), whole_number<std::uint64_t>(r->first).value_or(0)});
       });
}

}  // namespace cremone::redis
