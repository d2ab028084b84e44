// SPDX-License-Identifier: Apache-2.0
//
// Publish and subscribe. A message goes out when it is published, to those who listen at that moment and to nobody else.
#include "sim/redis/access.hpp"
#include "sim/redis/commands.hpp"

#include <algorithm>

namespace cremone::sim {

namespace {

void say_subscription(request& r, std::string_view what, const std::string_view* channel, std::size_t left) {
  append_array(r.out, 3);
  append_bulk(r.out, what);
  if (channel == nullptr) {
    r.out += null_reply;
  } else {
    append_bulk(r.out, *channel);
  }
  append_number(r.out, static_cast<std::int64_t>(left));
}

void drop(server_state& server, std::uint64_t connection, std::string_view channel) {
  const auto at = server.channels.find(channel);
  if (at != server.channels.end()) {
    std::erase(at->second, connection);
    if (at->second.empty()) {
      server.channels.erase(at);
    }
  }
}

}  // namespace

void run_subscribe(request& r) {
  auto& mine = r.server.connections[r.connection].channels;
  for (const std::string_view channel : r.words.subspan(1)) {
    if (std::find(mine.begin(), mine.end(), channel) == mine.end()) {
      mine.emplace_back(channel);
      r.server.channels[std::string(channel)].push_back(r.connection);
    }
    say_subscription(r, "subscribe", &channel, mine.size());
  }
}

void run_unsubscribe(request& r) {
  auto& mine = r.server.connections[r.connection].channels;
  const std::vector<std::string> all =
      r.words.size() == 1 ? mine : std::vector<std::string>(r.words.begin() + 1, r.words.end());
  for (const std::string& channel : all) {
    std::erase(mine, channel);
    drop(r.server, r.connection, channel);
    const std::string_view name = channel;
    say_subscription(r, "unsubscribe", &name, mine.size());
  }
  if (all.empty()) {
    say_subscription(r, "unsubscribe", nullptr, 0);
  }
}

void run_publish(request& r) {
  const auto at = r.server.channels.find(r.word(1));
  std::int64_t heard = 0;
  if (at != r.server.channels.end()) {
    std::string message;
    append_array(message, 3);
    append_bulk(message, "message");
    append_bulk(message, r.word(1));
    append_bulk(message, r.word(2));
    for (const std::uint64_t listener : at->second) {
      r.server.out->push_back({listener, message});
      ++heard;
    }
  }
  append_number(r.out, heard);
}

void run_pubsub_numsub(request& r) {
  append_array(r.out, 2 * (r.words.size() - 2));
  for (const std::string_view channel : r.words.subspan(2)) {
    const auto at = r.server.channels.find(channel);
    append_bulk(r.out, channel);
    append_number(r.out, at == r.server.channels.end() ? 0 : static_cast<std::int64_t>(at->second.size()));
  }
}

void forget_listener(server_state& server, std::uint64_t connection) {
  const auto at = server.connections.find(connection);
  if (at == server.connections.end()) {
    return;
  }
  for (const std::string& channel : at->second.channels) {
    drop(server, connection, channel);
  }
  at->second.channels.clear();
}

}  // namespace cremone::sim
