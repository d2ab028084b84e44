// SPDX-License-Identifier: Apache-2.0
#include "sim/network.hpp"

#include "base/check.hpp"

#include <algorithm>
#include <utility>

namespace cremone::sim {

namespace {
constexpr moment first_repetition =
    std::chrono::milliseconds(200);  // of a lost packet, as TCP does it at first
}  // namespace

/// The client's end. Hears of what comes before its user does: what the user puts meanwhile goes out afterwards.
class network::link final : public connection, public connection_events {
 public:
  link(std::shared_ptr<network> net, std::shared_ptr<wire> w, std::weak_ptr<connection_events> user)
      : net_(std::move(net)), wire_(std::move(w)), user_(std::move(user)) {}
  link(const link&) = delete;
  link& operator=(const link&) = delete;
  ~link() override { link::close(); }

  void put(std::string_view bytes) override {
    if (opened_ && wire_->client_open) {
      out_ += bytes;
    }
  }
  void flush() override {
    const auto p = wire_->client.lock();
    if (!out_.empty() && p && p->alive() && wire_->client_open) {
      net_->send_bytes(wire_, p->time(), std::exchange(out_, {}));
    }
  }
  void close() noexcept override {
    const auto p = wire_->client.lock();
    if (std::exchange(wire_->client_open, false) && p && p->alive()) {
      net_->send_end(wire_, p->time());
    }
  }

  void opened() override {
    opened_ = true;
    if (const auto user = user_.lock()) {
      user->opened();
    }
    flush();
  }
  void received(std::string_view bytes) override {
    if (const auto user = user_.lock()) {
      user->received(bytes);
    }
    flush();
  }
  void closed(const error& why) override {
    if (const auto user = user_.lock()) {
      user->closed(why);
    }
  }

 private:
  const std::shared_ptr<network> net_;
  const std::shared_ptr<wire> wire_;
  const std::weak_ptr<connection_events> user_;
  bool opened_ = false;
  std::string out_;
};

class network::gate final : public transport {
 public:
  gate(std::shared_ptr<network> net, std::weak_ptr<process> p)
      : net_(std::move(net)), process_(std::move(p)) {}

  [[nodiscard]] std::shared_ptr<connection> open(const endpoint& where,
                                                 std::weak_ptr<connection_events> events) override {
    const auto p = process_.lock();
    const auto to = std::find_if(net_->nodes_.begin(), net_->nodes_.end(),
                                 [&](const node* n) { return n->name() == where.host; });
    CREMONE_CHECK(p != nullptr && to != net_->nodes_.end());
    auto w = std::make_shared<wire>();
    w->number = ++net_->numbers_;
    w->client = p;
    w->client_name = p->name();
    w->server = *to;
    auto end = std::make_shared<link>(net_, w, std::move(events));
    w->events = end;
    net_->wires_.push_back(w);
    net_->open(w);
    return end;
  }

