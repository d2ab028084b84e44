// SPDX-License-Identifier: Apache-2.0
//
// The public client over the engine: checks the process first, then waits where the caller asked to.
#include <cremone/client.hpp>

#include "base/amounts.hpp"
#include "base/text.hpp"
#include "core/validate.hpp"
#include "engine/acquire_op.hpp"
#include "engine/blocking.hpp"
#include "engine/describe.hpp"
#include "engine/engine.hpp"

#include <algorithm>

namespace cremone {

namespace {

error never_opened() { return {errc::unsupported, "this client was moved from or never opened"}; }

/// Why nothing can be asked of this engine, if so. Before any mutex.
std::optional<error> unusable(const std::shared_ptr<detail::engine>& e) {
  if (!e) {
    return never_opened();
  }
  if (!e->at_home()) {
    return e->not_at_home();
  }
  return std::nullopt;
}

/// The same for what acquires nothing; the engine answers those that do.
std::optional<error> unreadable(const std::shared_ptr<detail::engine>& e) {
  auto no = unusable(e);
  if (!no && e->closed()) {
    no = detail::client_closed();
  }
  return no;
}

template <class T, class Ask>
result<T> ask(detail::engine& e, Ask&& question, std::chrono::milliseconds limit = client::answer_limit) {
  const auto box = std::make_shared<detail::mailbox<result<T>>>();
  std::forward<Ask>(question)([box](result<T> r) { box->put(std::move(r)); });
  if (auto got = box->wait_for(limit)) {
    return std::move(*got);
  }
  return error(errc::unreachable,
               e.store_traits().store + " did not answer within " + std::to_string(limit.count()) + " ms");
}

bool about_a_quarantine(const finding& f) {
  return f.subject == "quarantine" && f.verdict == verdict::warning;
}

/// A backend does not know since when this machine has watched a quarantine. Both come in the order of the servers.
void tell_time_left(std::vector<finding>& found, const std::vector<quarantine_state>& servers) {
  auto state = servers.begin();
  for (finding& f : found) {
    if (!about_a_quarantine(f)) {
      continue;
    }
    state = std::find_if(state, servers.end(), [](const quarantine_state& s) { return s.quarantined; });
    if (state == servers.end()) {
      return;  // it has ended meanwhile
    }
    if (state->left) {
      f.value = shown_length(*state->left) + " left";
    } else if (state->until_ordered) {
      f.verdict = verdict::bad;
      f.value = "does not end by itself";
      f.reason = "no lock is granted: " + printable(state->why) +
                 ". To end it now, once no lock from before is held: `cremone quarantine --end`";
    }
    ++state;
  }
}

result<void> plain(const answer& a) {
  if (const auto* no = std::get_if<refused>(&a)) {
    return no->why;
  }
  if (const auto* nobody_knows = std::get_if<unknown>(&a)) {
    return nobody_knows->why;
  }
  return {};
}

}  // namespace

client& client::operator=(client&& other) noexcept {
  if (this != &other) {
    client old(std::move(*this));
    engine_ = std::move(other.engine_);
  }
  return *this;
}

client::~client() {
  if (!engine_) {
    return;
  }
  if (!engine_->at_home()) {
    leak_in_child(std::move(engine_));
    return;
  }
  engine_->close();
}

result<lease> client::acquire(const lock_name& name, const acquire_options& options,
                              std::stop_token stop) const {
  if (auto no = unusable(engine_)) {
    return *no;
  }
  if (stop.stop_requested()) {
    return error(errc::cancelled, "stop was requested before the call");
  }
  const auto box = std::make_shared<detail::mailbox<result<lease>>>();
  const auto op = engine_->acquire(name, options, [box](result<lease> r) { box->put(std::move(r)); });
  if (!op || !stop.stop_possible()) {
    return box->wait();
  }
  const std::stop_callback on_stop(stop, [&op] { op->cancel(error(errc::cancelled, "stop was requested")); });
  return box->wait();
}

result<lock_record> client::inspect(const lock_name& name, std::chrono::milliseconds limit) const {
  if (auto no = unreadable(engine_)) {
    return *no;
  }
  if (auto fine = core::validate_name(name); !fine) {
    return fine.error();
  }
  const auto asked = std::make_shared<const lock_name>(name);  // must live until the answer
  return ask<lock_record>(
      *engine_,
      [&](auto reply) {
        engine_->store().inspect(*asked, [asked, reply = std::move(reply)](result<lock_record> r) mutable {
          reply(std::move(r));
        });
      },
      limit);
}

result<std::vector<lock_record>> client::list() const {
  if (auto no = unreadable(engine_)) {
    return *no;
  }
  return ask<std::vector<lock_record>>(*engine_,
                                       [&](auto reply) { engine_->store().list(std::move(reply)); });
}

result<std::size_t> client::force_release(const lock_name& name) const {
  const auto seen = inspect(name);
  if (!seen) {
    return seen.error();
  }
  std::vector<hold_record> victims = seen->holders;
  victims.insert(victims.end(), seen->may_hold.begin(), seen->may_hold.end());
  std::size_t removed = 0;
  for (const hold_record& victim : victims) {
    const auto asked = std::make_shared<const std::pair<lock_name, owner_id>>(name, victim.version.owner);
    const auto outcome = ask<void>(*engine_, [&](auto reply) {
      engine_->store().force(asked->first, asked->second,
                             [asked, reply = std::move(reply)](const answer& a) mutable { reply(plain(a)); });
    });
    if (outcome) {
      ++removed;
    } else if (outcome.error().code() != errc::not_held) {
      return outcome.error();
    }
  }
  if (removed == 0) {
    const auto now = inspect(name);
    return now && (!now->holders.empty() || !now->may_hold.empty())
               ? error(errc::busy,
                       "lock '" + name.str() + "' at " + store() +
                           " has passed to another holder meanwhile, and nothing was done; look who that is "
                           "(cremone who " +
                           name.str() + "), and order again if it must go too")
               : error(errc::not_held, "nobody holds lock '" + name.str() + "' at " + store());
  }
  return removed;
}

result<std::vector<finding>> client::examine() const {
  if (auto no = unreadable(engine_)) {
    return *no;
  }
  auto found =
      ask<std::vector<finding>>(*engine_, [&](auto reply) { engine_->store().examine(std::move(reply)); });
  if (found && std::any_of(found->begin(), found->end(), about_a_quarantine)) {
    if (const auto servers = quarantine()) {
      tell_time_left(*found, *servers);
    }
  }
  return found;
}

result<std::vector<quarantine_state>> client::quarantine(std::chrono::milliseconds limit) const {
  if (auto no = unreadable(engine_)) {
    return *no;
  }
  auto all = ask<std::vector<quarantine_state>>(
      *engine_, [&](auto reply) { engine_->store().quarantine(std::move(reply)); }, limit);
  if (all) {
    for (quarantine_state& one : *all) {
      engine_->watch_quarantine(one);
      if (one.until_ordered) {
        one.left.reset();
      }
    }
  }
  return all;
}

result<void> client::end_quarantine() const {
  if (auto no = unreadable(engine_)) {
    return *no;
  }
  return ask<void>(*engine_, [&](auto reply) {
    engine_->store().end_quarantine([reply = std::move(reply)](const answer& a) mutable { reply(plain(a)); });
  });
}

vote_statistics client::statistics() const {
  return unusable(engine_) ? vote_statistics{} : engine_->store().statistics();
}

result<int> client::lifeline() const {
  if (auto no = unreadable(engine_)) {
    return *no;
  }
  return engine_->store().lifeline();
}

std::chrono::milliseconds client::max_ttl() const {
  return engine_ ? engine_->store_traits().max_ttl : std::chrono::milliseconds(0);
}

std::chrono::milliseconds client::default_ttl() const { return core::ttl_of({}, max_ttl()); }

std::chrono::milliseconds client::survivable_outage(const acquire_options& options,
                                                    std::chrono::milliseconds spare) const {
  if (!engine_) {
    return std::chrono::milliseconds(0);
  }
  const core::lease_timing timing{.ttl = core::ttl_of(options, max_ttl()),
                                  .drift_ppm = engine_->store_traits().drift_ppm,
                                  .renewals_per_ttl = options.renewals_per_ttl};
  return std::chrono::floor<std::chrono::milliseconds>(core::survivable_outage(timing, spare));
}

std::string client::store() const { return engine_ ? engine_->store_traits().store : std::string(); }

void client::close(std::chrono::milliseconds grace) noexcept {
  if (engine_ && engine_->at_home()) {
    engine_->close(grace);
  }
}

}  // namespace cremone
