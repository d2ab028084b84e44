// SPDX-License-Identifier: Apache-2.0
//
// The memory store behind the simulated network: the shortest store that there is, with the same misfortunes as the others, so that
// what the engine does is tried without Redis. What travels are numbers; what they stand for is kept here.
#pragma once

#include "backends/memory/store.hpp"
#include "sim/clock.hpp"
#include "sim/network.hpp"
#include "sim/store_node.hpp"
#include "sim/trace.hpp"

#include <cremone/backend.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <string>

namespace cremone::sim {

/// It loses nothing: a memory store that ends takes its clients with it. It may be stopped, and its connections may end.
class memory_node final : public store_node {
 public:
  memory_node(world& of, std::string name, network& net, machine_clock time, dice noise, const trace& told);
  ~memory_node() override;

  void take(const std::shared_ptr<wire>& from, std::string_view bytes) override;
  void gone(const std::shared_ptr<wire>& from) override;

  void end(fault how, moment down_for) override;
  void empty() override {}
  void set_wall(std::chrono::microseconds by) override { clock_.set_wall(by, world_.now()); }
  [[nodiscard]] std::chrono::microseconds wall_ahead() const override { return clock_.wall_ahead(); }
  void heal() override;

  // For the clients' end of it.

  /// What is to be done when a request arrives; gives what is to be done when its answer does.
  using request = callback<callback<void()>(memory::store&, const memory::store_time&)>;
  [[nodiscard]] std::uint64_t keep(request r);
  [[nodiscard]] callback<void()> take_answer(std::uint64_t number);
  /// Whom to hint, by the client's end that is to hear of it.
  void hint(std::uint64_t link, std::uint64_t waiter);
  void forget_link(std::uint64_t link) { links_.erase(link); }
  [[nodiscard]] std::uint64_t new_link() { return ++numbers_; }
  [[nodiscard]] traits describe() const;

 private:
  void carry_out(const std::shared_ptr<wire>& from, std::uint64_t link, std::uint64_t number);

  network& net_;
  machine_clock clock_;
  const trace& trace_;
  memory::store store_;
  std::uint64_t numbers_ = 0;
  std::map<std::uint64_t, request> requests_;
  std::map<std::uint64_t, callback<void()>> answers_;
  std::map<std::uint64_t, std::weak_ptr<wire>> links_;  // on which each client spoke last
};

/// A client's end: a backend as one process sees it.
[[nodiscard]] std::shared_ptr<backend> open_memory_link(const std::shared_ptr<process>& on,
                                                        const std::shared_ptr<transport>& by,
                                                        memory_node& to);

}  // namespace cremone::sim
