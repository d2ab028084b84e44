// SPDX-License-Identifier: Apache-2.0
//
// The network between clients and nodes: connections on which bytes arrive in order, after some time, or from some point on not at
// all. What one connection does says nothing about another: requests on an old one may arrive after those on a new one. It knows no
// protocol, and what goes wrong is decided by the plan and by whoever calls.
#pragma once

#include "base/transport.hpp"
#include "sim/dice.hpp"
#include "sim/plan.hpp"
#include "sim/process.hpp"
#include "sim/strand.hpp"
#include "sim/world.hpp"

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cremone::sim {

class network;
class node;

enum class direction : std::uint8_t { up, down };  ///< from the client to the node, and back

/// One connection, seen from both ends.
struct wire {
  std::uint64_t number = 0;
  std::weak_ptr<process> client;
  std::string client_name;
  node* server = nullptr;
  std::weak_ptr<connection_events> events;
  bool client_open = true;   ///< the client has not closed it, and was not told that it ended
  bool server_open = false;  ///< the node has accepted it, and not heard of its end
  struct way {
    moment last{};          ///< nothing arrives before what was sent before
    bool swallows = false;  ///< nothing arrives any more
  };
  std::array<way, 2> ways;

  [[nodiscard]] way& of(direction d) noexcept { return ways[static_cast<std::size_t>(d)]; }
};

/// The other end.
class node {
 public:
  node(world& of, std::string name, dice noise) : world_(of), name_(std::move(name)), noise_(noise) {
    thread_ = std::make_shared<strand>(world_, noise_.fork());
  }
  node(const node&) = delete;
  node& operator=(const node&) = delete;
  virtual ~node() = default;

  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] bool up() const noexcept { return up_; }
  [[nodiscard]] strand& thread() noexcept { return *thread_; }

  // On its strand.
  virtual void take(const std::shared_ptr<wire>& from, std::string_view bytes) = 0;
  virtual void gone(const std::shared_ptr<wire>& from) = 0;

 protected:
  void go_down() {
    up_ = false;
    thread_->kill();
  }
  void come_up() {
    up_ = true;
    thread_ = std::make_shared<strand>(world_, noise_.fork());
  }

  world& world_;

 private:
  const std::string name_;
  dice noise_;
  std::shared_ptr<strand> thread_;
  bool up_ = true;
};

/// For one thread.
class network : public std::enable_shared_from_this<network> {
 public:
  /// `struck` is told of each delay and loss.
  network(world& of, const plan& p, dice noise, std::function<void(fault)> struck)
      : world_(of), plan_(p), noise_(noise), struck_(std::move(struck)) {}

  void add(node& n) { nodes_.push_back(&n); }

  /// The way into it for one process; `endpoint::host` names the node.
  [[nodiscard]] std::shared_ptr<transport> for_process(const std::shared_ptr<process>& p);

  /// The node says something.
  void say(const std::shared_ptr<wire>& to, std::string bytes);

  // Misfortune.
  [[nodiscard]] std::vector<std::shared_ptr<wire>> open_wires() const;
  void reset(const std::shared_ptr<wire>& w);
  void block(const std::string& client, const node& n, direction d, moment until);
  /// A program has ended, and its kernel says so.
  void hang_up(const process& p);
  /// Its connections end; what it had said may still arrive.
  void went_down(const node& n);
  /// No delays, no losses and no blocks any more. What swallows is told to be over.
  void heal();

 private:
  class link;
  class gate;

  void open(const std::shared_ptr<wire>& w);
  void send(const std::shared_ptr<wire>& w, direction d, moment from, callback<void()> arrives);
  void send_bytes(const std::shared_ptr<wire>& w, moment from, std::string bytes);
  void send_end(const std::shared_ptr<wire>& w, moment from);
  void end_at_server(const std::shared_ptr<wire>& w);
  void tell_end(const std::shared_ptr<wire>& w, error why);
  [[nodiscard]] moment arrival(const std::shared_ptr<wire>& w, direction d, moment from);

  world& world_;
  const plan& plan_;
  dice noise_;
  std::function<void(fault)> struck_;
  std::vector<node*> nodes_;
  std::vector<std::weak_ptr<wire>> wires_;
  std::map<std::pair<std::string, std::string>, std::array<moment, 2>> blocked_;  // until, by client and node
  std::uint64_t numbers_ = 0;
  bool healed_ = false;
};

}  // namespace cremone::sim