 private:
  const std::shared_ptr<network> net_;
  const std::weak_ptr<process> process_;
};

std::shared_ptr<transport> network::for_process(const std::shared_ptr<process>& p) {
  return std::make_shared<gate>(shared_from_this(), p);
}

moment network::arrival(const std::shared_ptr<wire>& w, direction d, moment from) {
  moment when = from + plan_.latency + noise_.between(moment{}, plan_.jitter);
  if (!healed_) {
    if (plan_.mix.has(fault::delay) && noise_.one_in(25)) {
      when += noise_.between(plan_.longest_delay / 32, plan_.longest_delay);
      struck_(fault::delay);
    }
    if (plan_.mix.has(fault::loss) && noise_.one_in(50)) {
      when += first_repetition * (1U << noise_.below(3));
      struck_(fault::loss);
    }
    if (const auto b = blocked_.find({w->client_name, w->server->name()}); b != blocked_.end()) {
      const moment until = b->second[static_cast<std::size_t>(d)];
      if (from < until) {
        when = std::max(when, until + noise_.between(moment{}, first_repetition));
      }
    }
  }
  wire::way& way = w->of(d);
  way.last = std::max(way.last, when);
  return way.last;
}

void network::send(const std::shared_ptr<wire>& w, direction d, moment from, callback<void()> arrives) {
  if (w->of(d).swallows) {
    return;
  }
  world_.at(arrival(w, d, from), [w, d, arrives = std::move(arrives)]() mutable {
    if (!w->of(d).swallows) {
      arrives();
    }
  });
}

void network::open(const std::shared_ptr<wire>& w) {
  const moment from = w->client.lock()->time();
  send(w, direction::up, from, [self = shared_from_this(), w] {
    if (!w->server->up()) {
      return self->tell_end(w, error(errc::unreachable, w->server->name() + " refused the connection"));
    }
    w->server->thread().deliver([self, w] {
      w->server_open = true;
      self->send(w, direction::down, w->server->thread().time(), [w] {
        if (const auto p = w->client.lock()) {
          p->thread().deliver([w] {
            if (const auto e = w->client_open ? w->events.lock() : nullptr) {
              e->opened();
            }
          });
        }
      });
    });
  });
}

void network::send_bytes(const std::shared_ptr<wire>& w, moment from, std::string bytes) {
  send(w, direction::up, from, [self = shared_from_this(), w, bytes = std::move(bytes)]() mutable {
    if (!w->server->up() || !w->server_open) {
      return self->tell_end(w, error(errc::unreachable, w->server->name() + " does not know the connection"));
    }
    w->server->thread().deliver([w, bytes = std::move(bytes)] {
      if (w->server_open) {
        w->server->take(w, bytes);
      }
    });
  });
}

/// Behind all that was sent before, which is carried out though nobody listens any more.
void network::send_end(const std::shared_ptr<wire>& w, moment from) {
  send(w, direction::up, from, [w] {
    w->server->thread().deliver([w] {
      if (std::exchange(w->server_open, false)) {
        w->server->gone(w);
      }
    });
  });
}

void network::say(const std::shared_ptr<wire>& to, std::string bytes) {
  send(to, direction::down, to->server->thread().time(), [w = to, bytes = std::move(bytes)]() mutable {
    if (const auto p = w->client.lock()) {
      p->thread().deliver([w, bytes = std::move(bytes)] {
        if (const auto e = w->client_open ? w->events.lock() : nullptr) {
          e->received(bytes);
        }
      });
    }
  });
}

/// The client hears that it is over.
void network::tell_end(const std::shared_ptr<wire>& w, error why) {
  send(w, direction::down, world_.now(), [w, why = std::move(why)]() mutable {
    if (const auto p = w->client.lock()) {
      p->thread().deliver([w, why = std::move(why)] {
        const auto e = w->events.lock();
        if (std::exchange(w->client_open, false) && e) {
          e->closed(why);
        }
      });
    }
  });
}

std::vector<std::shared_ptr<wire>> network::open_wires() const {
  std::vector<std::shared_ptr<wire>> all;
  for (const auto& weak : wires_) {
    if (auto w = weak.lock(); w && w->client_open && w->server_open) {
      all.push_back(std::move(w));
    }
  }
  return all;
}

void network::reset(const std::shared_ptr<wire>& w) {
  if (noise_.one_in(2)) {
    end_at_server(w);  // what was under way is lost; else the node carries it out
  } else {
    send_end(w, world_.now());
  }
  tell_end(w, error(errc::unreachable, "the connection to " + w->server->name() + " was reset"));
}

void network::end_at_server(const std::shared_ptr<wire>& w) {
  if (std::exchange(w->server_open, false)) {
    w->server->thread().deliver([w] { w->server->gone(w); });
  }
}

void network::block(const std::string& client, const node& n, direction d, moment until) {
  moment& there = blocked_[{client, n.name()}][static_cast<std::size_t>(d)];
  there = std::max(there, until);
}

void network::hang_up(const process& p) {
  for (const auto& weak : wires_) {
    if (const auto w = weak.lock();
        w && w->client.lock().get() == &p && std::exchange(w->client_open, false)) {
      send_end(w, world_.now());
    }
  }
}

void network::went_down(const node& n) {
  for (const auto& weak : wires_) {
    if (const auto w = weak.lock(); w && w->server == &n && std::exchange(w->server_open, false)) {
      tell_end(w, error(errc::unreachable, n.name() + " ended the connection"));
    }
  }
  wires_.erase(std::remove_if(wires_.begin(), wires_.end(), [](const auto& weak) { return weak.expired(); }),
               wires_.end());
}

void network::heal() {
  healed_ = true;
  for (const auto& weak : wires_) {
    const auto w = weak.lock();
    if (w && (w->ways[0].swallows || w->ways[1].swallows)) {
      w->ways = {};
      end_at_server(w);
      tell_end(w, error(errc::unreachable, "the connection to " + w->server->name() + " was reset"));
    }
  }
}

}  // namespace cremone::sim
