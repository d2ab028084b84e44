// SPDX-License-Identifier: Apache-2.0
#include "sim/memory_node.hpp"

#include "base/reading.hpp"

#include <utility>

namespace cremone::sim {

memory_node::memory_node(world& of, std::string name, network& net, machine_clock time, dice noise,
                         const trace& told)
    : store_node(of, std::move(name), noise), net_(net), clock_(std::move(time)), trace_(told) {}

memory_node::~memory_node() = default;

traits memory_node::describe() const {
  traits t;
  t.store = "memory://" + name();
  t.identity = "memory " + name();
  t.fifo = true;
  t.hints = true;
  t.observed_takeover = true;
  t.claim_time = store_.limits().claim_time;
  return t;
}

std::uint64_t memory_node::keep(request r) {
  requests_.emplace(++numbers_, std::move(r));
  return numbers_;
}

callback<void()> memory_node::take_answer(std::uint64_t number) {
  const auto found = answers_.find(number);
  if (found == answers_.end()) {
    return [] {};
  }
  auto answer = std::move(found->second);
  answers_.erase(found);
  return answer;
}

/// Lines of "<link> <number>".
void memory_node::take(const std::shared_ptr<wire>& from, std::string_view bytes) {
  while (!bytes.empty()) {
    std::string_view line = cut(bytes, '\n');
    const auto link = whole_number<std::uint64_t>(cut(line, ' ')).value_or(0);
    carry_out(from, link, whole_number<std::uint64_t>(line).value_or(0));
  }
}

void memory_node::carry_out(const std::shared_ptr<wire>& from, std::uint64_t link, std::uint64_t number) {
  links_[link] = from;
  const auto found = requests_.find(number);
  if (found == requests_.end()) {
    return;
  }
  request r = std::move(found->second);
  requests_.erase(found);
  const moment now = thread().time();
  answers_.emplace(number, r(store_, {clock_.at(now), clock_.wall_at(now)}));
  net_.say(from, "a" + std::to_string(number) + "\n");
}

void memory_node::hint(std::uint64_t link, std::uint64_t waiter) {
  const auto found = links_.find(link);
  if (const auto to = found == links_.end() ? nullptr : found->second.lock()) {
    net_.say(to, "h" + std::to_string(waiter) + "\n");
  }
}

void memory_node::gone(const std::shared_ptr<wire>& /*from*/) {}

void memory_node::end(fault /*how*/, moment down_for) {
  if (!up()) {
    return;
  }
  go_down();
  net_.went_down(*this);
  world_.at(world_.now() + down_for, [this] { heal(); });
}

void memory_node::heal() {
  if (!up()) {
    come_up();
    trace_.say(world_.now(), name(), "is up again");
  }
  thread().go_on();
}

}  // namespace cremone::sim
