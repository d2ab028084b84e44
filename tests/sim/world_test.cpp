// SPDX-License-Identifier: Apache-2.0
//
// What the simulated world promises to those who live in it: time in order, threads that stop, clocks that run apart, bytes in
// order or not at all.
#include "sim/world.hpp"
#include "sim/clock.hpp"
#include "sim/network.hpp"
#include "sim/process.hpp"
#include "sim/strand.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace cremone::sim {
namespace {

using namespace std::chrono_literals;

wall_time some_wall() { return wall_time(std::chrono::seconds(1'800'000'000)); }

void run_all(world& w) {
  while (w.step()) {
  }
}

TEST(World, LetsThingsHappenInOrder) {
  world w;
  std::string order;
  w.at(2s, [&] { order += 'c'; });
  w.at(1s, [&] { order += 'a'; });
  w.at(1s, [&] { order += 'b'; });
  w.at(1s, [&] { w.at(0s, [&] { order += 'x'; }); });  // the past is now
  run_all(w);
  EXPECT_EQ(order, "abxc");
  EXPECT_EQ(w.now(), 2s);
}

TEST(Strand, DoesOneThingAfterTheOtherAlsoWhenItWasStopped) {
  world w;
  const auto s = std::make_shared<strand>(w, dice(1));
  std::string order;
  std::vector<moment> when;
  for (const char c : {'a', 'b', 'c'}) {
    s->deliver_at(1s, [&, c] {
      order += c;
      when.push_back(s->time());
    });
  }
  s->stop_until(5s);
  s->deliver_at(5s, [&] { order += 'd'; });
  run_all(w);
  EXPECT_EQ(order, "abcd");
  EXPECT_GE(when.front(), 5s);
  EXPECT_GT(when[1], when[0]);
}

TEST(Strand, DoesNothingWhenItIsKilled) {
  world w;
  const auto s = std::make_shared<strand>(w, dice(1));
  s->deliver_at(1s, [] { FAIL(); });
  s->kill();
  s->deliver([] { FAIL(); });
  run_all(w);
}

TEST(Strand, SendsLaterWhatComesAfterAPauseWithinAStep) {
  world w;
  const auto s = std::make_shared<strand>(w, dice(1));
  moment sent{};
  moment next{};
  s->deliver_at(1s, [&] {
    s->dawdle(3s);
    sent = s->time();
  });
  s->deliver_at(2s, [&] { next = w.now(); });
  run_all(w);
  EXPECT_EQ(sent, 4s);
  EXPECT_GE(next, 4s) << "the next step began inside this one";
}

TEST(MachineClock, RunsAtItsOwnRate) {
  const machine_clock fast(instant(1h), some_wall(), 1000);
  EXPECT_EQ(fast.at(0s), instant(1h));
  EXPECT_EQ(fast.at(1000s), instant(1h + 1001s));
  const moment when = fast.when_shows(instant(1h + 1001s));
  EXPECT_GE(fast.at(when), instant(1h + 1001s));
  EXPECT_LT(fast.at(when - 2us), instant(1h + 1001s));
}

TEST(MachineClock, ThatIsSetChangesOnTheWallOnly) {
  machine_clock c(instant(1h), some_wall(), 0);
  c.set_wall(-5s, 0s);
  EXPECT_EQ(c.wall_at(10s), some_wall() + 5s);
  EXPECT_EQ(c.at(10s), instant(1h + 10s));
}

TEST(MachineClock, StandsStillWhenItIsFrozen) {
  machine_clock c(instant(1h), some_wall(), 0);
  c.freeze(10s);
  EXPECT_EQ(c.at(15s), instant(1h + 10s));
  c.thaw(20s);
  EXPECT_EQ(c.at(21s), instant(1h + 11s));
  EXPECT_EQ(c.at(c.when_shows(instant(1h + 12s))), instant(1h + 12s) + 1ns);
}

TEST(Process, FiresATimerByItsOwnClock) {
  world w;
  machine_clock slow(instant(1h), some_wall(), -500'000);
  const auto p = std::make_shared<process>(w, "p", slow, dice(1), preemption{});
  moment fired{};
  const auto t = p->make_timer([&] { fired = w.now(); });
  t->arm(instant(1h + 1s));
  run_all(w);
  EXPECT_GE(fired, 2s);
  EXPECT_LT(fired, 2001ms);
}

TEST(Process, FiresNoTimerThatWasMovedOrDisarmed) {
  world w;
  machine_clock c(instant(1h), some_wall(), 0);
  const auto p = std::make_shared<process>(w, "p", c, dice(1), preemption{});
  int fired = 0;
  moment last{};
  const auto moved = p->make_timer([&] {
    ++fired;
    last = w.now();
  });
  moved->arm(instant(1h + 1s));
  moved->arm(instant(1h + 3s));
  const auto disarmed = p->make_timer([&] { ++fired; });
  disarmed->arm(instant(1h + 1s));
  disarmed->disarm();
  run_all(w);
  EXPECT_EQ(fired, 1);
  EXPECT_GE(last, 3s);
}

/// A node that notes what arrives, and answers each piece.
class echo_node final : public node {
 public:
  echo_node(world& of, network& net) : node(of, "n1", dice(3)), net_(net) {}
  void take(const std::shared_ptr<wire>& from, std::string_view bytes) override {
    heard += bytes;
    wires.push_back(from);
    net_.say(from, std::string(bytes));
  }
  void gone(const std::shared_ptr<wire>&) override { ++ends; }

  std::string heard;
  int ends = 0;
  std::vector<std::shared_ptr<wire>> wires;

 private:
  network& net_;
};

class ear final : public connection_events {
 public:
  void opened() override { ++opens; }
  void received(std::string_view bytes) override { heard += bytes; }
  void closed(const error& why) override { end = why.detail(); }

  int opens = 0;
  std::string heard;
  std::string end;
};

class Network : public testing::Test {
 protected:
  Network() {
    plan_.latency = 1ms;
    plan_.jitter = 10ms;
    plan_.longest_delay = 2s;
    net_ = std::make_shared<network>(world_, plan_, dice(7), [](fault) {});
    node_ = std::make_unique<echo_node>(world_, *net_);
    net_->add(*node_);
    process_ = std::make_shared<process>(world_, "p1", clock_, dice(1), preemption{});
    door_ = net_->for_process(process_);
  }
  [[nodiscard]] std::shared_ptr<connection> open(const std::shared_ptr<ear>& by) {
    return door_->open({.host = "n1", .port = 1, .path = {}, .tls = {}}, by);
  }

  world world_;
  plan plan_{};
  machine_clock clock_{instant(1h), some_wall(), 0};
  std::shared_ptr<network> net_;
  std::unique_ptr<echo_node> node_;
  std::shared_ptr<process> process_;
  std::shared_ptr<transport> door_;
};

TEST_F(Network, KeepsTheOrderOfOneConnectionWhateverTheDelays) {
  plan_.mix.add(fault::delay).add(fault::loss);
  const auto by = std::make_shared<ear>();
  const auto c = open(by);
  run_all(world_);
  ASSERT_EQ(by->opens, 1);
  std::string all;
  for (int i = 0; i < 200; ++i) {
    all += std::to_string(i) + " ";
    c->put(std::to_string(i) + " ");
    c->flush();
  }
  run_all(world_);
  EXPECT_EQ(node_->heard, all);
  EXPECT_EQ(by->heard, all);
}

TEST_F(Network, CarriesOutWhatWasSentBeforeTheClientClosed) {
  const auto by = std::make_shared<ear>();
  const auto c = open(by);
  run_all(world_);
  c->put("late");
  c->flush();
  c->close();
  run_all(world_);
  EXPECT_EQ(node_->heard, "late");
  EXPECT_EQ(node_->ends, 1);
  EXPECT_EQ(by->heard, "") << "nobody listens any more";
  EXPECT_EQ(by->end, "");
}

TEST_F(Network, LetsARequestOnAnOldConnectionArriveAfterOneOnANewOne) {
  const auto by = std::make_shared<ear>();
  const auto old = open(by);
  const auto fresh = open(by);
  run_all(world_);
  net_->block("p1", *node_, direction::up, world_.now() + 5s);
  old->put("old ");
  old->flush();
  world_.at(world_.now() + 1s, [&] {
    net_->heal();  // for what is sent from now on; what is under way stays late
    fresh->put("new ");
    fresh->flush();
  });
  run_all(world_);
  EXPECT_EQ(node_->heard, "new old ");
}

TEST_F(Network, BlocksOneDirectionAndNotTheOther) {
  const auto by = std::make_shared<ear>();
  const auto c = open(by);
  run_all(world_);
  const moment begin = world_.now();
  net_->block("p1", *node_, direction::down, begin + 5s);
  c->put("x");
  c->flush();
  while (node_->heard.empty() && world_.step()) {
  }
  EXPECT_LT(world_.now(), begin + 1s);
  run_all(world_);
  EXPECT_GE(world_.now(), begin + 5s);
  EXPECT_EQ(by->heard, "x");
}

TEST_F(Network, SwallowsOneDirectionOfAHalfOpenConnection) {
  const auto by = std::make_shared<ear>();
  const auto c = open(by);
  run_all(world_);
  c->put("a");
  c->flush();
  run_all(world_);
  node_->wires.front()->of(direction::down).swallows = true;
  c->put("b");
  c->flush();
  run_all(world_);
  EXPECT_EQ(node_->heard, "ab");
  EXPECT_EQ(by->heard, "a");
  EXPECT_EQ(by->end, "") << "nobody is told";
  net_->heal();
  run_all(world_);
  EXPECT_NE(by->end, "");
}

TEST_F(Network, TellsBothEndsOfAReset) {
  const auto by = std::make_shared<ear>();
  const auto c = open(by);
  run_all(world_);
  ASSERT_EQ(net_->open_wires().size(), 1U);
  net_->reset(net_->open_wires().front());
  run_all(world_);
  EXPECT_NE(by->end.find("reset"), std::string::npos);
  EXPECT_EQ(node_->ends, 1);
}

}  // namespace
}  // namespace cremone::sim
