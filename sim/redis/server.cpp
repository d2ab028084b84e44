// SPDX-License-Identifier: Apache-2.0
#include "sim/redis/server.hpp"

#include "sim/redis/commands.hpp"
#include "sim/redis/state.hpp"

#include <chrono>
#include <utility>

namespace cremone::sim {

redis_server::redis_server(lua& interpreter, std::string run_id, wall_time now)
    : state_(std::make_unique<server_state>(server_state{&interpreter, std::move(run_id), now, now})) {
  state_->counts.resize(all_commands().size());
}

redis_server::redis_server(redis_server&&) noexcept = default;
redis_server& redis_server::operator=(redis_server&&) noexcept = default;
redis_server::~redis_server() = default;

void redis_server::receive(std::uint64_t connection, std::string_view bytes, wall_time now,
                           std::vector<utterance>& out) {
  server_state& s = *state_;
  connection_state& from = s.connections[connection];
  if (from.broken) {
    return;
  }
  s.now = now;
  s.out = &out;
  from.reader.feed(bytes);
  std::vector<std::string_view> words;
  std::string error;
  for (;;) {
    const auto got = from.reader.next(words, error);
    std::string reply;
    if (got == command_reader::state::more) {
      break;
    }
    if (got == command_reader::state::broken) {
      from.broken = true;
      append_error(reply, error);
      out.push_back({connection, std::move(reply)});
      break;
    }
    if (words.empty()) {
      continue;
    }
    s.changed.clear();
    request r{s, words, connection, false, reply};
    execute(r);
    if (witness_) {
      witness_(words, reply, s.changed);
    }
    out.push_back({connection, std::move(reply)});
  }
  from.reader.compact();
  s.out = nullptr;
}

void redis_server::disconnect(std::uint64_t connection) {
  forget_listener(*state_, connection);
  state_->connections.erase(connection);
}

void redis_server::restart(std::string run_id, wall_time now, keyspace kept) {
  server_state next{state_->interpreter, std::move(run_id), now, now};
  next.counts.resize(all_commands().size());
  next.keys = std::move(kept);
  next.keys.expire(std::chrono::floor<std::chrono::milliseconds>(now).time_since_epoch().count());
  next.notes_changes = state_->notes_changes;
  *state_ = std::move(next);
}

const keyspace& redis_server::keys() const { return state_->keys; }

void redis_server::on_command(witness w) {
  state_->notes_changes = static_cast<bool>(w);
  witness_ = std::move(w);
}

}  // namespace cremone::sim
