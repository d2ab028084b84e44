// SPDX-License-Identifier: Apache-2.0
#include "sim/nemesis.hpp"

#include <algorithm>
#include <utility>

namespace cremone::sim {

namespace {

/// Those that are in the network's own hands, or are there all the time.
bool strikes_by_itself(fault f) {
  switch (f) {
    case fault::delay:
    case fault::loss:
    case fault::preempt:
    case fault::drift:
    case fault::racing: return true;
    default: return false;
  }
}

/// A node gives out no lock for as long as any lease may last: more often, and nothing else would happen.
bool begins_quarantine(fault f) {
  return f == fault::restart || f == fault::tail || f == fault::amnesia || f == fault::flush;
}

}  // namespace

nemesis::nemesis(surroundings& around, std::vector<std::unique_ptr<client_machine>>& clients,
                 std::vector<std::unique_ptr<store_node>>& nodes, dice noise)
    : around_(around), clients_(clients), nodes_(nodes), noise_(noise) {}

void nemesis::start() {
  for (std::size_t i = 0; i < fault_count; ++i) {
    const auto f = static_cast<fault>(i);
    if (around_.what.mix.has(f) && !strikes_by_itself(f)) {
      wait_for(f);
    }
  }
}

void nemesis::wait_for(fault f) {
  const moment usual = around_.what.between_faults * (begins_quarantine(f) ? 4 : 1);
  const moment pause = noise_.between(usual / 16, 2 * usual);
  around_.time.at(around_.time.now() + pause, [this, f] {
    if (!over_) {
      strike(f);
      wait_for(f);
    }
  });
}

void nemesis::heal() {
  over_ = true;
  around_.net.heal();
  for (const auto& n : nodes_) {
    n->heal();
  }
  for (const auto& c : clients_) {
    c->heal();
  }
}

moment nemesis::some_time() {
  return noise_.between(around_.what.longest_pause / 16, around_.what.longest_pause);
}

void nemesis::tell(fault f, const std::string& whom, const std::string& what) {
  around_.facts.struck(f);
  if (around_.told.on()) {
    around_.told.say(around_.time.now(), whom, "FAULT " + std::string(name_of(f)) + ": " + what);
  }
}

void nemesis::strike(fault f) {
  switch (f) {
    case fault::crash:
    case fault::pause:
    case fault::set_back:
    case fault::freeze: return strike_client(f);
    case fault::reset:
    case fault::half_open:
    case fault::partition: return strike_wire(f);
    default: return strike_node(f);
  }
}

void nemesis::strike_client(fault f) {
  client_machine& c = *clients_[noise_.below(clients_.size())];
  if (!c.running()) {
    return;
  }
  const moment span = some_time();
  switch (f) {
    case fault::crash:
      if (noise_.one_in(4)) {
        tell(f, c.name(), "killed, a new machine takes its place in " + shown(span) + " s");
        return c.crash(span, true);
      }
      tell(f, c.name(), "killed, another begins in " + shown(span) + " s");
      return c.crash(span, false);
    case fault::pause: tell(f, c.name(), "stopped for " + shown(span) + " s"); return c.pause(span, false);
    case fault::freeze:
      tell(f, c.name(), "stopped for " + shown(span) + " s, and its clock with it");
      return c.pause(span, true);
    default: break;
  }
  const auto by = noise_.between(-around_.what.longest_step, around_.what.longest_step);
  tell(f, c.name(), "its wall clock is set by " + std::to_string(by.count()) + " us");
  c.set_wall(by);
}

void nemesis::strike_node(fault f) {
  store_node& n = *nodes_[noise_.below(nodes_.size())];
  if (!n.up()) {
    return;
  }
  const moment span = some_time();
  switch (f) {
    case fault::stall:
      tell(f, n.name(), "stopped for " + shown(span) + " s");
      return n.thread().stop_until(around_.time.now() + span);
    case fault::jump: {
      auto by = noise_.between(-around_.what.longest_step, around_.what.longest_step);
      if (n.wall_ahead().count() != 0 && noise_.one_in(2)) {
        by = -n.wall_ahead();  // somebody sets it right
      }
      tell(f, n.name(), "its wall clock is set by " + std::to_string(by.count()) + " us");
      return n.set_wall(by);
    }
    case fault::flush: tell(f, n.name(), "emptied"); return n.empty();
    case fault::restart: tell(f, n.name(), "ends, comes back with its data in " + shown(span) + " s"); break;
    case fault::tail:
      tell(f, n.name(), "ends, comes back without its last writes in " + shown(span) + " s");
      break;
    default: tell(f, n.name(), "ends, comes back empty in " + shown(span) + " s"); break;
  }
  n.end(f, span);
}

void nemesis::strike_wire(fault f) {
  if (f == fault::partition) {
    const client_machine& c = *clients_[noise_.below(clients_.size())];
    const store_node& n = *nodes_[noise_.below(nodes_.size())];
    const moment span = some_time();
    const auto which = noise_.below(3);  // both ways are blocked as often as each one
    tell(f, c.name(),
         (which == 0   ? "cannot reach "
          : which == 1 ? "hears nothing from "
                       : "is cut off from ") +
             n.name() + " for " + shown(span) + " s");
    if (which != 1) {
      around_.net.block(c.name(), n, direction::up, around_.time.now() + span);
    }
    if (which != 0) {
      around_.net.block(c.name(), n, direction::down, around_.time.now() + span);
    }
    return;
  }
  const auto wires = around_.net.open_wires();
  if (wires.empty()) {
    return;
  }
  const auto& w = wires[noise_.below(wires.size())];
  const std::string connection = "connection " + std::to_string(w->number) + " to " + w->server->name();
  if (f == fault::reset) {
    tell(f, w->client_name, connection + " ends");
    return around_.net.reset(w);
  }
  const auto d = noise_.one_in(2) ? direction::up : direction::down;
  tell(f, w->client_name,
       connection + " swallows what comes " + (d == direction::up ? "from the client" : "from the node"));
  w->of(d).swallows = true;
}

}  // namespace cremone::sim
