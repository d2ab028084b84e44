// SPDX-License-Identifier: Apache-2.0
//
// The client's end of a memory store behind a network. One connection, made anew when it ends; what was under way then is in doubt.
#include "base/reading.hpp"
#include "sim/memory_node.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace cremone::sim {

namespace {

constexpr std::chrono::milliseconds longest_answer{300};
constexpr std::chrono::milliseconds longest_connect{500};
constexpr std::chrono::milliseconds before_next{20};

error no_answer() { return {errc::outcome_unknown, "the store did not answer"}; }
error not_connected() { return {errc::unreachable, "there is no connection to the store"}; }

/// What stands in the store for one who waits here.
class far_sink final : public hint_sink {
 public:
  far_sink(memory_node& at, std::uint64_t link, std::uint64_t waiter)
      : at_(at), link_(link), waiter_(waiter) {}
  void hint() noexcept override { at_.hint(link_, waiter_); }

 private:
  memory_node& at_;
  const std::uint64_t link_;
  const std::uint64_t waiter_;
};

class memory_link final : public backend,
                          public connection_events,
                          public std::enable_shared_from_this<memory_link> {
 public:
  memory_link(std::shared_ptr<process> on, std::shared_ptr<transport> by, memory_node& to)
      : process_(std::move(on)), net_(std::move(by)), node_(to), number_(to.new_link()) {}
  void start() {
    timer_ = process_->make_timer([weak = weak_from_this()] {
      if (const auto self = weak.lock(); self && !self->closed_) {
        self->tick();
      }
    });
    connect();
  }

  [[nodiscard]] traits describe() const override { return node_.describe(); }

  void try_acquire(const acquire_request& request, callback<void(acquire_answer)> reply) override {
    acquire_request far = request;
    if (request.join) {
      waiter& w = waiting_[request.owner];
      w.near = request.wake;
      w.number = node_.new_link();
      w.far = std::make_shared<far_sink>(node_, number_, w.number);
      far.wake = w.far;
    }
    ask<acquire_answer>(
        [far](memory::store& s, const memory::store_time& t) { return s.try_acquire(far, t); },
        std::move(reply), acquire_answer(unknown{no_answer()}),
        acquire_answer(rejection{.why = not_connected()}));
  }

  void renew(std::span<const renewal> items, callback<void(std::vector<answer>)> reply) override {
    std::vector<std::pair<lock_name, renewal>> all;
    for (const renewal& r : items) {
      all.emplace_back(*r.name, r);
    }
    ask<std::vector<answer>>(
        [all](memory::store& s, const memory::store_time& t) {
          std::vector<answer> answers;
          for (const auto& [name, r] : all) {
            renewal here = r;
            here.name = &name;
            answers.push_back(s.renew(here, t));
          }
          return answers;
        },
        std::move(reply), std::vector<answer>(all.size(), unknown{no_answer()}),
        std::vector<answer>(all.size(), refused{not_connected()}));
  }

  void release(const release_request& request, callback<void(answer)> reply) override {
    waiting_.erase(request.owner);
    change([request](memory::store& s, const memory::store_time& t) { return s.release(request, t); },
           std::move(reply));
  }
  void evict(const lock_name& name, const hold_version& version, callback<void(answer)> reply) override {
    change(
        [name, version](memory::store& s, const memory::store_time& t) { return s.evict(name, version, t); },
        std::move(reply));
  }
  void force(const lock_name& name, const owner_id& holder, callback<void(answer)> reply) override {
    change([name, holder](memory::store& s, const memory::store_time& t) { return s.force(name, holder, t); },
           std::move(reply));
  }
  void inspect(const lock_name& name, callback<void(result<lock_record>)> reply) override {
    ask<result<lock_record>>(
        [name](memory::store& s, const memory::store_time& t) {
          return result<lock_record>(s.inspect(name, t));
        },
        std::move(reply), result<lock_record>(no_answer()), result<lock_record>(not_connected()));
  }
  void list(callback<void(result<std::vector<lock_record>>)> reply) override {
    using all = result<std::vector<lock_record>>;
    ask<all>([](memory::store& s, const memory::store_time& t) { return all(s.list(t)); }, std::move(reply),
             all(no_answer()), all(not_connected()));
  }

  void close() noexcept override {
    if (std::exchange(closed_, true)) {
      return;
    }
    node_.forget_link(number_);
    give_up_all();
    if (connection_) {
      connection_->close();
    }
    timer_.reset();
  }

  void opened() override { up_ = true; }
  void received(std::string_view bytes) override {
    while (!bytes.empty() && !closed_) {
      const std::string_view line = cut(bytes, '\n');
      const auto number = whole_number<std::uint64_t>(line.substr(1)).value_or(0);
      if (line.starts_with('h')) {
        hinted(number);
      } else {
        answered(number);
      }
    }
  }
  void closed(const error& /*why*/) override { lost(); }

 private:
  struct waiter {
    std::weak_ptr<hint_sink> near;
    std::shared_ptr<far_sink> far;
    std::uint64_t number = 0;
  };
  struct call {
    instant due;
    callback<void()> give_up;
  };

  void connect() {
    up_ = false;
    again_ = process_->now() + longest_connect;
    timer_->arm(again_);
    connection_ = net_->open({.host = node_.name(), .port = 1, .path = {}, .tls = {}}, weak_from_this());
  }

  void lost() {
    up_ = false;
    connection_.reset();
    give_up_all();
    again_ = process_->now() + before_next;
    timer_->arm(again_);
  }

  void tick() {
    const instant now = process_->now();
    if (!up_ && now >= again_) {
      connect();
    } else if (!up_) {
      timer_->arm(again_);
    }
    const bool stalled = !calls_.empty() && calls_.begin()->second.due <= now;
    if (stalled && connection_) {
      connection_->close();  // one that does not answer in time is no good any more
      return lost();
    }
    if (!calls_.empty()) {
      timer_->arm(calls_.begin()->second.due);
    }
  }

  void give_up_all() {
    auto all = std::exchange(calls_, {});
    for (auto& [number, c] : all) {
      c.give_up();
    }
  }

  void answered(std::uint64_t number) {
    auto answer = node_.take_answer(number);
    if (calls_.erase(number) == 1) {
      answer();
    }
  }

  void hinted(std::uint64_t number) {
    const auto w = std::find_if(waiting_.begin(), waiting_.end(),
                                [&](const auto& one) { return one.second.number == number; });
    if (const auto sink = w == waiting_.end() ? nullptr : w->second.near.lock()) {
      sink->hint();
    }
  }

  template <class Work>
  void change(Work work, callback<void(answer)> reply) {
    ask<answer>(std::move(work), std::move(reply), answer(unknown{no_answer()}),
                answer(refused{not_connected()}));
  }

  template <class T, class Work>
  void ask(Work work, callback<void(T)> reply, T in_doubt, T not_sent) {
    if (closed_) {
      return reply(std::move(not_sent));
    }
    if (!up_) {
      return process_->post(
          [reply = std::move(reply), no = std::move(not_sent)]() mutable { reply(std::move(no)); });
    }
    const auto waits = std::make_shared<callback<void(T)>>(std::move(reply));
    const std::uint64_t number = node_.keep(
        [work = std::move(work), waits](memory::store& s, const memory::store_time& t) -> callback<void()> {
          return [waits, a = work(s, t)]() mutable { std::exchange(*waits, nullptr)(std::move(a)); };
        });
    const instant due = process_->now() + longest_answer;
    calls_.emplace(number, call{due, [waits, a = std::move(in_doubt)]() mutable {
                                  std::exchange(*waits, nullptr)(std::move(a));
                                }});
    connection_->put(std::to_string(number_) + " " + std::to_string(number) + "\n");
    connection_->flush();
    timer_->arm(calls_.begin()->second.due);
  }

  const std::shared_ptr<process> process_;
  const std::shared_ptr<transport> net_;
  memory_node& node_;
  const std::uint64_t number_;
  std::shared_ptr<connection> connection_;
  std::unique_ptr<timer> timer_;
  std::map<std::uint64_t, call> calls_;  // in the order of asking
  std::map<owner_id, waiter> waiting_;
  instant again_{};
  bool up_ = false;
  bool closed_ = false;
};

}  // namespace

std::shared_ptr<backend> open_memory_link(const std::shared_ptr<process>& on,
                                          const std::shared_ptr<transport>& by, memory_node& to) {
  auto link = std::make_shared<memory_link>(on, by, to);
  link->start();
  return link;
}

}  // namespace cremone::sim
