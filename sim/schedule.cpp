// SPDX-License-Identifier: Apache-2.0
#include "sim/schedule.hpp"

#include "backends/redis/backend.hpp"
#include "base/events.hpp"
#include "base/url.hpp"
#include "engine/quorum/quorum.hpp"
#include "sim/client.hpp"
#include "sim/history.hpp"
#include "sim/memory_node.hpp"
#include "sim/nemesis.hpp"
#include "sim/network.hpp"
#include "sim/person.hpp"
#include "sim/plan.hpp"
#include "sim/redis/lua.hpp"
#include "sim/redis_node.hpp"
#include "sim/ring_judge.hpp"
#include "sim/trace.hpp"
#include "sim/world.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <utility>

namespace cremone::sim {

std::string_view name_of(store_kind k) noexcept {
  constexpr std::array<std::string_view, 3> names = {"record", "classic", "memory"};
  return names[static_cast<std::size_t>(k)];
}

std::string_view name_of(violation_kind k) noexcept {
  constexpr std::array<std::string_view, violation_kind_count> names = {"exclusion", "token",    "fence",
                                                                        "order",     "progress", "structure"};
  return names[static_cast<std::size_t>(k)];
}

bool schedule_result::failed() const {
  return std::any_of(unexpected.begin(), unexpected.end(), [](std::uint64_t n) { return n > 0; });
}

namespace {

constexpr std::uint64_t most_steps =
    20'000'000;  // more than any schedule has: something goes round in circles

wall_time first_wall() { return wall_time(std::chrono::seconds(1'800'000'000)); }

/// Everybody and everything of one schedule.
class stage {
 public:
  stage(lua& scripts, plan p, const trace_sink& to, schedule_result& into)
      : plan_(std::move(p)),
        luck_(plan_.seed ^ 0x5eed),
        trace_(to),
        facts_(world_, trace_, plan_.store, into),
        ring_(plan_, world_, facts_),
        net_(std::make_shared<network>(world_, plan_, luck_.fork(), [this](fault f) { facts_.struck(f); })),
        around_{world_, plan_, *net_, facts_, trace_, opener()} {
    if (plan_.store == store_kind::record) {
      facts_.tell_tokens_to(
          [this](const std::string& lock, std::uint64_t token) { ring_.acquired(lock, token); });
    }
    for (int i = 1; i <= plan_.nodes; ++i) {
      add_node(scripts, i);
    }
    for (int i = 0; i < plan_.clients; ++i) {
      const machine_clock time = client_clock();  // apart: compilers differ in which argument they make first
      clients_.push_back(
          std::make_unique<client_machine>(around_, "p" + std::to_string(i + 1), time, luck_.fork()));
    }
    nemesis_ = std::make_unique<nemesis>(around_, clients_, nodes_, luck_.fork());
  }

  void play() {
    if (plan_.strict) {
      let_begin();
    }
    for (const auto& c : clients_) {
      c->boot();
    }
    nemesis_->start();
    run_until(plan_.trouble, [](const client_machine& c) { return c.idle(); });
    trace_.say(world_.now(), "", "-- all is mended; everybody must get a lock once more --");
    nemesis_->heal();
    const moment bound = world_.now() + enough_time();
    if (!run_until(bound, [](const client_machine& c) { return c.satisfied(); }) && !waits_for_a_person()) {
      for (const auto& c : clients_) {
        if (!c->satisfied()) {
          facts_.violated(violation_kind::progress, c->name() + " got no lock in all that time");
        }
      }
    }
    facts_.finish();
  }

 private:
  void let_begin() {
    person somebody(around_, machine_clock(instant(std::chrono::hours(1)), first_wall(), 0), luck_.fork());
    somebody.end_quarantines();
    while (!somebody.done() && world_.step()) {
    }
  }

  /// For everybody to get a lock: a quarantine may be on, and another come with the last loss; and each may find one before it that is
  /// silent, and be the second in the queue.
  [[nodiscard]] moment enough_time() const {
    const moment quarantine = moment(plan_.max_ttl) + std::chrono::seconds(2);
    const moment takeover = moment(plan_.ttl) + std::chrono::seconds(3);
    const moment all_connected = std::chrono::seconds(10);
    // Several that vote are let in one after the other, and those who ask divide their votes now and then.
    const int turns =
        plan_.nodes > 1 ? 2 * plan_.clients * plan_.workers + 3 : plan_.clients * plan_.workers + 1;
    return (plan_.nodes > 1 ? 4 : 2) * quarantine + turns * takeover + all_connected;
  }

  /// How far a clock's rate is off: each within the bound that the library counts with.
  std::int64_t draw_rate() {
    constexpr std::int64_t bound = 999;
    constexpr std::int64_t without_bound = 300'000;
    if (plan_.mix.has(fault::racing)) {
      facts_.struck(fault::racing);
      facts_.rates_without_bound();
      return luck_.between(-without_bound, without_bound);
    }
    if (plan_.mix.has(fault::drift)) {
      facts_.struck(fault::drift);
      return luck_.one_in(4) ? luck_.between(-bound, bound) : (luck_.one_in(2) ? bound : -bound);
    }
    return 0;
  }

  machine_clock client_clock() {
    const instant origin(luck_.between(std::chrono::nanoseconds(std::chrono::hours(1)),
                                       std::chrono::nanoseconds(std::chrono::hours(100))));
    const auto off = luck_.between(std::chrono::microseconds(-200'000), std::chrono::microseconds(200'000));
    return {origin, first_wall() + off, draw_rate()};
  }

  void add_node(lua& scripts, int number) {
    const std::string name = "n" + std::to_string(number);
    if (plan_.mix.has(fault::freeze)) {
      facts_.rates_without_bound();
    }
    const machine_clock time(instant(std::chrono::hours(1)), first_wall(), draw_rate());
    if (plan_.store == store_kind::memory) {
      auto made = std::make_unique<memory_node>(world_, name, *net_, time, luck_.fork(), trace_);
      memory_ = made.get();
      nodes_.push_back(std::move(made));
    } else {
      nodes_.push_back(std::make_unique<redis_node>(world_, name, number, *net_, plan_, scripts, time,
                                                    luck_.fork(), facts_, ring_, trace_));
    }
    net_->add(*nodes_.back());
  }

  store_opener opener() {
    if (plan_.store == store_kind::memory) {
      return [this](const std::shared_ptr<process>& on, const std::shared_ptr<transport>& by,
                    const std::shared_ptr<const event_hub>&) { return open_memory_link(on, by, *memory_); };
    }
    return [this](const std::shared_ptr<process>& on, const std::shared_ptr<transport>& by,
                  const std::shared_ptr<const event_hub>& events) -> std::shared_ptr<backend> {
      const auto where = parse_url(store_url()).value();
      if (plan_.nodes == 1) {
        auto node = redis::open_backend(where, on, by, events).value();
        return std::make_shared<detail::quorum>(on, std::vector{std::move(node)});
      }
      auto ring = redis::open_ring(where, on, by, events).value();
      return std::make_shared<detail::quorum>(
          on, std::move(ring.nodes),
          detail::quorum_options{ring.store, ring.identity, std::move(ring.names), ring.strict});
    };
  }

  [[nodiscard]] std::string store_url() const {
    std::string text = plan_.nodes > 1 ? "redlock://n1" : "redis://n1";
    for (int i = 2; i <= plan_.nodes; ++i) {
      text += ",n" + std::to_string(i);
    }
    text += "?layout=" + std::string(name_of(plan_.store)) + "&prefix=s";
    if (plan_.store == store_kind::record) {
      text += "&max_ttl=" + std::to_string(plan_.max_ttl.count()) + "ms";
    }
    return plan_.strict && plan_.nodes > 1 ? text + "&amnesia=strict" : text;
  }

  /// So many have forgotten that only a person could let them go on, and that one has left.
  [[nodiscard]] bool waits_for_a_person() const {
    const auto open =
        std::count_if(nodes_.begin(), nodes_.end(), [](const auto& n) { return n->gives_out(); });
    return plan_.strict && open < plan_.nodes / 2 + 1;
  }

  /// They have waited for so long that whoever would let them go on without a person, wrongly, has done it.
  [[nodiscard]] bool closed_for_good() {
    if (!waits_for_a_person()) {
      closed_since_.reset();
      return false;
    }
    closed_since_ = closed_since_.value_or(world_.now());
    const moment quarantine = moment(plan_.max_ttl) + std::chrono::seconds(1);
    return world_.now() - *closed_since_ > 4 * quarantine;
  }

  template <class Done>
  bool run_until(moment end, Done done) {
    constexpr std::uint64_t now_and_then = 16;
    while (world_.step()) {
      facts_.look();
      if (world_.steps() % now_and_then != 0) {
        continue;
      }
      if (closed_for_good() ||
          std::all_of(clients_.begin(), clients_.end(), [&](const auto& c) { return done(*c); })) {
        return true;
      }
      if (world_.now() >= end) {
        return false;
      }
      if (world_.steps() > most_steps) {
        facts_.violated(violation_kind::progress, "something goes round in circles");
        return false;
      }
    }
    return std::all_of(clients_.begin(), clients_.end(), [&](const auto& c) { return done(*c); });
  }

  const plan plan_;
  dice luck_;
  const trace trace_;
  world world_;
  history facts_;
  ring_judge ring_;
  const std::shared_ptr<network> net_;
  surroundings around_;
  std::vector<std::unique_ptr<store_node>> nodes_;
  memory_node* memory_ = nullptr;  // the only one of them, where it is one
  std::vector<std::unique_ptr<client_machine>> clients_;
  std::unique_ptr<nemesis> nemesis_;
  std::optional<moment> closed_since_;
};

}  // namespace

schedule_result run_schedule(lua& scripts, std::uint64_t seed, const schedule_options& options,
                             const trace_sink& trace) {
  schedule_result result;
  result.seed = seed;
  plan p = draw_plan(seed, options);
  result.mix = to_string(p);
  if (trace) {
    trace("seed " + std::to_string(seed) + ": " + result.mix);
  }
  stage(scripts, std::move(p), trace, result).play();
  return result;
}

}  // namespace cremone::sim
