// SPDX-License-Identifier: Apache-2.0
#include "support/sentinels.hpp"

#include "support/wait_for.hpp"

#include <algorithm>
#include <stdexcept>

namespace cremone::test {

namespace {

/// How long a server is silent before the first Sentinel gives it up. A busy machine must not be taken for a dead server,
/// and a test must not take long.
constexpr int patience = 1000;  // ms

void must(bool done, const std::string& what) {
  if (!done) {
    throw std::runtime_error("sentinels: " + what);
  }
}

/// A value of a reply that is a list of names and values.
std::string field(const resp& reply, const std::string& name) {
  const auto found =
      std::find_if(reply.items.begin(), reply.items.end(), [&](const resp& r) { return r.text == name; });
  return found == reply.items.end() || found + 1 == reply.items.end() ? std::string() : (found + 1)->text;
}

}  // namespace

sentinels::sentinels(std::size_t replicas) : replicas_(replicas) {
  servers_.emplace_back(redis_options{.extra = {"--repl-diskless-sync-delay", "0"}});  // else 5 s
  for (std::size_t i = 0; i < replicas_; ++i) {
    start_replica();
  }
  // Before there are Sentinels: they ask a master for its replicas when they meet it, and then not for a while.
  must(wait_for([&] { return replicas_are_in_sync(); }), "the replicas do not connect");
  for (std::size_t i = 0; i < count; ++i) {
    start_sentinel();
  }
  for (const redis_server& one : sentinels_) {
    must(wait_for([&] { return is_well_informed(one); }), "they do not find each other");
  }
}

void sentinels::start_replica() {
  servers_.emplace_back(redis_options{.extra = {"--replicaof", "127.0.0.1", std::to_string(master().port()),
                                                "--repl-diskless-sync-delay", "0"}});
}

/// One is always more patient than the one before: if all found out at the same time, each would vote for itself, and the
/// next election is seconds later. For the same reason one is enough to find out; it still needs the vote of a second.
void sentinels::start_sentinel() {
  const std::string about = std::string(" ") + name + " ";
  const int mine = patience * static_cast<int>(sentinels_.size() + 1);
  const std::string config = "sentinel monitor" + about + "127.0.0.1 " + std::to_string(master().port()) +
                             " 1\nsentinel down-after-milliseconds" + about + std::to_string(mine) +
                             "\nsentinel failover-timeout" + about + "3000\n";
  const redis_server& made =
      sentinels_.emplace_back(redis_options{.config = config, .extra = {"--sentinel"}});
  // How often they ask and tell: without this, every one to ten seconds. And a machine that stalled makes them stand back
  // from all decisions for 30 s. The period of their pings stays: a replica of which they heard nothing for five of them
  // is not promoted, and when the master is gone they ask once a second, whatever they are told here.
  const resp set = made.ask({"SENTINEL", "DEBUG", "info-period", "100", "ask-period", "100", "publish-period",
                             "100", "tilt-period", "500"});
  must(set.shown() == "OK", set.shown());
}

std::string sentinels::nodes() const {
  std::string all;
  for (const redis_server& one : sentinels_) {
    all += (all.empty() ? "" : ",") + one.node();
  }
  return all;
}

bool sentinels::replicas_are_in_sync() const {
  redis_link link(servers_.front().port());
  (void)link.ask({"PING"});  // WAIT is for what was written before the last command of the same connection
  return link.ask({"WAIT", std::to_string(replicas_), "1000"}).number == static_cast<std::int64_t>(replicas_);
}

bool sentinels::is_well_informed(const redis_server& sentinel) const {
  const resp known = sentinel.ask({"SENTINEL", "MASTER", name});
  return field(known, "flags") == "master" && field(known, "num-slaves") == std::to_string(replicas_) &&
         sentinel.ask({"SENTINEL", "CKQUORUM", name}).text.starts_with("OK 3 usable");
}

void sentinels::cut_replication() {
  must(wait_for([&] { return replicas_are_in_sync(); }), "the replicas are behind");
  // They come back at once; by then they may no longer ask for a copy.
  must(master().ask({"ACL", "SETUSER", "default", "-psync", "-sync"}).shown() == "OK", "the ACL is refused");
  must(!master().ask({"CLIENT", "KILL", "TYPE", "replica"}).is_error(), "the replicas cannot be cut off");
  must(wait_for([&] {
         return master().ask({"INFO", "replication"}).text.find("connected_slaves:0\r") != std::string::npos;
       }),
       "the replicas are still there");
}

redis_server& sentinels::new_master() {
  must(wait_for([&] { return agreed_master() != nullptr; }, 3 * generous),
       "no replica was promoted: " + sentinels_.front().log());
  return *agreed_master();
}

/// Other than the first, and known as the master to all of them and to itself; nothing as long as there is none.
redis_server* sentinels::agreed_master() {
  const auto is_named_by_all = [&](const redis_server& server) {
    return std::all_of(sentinels_.begin(), sentinels_.end(), [&](const redis_server& one) {
      const auto address = one.ask({"SENTINEL", "GET-MASTER-ADDR-BY-NAME", name}).texts();
      return address.size() == 2 && address[1] == std::to_string(server.port());
    });
  };
  const auto found = std::find_if(servers_.begin() + 1, servers_.end(), is_named_by_all);
  if (found == servers_.end() || found->ask({"ROLE"}).items.empty()) {
    return nullptr;
  }
  return found->ask({"ROLE"}).items.front().text == "master" ? &*found : nullptr;
}

}  // namespace cremone::test
