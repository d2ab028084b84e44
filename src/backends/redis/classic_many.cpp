// SPDX-License-Identifier: Apache-2.0
//
// The calls that are about many locks at once: renewing those that are due, and listing all.
#include "backends/redis/classic.hpp"

#include "backends/redis/value.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <mutex>
#include <utility>

namespace cremone::redis {

namespace {

using std::chrono::milliseconds;
using kind = reply::kind;

/// Locks per script: bounds how long the server is busy with one of ours.
constexpr std::size_t renewals_per_script = 100;

/// Keys per step of a SCAN; the server serves others between two steps.
constexpr std::string_view scan_step = "500";

/// A list that takes longer is given up: a server with so many keys is no place to look for locks by hand.
constexpr milliseconds list_limit{4500};

}  // namespace

/// One call of renew, in as many scripts as it takes.
struct classic_backend::renewing {
  renewing(std::size_t items, std::size_t scripts, callback<void(std::vector<answer>)> to)
      : answers(items), left(scripts), reply(std::move(to)) {}

  void take(std::size_t from, std::size_t count, outcome&& o, const classic_backend& by) {
    const auto* f = std::get_if<failure>(&o);
    const auto* r = std::get_if<redis::reply>(&o);
    const bool fits = r != nullptr && r->is(kind::text) && r->text.size() == count;
    bool last = false;
    {
      const std::lock_guard lock(mutex);
      for (std::size_t i = 0; i < count; ++i) {
        answer& a = answers[from + i];
        if (f != nullptr) {
          a = f->nothing_done ? answer(refused{f->why}) : answer(unknown{f->why});
        } else if (fits && r->text[i] == '2') {
          a = unknown{
              error(errc::access_denied,
                    by.node_->server() +
                        ": it let nobody look at the lock's key (getrange) or renew it (pexpire); an ACL "
                        "that was changed, or a server that takes no writes any more")};
        } else if (!fits || (r->text[i] != '0' && r->text[i] != '1')) {
          a = unknown{nonsense(by.node_->server(), "renew", *r)};
        } else if (r->text[i] == '1') {
          a = done{};
        } else {
          a = refused{error(errc::lost, "its key has expired or is another's")};
        }
      }
      last = --left == 0;
    }
    if (last) {
      reply(std::move(answers));
    }
  }

  std::mutex mutex;  // close() answers on another thread
  std::vector<answer> answers;
  std::size_t left;
  callback<void(std::vector<answer>)> reply;
};

void classic_backend::renew(std::span<const renewal> items, callback<void(std::vector<answer>)> reply) {
  const std::size_t scripts_needed =
      std::max<std::size_t>((items.size() + renewals_per_script - 1) / renewals_per_script, 1);
  const auto all = std::make_shared<renewing>(items.size(), scripts_needed, std::move(reply));
  for (std::size_t n = 0; n < scripts_needed; ++n) {
    const std::size_t from = n * renewals_per_script;
    const auto some = items.subspan(from, std::min(renewals_per_script, items.size() - from));
    std::string marks;
    marks.reserve(some.size() * mark_size);
    std::vector<std::string> ttls;
    std::vector<std::string_view> arguments;
    ttls.reserve(some.size());
    arguments.reserve(3 * some.size());
    milliseconds limit = longest_limit;
    for (const renewal& item : some) {
      arguments.emplace_back(item.name->str());
      append_mark(marks, item.owner);
      ttls.push_back(std::to_string(item.ttl.count()));
      limit = std::min(limit, answer_limit(item.ttl));
    }
    for (std::size_t i = 0; i < some.size(); ++i) {
      arguments.push_back(std::string_view(marks).substr(i * mark_size, mark_size));
      arguments.emplace_back(ttls[i]);
    }
    node_->run(scripts().renew, arguments, some.size(), limit, {.reserved = true, .renews = true},
               [self = shared_from_this(), all, from, count = some.size()](outcome o) {
                 if (auto why = self->fitness_->twins()) {
                   o = failure{std::move(*why)};
                 }
                 all->take(from, count, std::move(o), *self);
               });
  }
}

/// One call of list.
struct classic_backend::listing {
  std::string cursor = "0";
  std::map<std::string, lock_record> found;  // a SCAN may come across a key twice
  instant give_up{};
  callback<void(result<std::vector<lock_record>>)> reply;

  void finish() {
    std::vector<lock_record> all;
    all.reserve(found.size());
    for (auto& [name, lock] : found) {
      all.push_back(std::move(lock));
    }
    reply(std::move(all));
  }
};

void classic_backend::list(callback<void(result<std::vector<lock_record>>)> reply) {
  const auto l = std::make_shared<listing>();
  l->give_up = env_->now() + list_limit;
  l->reply = std::move(reply);
  scan(l);
}

void classic_backend::scan(const std::shared_ptr<listing>& l) {
  const std::array<std::string_view, 6> words = {"SCAN", l->cursor, "COUNT", scan_step, "TYPE", "string"};
  node_->command(words, longest_limit, [self = shared_from_this(), l](outcome o) {
    if (auto* f = std::get_if<failure>(&o)) {
      return l->reply(unanswered(std::move(*f)));
    }
    if (auto why = self->fitness_->misfit()) {
      return l->reply(std::move(*why));
    }
    auto& r = std::get<reply>(o);
    if (!r.is(kind::list) || r.items.size() != 2 || !r.items[0].is(kind::text) ||
        !r.items[1].is(kind::list)) {
      return l->reply(nonsense(self->node_->server(), "SCAN", r));
    }
    l->cursor = std::move(r.items[0].text);
    self->pick(l, r.items[1]);
  });
}

void classic_backend::pick(const std::shared_ptr<listing>& l, const reply& keys) {
  std::vector<std::string_view> arguments;
  for (const reply& key : keys.items) {
    arguments.emplace_back(key.text);
  }
  node_->run(scripts().pick, arguments, arguments.size(), longest_limit, {},
             [self = shared_from_this(), l](outcome o) {
               if (auto* f = std::get_if<failure>(&o)) {
                 return l->reply(unanswered(std::move(*f)));
               }
               const auto& r = std::get<reply>(o);
               if (!r.is(kind::list) || r.items.size() % 3 != 0) {
                 return l->reply(nonsense(self->node_->server(), "pick", r));
               }
               for (std::size_t i = 0; i < r.items.size(); i += 3) {
                 hold_record hold = hold_in(r.items[i + 1], r.items[i + 2]);
                 if (hold.foreign.empty()) {
                   lock_record& lock = l->found[r.items[i].text];
                   lock.name = lock_name(r.items[i].text);
                   lock.holders.clear();
                   lock.holders.push_back(std::move(hold));
                 }
               }
               if (l->cursor == "0") {
                 return l->finish();
               }
               if (self->env_->now() >= l->give_up) {
                 return l->reply(error(
                     errc::timed_out,
                     self->node_->server() +
                         " has more keys than can be looked through in 4.5 s; ask for one lock by name"));
               }
               self->scan(l);
             });
}

}  // namespace cremone::redis
