// SPDX-License-Identifier: Apache-2.0
#include "sim/plan.hpp"

#include <algorithm>

namespace cremone::sim {

namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

std::string shown(moment m) {
  if (m >= seconds(10)) {
    return std::to_string(std::chrono::duration_cast<seconds>(m).count()) + "s";
  }
  if (m >= milliseconds(10)) {
    return std::to_string(std::chrono::duration_cast<milliseconds>(m).count()) + "ms";
  }
  return std::to_string(std::chrono::duration_cast<microseconds>(m).count()) + "us";
}

/// Some faults are off in each seed: what one hides another seed shows.
fault_set draw_mix(dice& luck, const schedule_options& options) {
  if (options.every_fault) {
    return options.faults;
  }
  const bool calm = luck.one_in(16);
  const std::uint64_t share = 1 + luck.below(3);  // a quarter to three quarters of them
  fault_set mix;
  for (std::size_t i = 0; i < fault_count; ++i) {
    const auto f = static_cast<fault>(i);
    if (luck.below(4) < share && options.faults.has(f) && !calm) {
      mix.add(f);
    }
  }
  return mix;
}

/// A memory store lives and dies with its clients: it may stop and lose its connections, and forgets nothing.
fault_set possible(store_kind store, fault_set mix) {
  return store == store_kind::memory ? mix.remove(fault::tail).remove(fault::amnesia).remove(fault::flush)
                                     : mix;
}

/// What takes far less than a lease, about as long, or longer.
moment around(dice& luck, std::chrono::milliseconds ttl) {
  const moment lease = ttl;
  switch (luck.below(4)) {
    case 0: return lease / 20;
    case 1: return lease / 2;
    case 2: return lease * 3 / 2;
    default: return lease * 3;
  }
}

}  // namespace

plan draw_plan(std::uint64_t seed, const schedule_options& options) {
  dice luck(seed);
  plan p;
  p.seed = seed;
  p.store = options.store;
  p.nodes = options.store == store_kind::memory ? 1 : options.nodes;
  p.strict = options.strict;
  p.mix = possible(p.store, draw_mix(luck, options));
  const int clients = 2 + static_cast<int>(luck.below(3));
  int acquisitions = 5 + static_cast<int>(luck.below(16));
  if (p.nodes > 1) {
    acquisitions =
        2 + acquisitions / 3;  // each takes as many commands as there are nodes: rather more schedules
  }
  p.clients = options.clients.value_or(clients);
  p.acquisitions = options.acquisitions.value_or(acquisitions);
  p.workers = luck.one_in(3) ? 2 : 1;
  p.names = luck.one_in(3) ? 2 : 1;

  // The margins for clocks that run apart are a thousandth: of a short ttl that is less than the network takes.
  const bool long_leases = luck.one_in(8);
  p.ttl = long_leases ? luck.between(milliseconds(10'000), milliseconds(60'000))
                      : luck.mostly_short(milliseconds(100), milliseconds(3'000));
  p.max_ttl =
      long_leases || luck.one_in(2) ? p.ttl : p.ttl + luck.between(milliseconds(0), milliseconds(2'000));
  p.longest_hold = luck.one_in(2) ? moment(p.ttl) / 8 : moment(p.ttl) * 2;
  p.longest_think = luck.mostly_short(moment(milliseconds(1)), moment(p.ttl));

  p.latency = luck.mostly_short(moment(microseconds(20)), moment(milliseconds(5)));
  p.jitter = luck.mostly_short(moment(microseconds(10)), moment(milliseconds(5)));
  p.longest_delay = around(luck, p.ttl);
  p.longest_pause = around(luck, p.ttl);
  p.between_faults = luck.mostly_short(moment(p.ttl), 40 * moment(p.ttl));
  p.preempt_one_in = 50 + luck.below(2000);
  p.longest_step = luck.mostly_short(microseconds(milliseconds(10)), microseconds(4 * p.ttl + seconds(30)));
  if (long_leases) {  // they are dear: let each of them see something
    p.longest_pause = moment(p.ttl) * (luck.one_in(2) ? 2 : 3);
    p.between_faults = luck.between(moment(p.ttl), 6 * moment(p.ttl));
    p.latency = std::min(p.latency, moment(milliseconds(1)));
    p.jitter = std::min(p.jitter, moment(milliseconds(1)));
  }
  p.trouble = moment(p.ttl) * (long_leases ? 12 : 40) + moment(seconds(5));
  p.one_bucket = p.nodes > 1 && p.names > 1 && luck.one_in(2);
  // The newest draw comes last, so all other draws of a seed stay as they were.
  p.tries_take_over = luck.one_in(2);
  return p;
}

std::string_view lock_of(const plan& p, std::uint64_t number) {
  constexpr std::string_view first = "a";  // bucket 55: the first 32 bits of its SHA-1, modulo 1,024
  constexpr std::string_view of_its_bucket = "kat";  // the same; no shorter name is in it
  return number == 0 ? first : p.one_bucket ? of_its_bucket : "b";
}

std::string to_string(const plan& p) {
  return std::string(name_of(p.store)) + (p.nodes > 1 ? " nodes=" + std::to_string(p.nodes) : "") +
         (p.strict ? " strict" : "") + " faults=" + to_string(p.mix) +
         " clients=" + std::to_string(p.clients) + "x" + std::to_string(p.workers) +
         " locks=" + std::to_string(p.names) + (p.one_bucket ? " of one bucket" : "") +
         " acquisitions=" + std::to_string(p.acquisitions) + " ttl=" + shown(p.ttl) +
         " max_ttl=" + shown(p.max_ttl) + " hold<=" + shown(p.longest_hold) + " latency=" + shown(p.latency) +
         "+" + shown(p.jitter) + " delay<=" + shown(p.longest_delay) + " pause<=" + shown(p.longest_pause) +
         " every=" + shown(p.between_faults) + " step<=" + shown(p.longest_step) +
         (p.tries_take_over ? " tries-take-over" : "");
}

}  // namespace cremone::sim
