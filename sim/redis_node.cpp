// SPDX-License-Identifier: Apache-2.0
#include "sim/redis_node.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace cremone::sim {

namespace {
constexpr std::size_t longest_tail = 12;  // writes that a crash may take with it
}  // namespace

redis_node::redis_node(world& of, std::string name, int number, network& net, const plan& p, lua& scripts,
                       machine_clock time, dice noise, history& facts, ring_judge& ring, const trace& told)
    : store_node(of, std::move(name), noise.fork()),
      net_(net),
      plan_(p),
      number_(number),
      noise_(noise),
      clock_(std::move(time)),
      ring_(ring),
      trace_(told),
      guard_(p, facts, node::name()),
      server_(scripts, run_id(), wall()),
      past_(1) {
  server_.on_command([this](std::span<const std::string_view> words, std::string_view reply,
                            const std::vector<std::string>& changed) {
    if (trace_.on()) {
      tell(words, reply);
    }
    if (words[0] == "FLUSHALL") {
      guard_.begins_anew();
      ring_.forgets(number_);
    } else {
      weigh(guard_.carried_out(words, reply, changed, server_.keys(), run_id()));
    }
    if (!changed.empty() && plan_.mix.has(fault::tail)) {
      past_.push_back(server_.keys());
      if (past_.size() > longest_tail) {
        past_.pop_front();
      }
    }
  });
}

redis_node::~redis_node() = default;

/// The same in each schedule, so that scripts that were compiled once need not be again.
std::string redis_node::run_id() const {
  const std::string number = std::to_string(life_);
  return std::to_string(number_ - 1) + std::string(39 - number.size(), '0') + number;
}

void redis_node::take(const std::shared_ptr<wire>& from, std::string_view bytes) {
  constexpr moment least_work = std::chrono::microseconds(10);
  constexpr moment most_work = std::chrono::microseconds(60);
  thread().dawdle(noise_.between(least_work, most_work));
  wires_.emplace(from->number, from);
  speaking_ = from;
  std::vector<utterance> said;
  server_.receive(from->number, bytes, wall(), said);
  speaking_.reset();
  for (utterance& u : said) {
    if (const auto to = wires_.find(u.to); to != wires_.end()) {
      net_.say(to->second, std::move(u.bytes));
    }
  }
}

void redis_node::gone(const std::shared_ptr<wire>& from) {
  server_.disconnect(from->number);
  wires_.erase(from->number);
}

void redis_node::end(fault how, moment down_for) {
  if (!up()) {
    return;
  }
  kept_ = how == fault::amnesia ? keyspace()
          : how == fault::tail  ? past_[noise_.below(past_.size())]
                                : server_.keys();
  ring_.forgets(number_);
  go_down();
  wires_.clear();
  net_.went_down(*this);
  const std::uint64_t life = life_;
  world_.at(world_.now() + down_for, [this, life] {
    if (life == life_ && !up()) {
      begin();
    }
  });
}

void redis_node::begin() {
  ++life_;
  come_up();
  server_.restart(run_id(), wall(), std::move(kept_));
  kept_ = keyspace();
  past_.assign(1, server_.keys());
  guard_.begins_anew();
  trace_.say(world_.now(), name(),
             "is up again, with " + (server_.keys().dump().empty() ? std::string("nothing") : "its data"));
}

void redis_node::heal() {
  set_wall(-wall_ahead());  // a quarantine between clocks that are far apart would never end
  if (!up()) {
    begin();
  }
  thread().go_on();
}

/// As an operator would do it, on a connection of their own.
void redis_node::empty() {
  if (!up()) {
    return;
  }
  std::vector<utterance> said;
  server_.receive(0, "*1\r\n$8\r\nFLUSHALL\r\n", wall(), said);
  server_.disconnect(0);
}

bool redis_node::gives_out() const {
  const std::string* marker = server_.keys().text("s:boot");
  return up() && marker != nullptr && marker->starts_with("A " + run_id());
}

void redis_node::set_wall(std::chrono::microseconds by) { clock_.set_wall(by, world_.now()); }

/// The floor that clocks promise after a loss of memory: the later of this server's clock and the
/// clock of the client that ends the quarantine, plus 10 s. Computed here from the clocks
/// themselves, not from the request or from what the script wrote. The client read its clock at
/// some moment of the quarantine, so the judge uses the lowest time that this clock showed
/// meanwhile.
std::uint64_t redis_node::floor_by_clocks() const {
  constexpr std::chrono::seconds tokens_run_ahead{10};
  wall_time latest = wall();
  if (const auto client = speaking_ ? speaking_->client.lock() : nullptr) {
    latest = std::max(latest, client->lowest_wall_since(doubted_at_));
  }
  return static_cast<std::uint64_t>((latest + tokens_run_ahead).time_since_epoch().count());
}

void redis_node::weigh(const redis_guard::news& what) {
  if (what.doubted) {
    doubted_at_ = world_.now();
    ring_.doubts(number_);
  }
  if (!what.lock.empty()) {
    ring_.gave(number_, what.lock, what.counter, what.number);
  }
  if (what.admitted) {
    ring_.let_in(number_,
                 {.by_clock = what.by_clock,
                  .by_person = what.by_person,
                  .floor = what.floor,
                  .due = std::max(floor_by_clocks(), what.asked)},
                 server_.keys());
  }
}

void redis_node::tell(std::span<const std::string_view> words, std::string_view reply) {
  if (const std::string run = run_id(); !script_names_.contains(run)) {
    script_names_.emplace(run, "");
    add_script_names(script_names_, run);
  }
  trace_.say(thread().time(), name(),
             (speaking_ ? speaking_->client_name : std::string("operator")) + ": " +
                 shown_command(words, script_names_) + "  ->  " + shown_reply(reply));
}

}  // namespace cremone::sim
