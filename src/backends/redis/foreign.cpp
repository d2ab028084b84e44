// SPDX-License-Identifier: Apache-2.0
#include "backends/redis/foreign.hpp"

#include "backends/redis/limits.hpp"
#include "backends/redis/value.hpp"
#include "base/amounts.hpp"
#include "base/text.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

namespace cremone::redis {

namespace {

using std::chrono::milliseconds;
using kind = reply::kind;

bool is_hex(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return std::isxdigit(static_cast<unsigned char>(c)) != 0; });
}

/// 8-4-4-4-12 hex digits.
bool is_uuid(std::string_view text) {
  constexpr std::size_t size = 36;
  return text.size() == size && text[8] == '-' && text[13] == '-' && text[18] == '-' && text[23] == '-' &&
         is_hex(text.substr(0, 8)) && is_hex(text.substr(9, 4)) && is_hex(text.substr(14, 4)) &&
         is_hex(text.substr(19, 4)) && is_hex(text.substr(24));
}

/// The value by which most lock programs recognise their own lock: a UUID, or 16 bytes in hex.
bool is_random_id(std::string_view text) {
  constexpr std::size_t hex_size = 32;
  return is_uuid(text) || (text.size() == hex_size && is_hex(text));
}

/// "<uuid>:<thread>".
bool is_redisson_field(std::string_view field) {
  const auto colon = field.find(':');
  if (colon == std::string_view::npos || !is_uuid(field.substr(0, colon))) {
    return false;
  }
  const std::string_view thread = field.substr(colon + 1);
  return !thread.empty() && thread.find_first_not_of("0123456789") == std::string_view::npos;
}

}  // namespace

std::string lock_like(const key_facts& key) {
  if (key.type == "hash") {
    return key.fields.size() == 1 && is_redisson_field(key.fields.front()) ? "a hash as Redisson keeps a lock"
                                                                           : "";
  }
  if (key.type != "string" || key.value.empty() || key.value.size() > longest_value) {
    return "";
  }
  if (decode_value(key.value).foreign.empty()) {
    return "a hold of cremone's layout=classic";
  }
  if (key.expires_in) {
    return "a string that expires in " + shown_length(*key.expires_in);
  }
  return is_random_id(key.value) ? "a random id without an expiry" : "";
}

std::optional<lock_name> foreign_locks::first_time(const lock_name& name) {
  if (!events_->probes() || denied_) {
    return std::nullopt;
  }
  const std::lock_guard lock(mutex_);
  if (looked_.size() >= most_names || !looked_.insert(name.str()).second) {
    return std::nullopt;
  }
  return name;
}

void foreign_locks::look_and_tell(const lock_name& name) {
  look(name, longest_limit, [self = shared_from_this(), name](const foreign_look& seen) {
    if (!seen.answered) {
      const std::lock_guard lock(self->mutex_);
      self->looked_.erase(name.str());  // the next acquire looks again
    } else if (!seen.found.empty() && (!self->roster_ || self->roster_->tells_first(name.str()))) {
      self->events_->tell(event_kind::foreign_lock, seen.found);
    }
  });
}

void foreign_locks::look(const lock_name& name, milliseconds limit, answer reply) {
  const std::array<std::string_view, 2> words = {"TYPE", name.str()};
  node_->command(words, limit,
                 [self = shared_from_this(), name, limit, reply = std::move(reply)](outcome o) mutable {
                   const auto* type = std::get_if<redis::reply>(&o);
                   if (type == nullptr) {
                     return reply(self->unseen(std::get<failure>(o)));
                   }
                   const bool own = name.str().starts_with(self->node_->settings().prefix + ":");
                   if (!own && type->text == "string") {
                     return self->look_at_string(name, limit, std::move(reply));
                   }
                   if (!own && type->text == "hash") {
                     return self->look_at_hash(name, limit, std::move(reply));
                   }
                   reply({});
                 });
}

/// Replies arrive in the order of the commands, so the second reply completes the facts.
void foreign_locks::look_at_string(const lock_name& name, milliseconds limit, answer reply) {
  static const std::string end = std::to_string(longest_value);
  const auto key = std::make_shared<key_facts>(key_facts{.type = "string"});
  const std::array<std::string_view, 2> expiry = {"PTTL", name.str()};
  node_->command(expiry, limit, [key](const outcome& o) {
    const auto* r = std::get_if<redis::reply>(&o);
    if (r != nullptr && r->is(kind::integer) && r->number >= 0) {
      key->expires_in = milliseconds(r->number);
    }
  });
  const std::array<std::string_view, 4> value = {"GETRANGE", name.str(), "0", end};
  node_->command(value, limit,
                 [self = shared_from_this(), name, key, reply = std::move(reply)](outcome o) mutable {
                   auto* r = std::get_if<redis::reply>(&o);
                   if (r == nullptr) {
                     return reply(self->unseen(std::get<failure>(o)));
                   }
                   key->value = std::move(r->text);
                   reply(self->judged(name, *key));
                 });
}

void foreign_locks::look_at_hash(const lock_name& name, milliseconds limit, answer reply) {
  const std::array<std::string_view, 3> words = {"HRANDFIELD", name.str(), "2"};  // a lock has one field
  node_->command(words, limit,
                 [self = shared_from_this(), name, reply = std::move(reply)](outcome o) mutable {
                   auto* r = std::get_if<redis::reply>(&o);
                   if (r == nullptr) {
                     return reply(self->unseen(std::get<failure>(o)));
                   }
                   key_facts key{.type = "hash"};
                   for (redis::reply& field : r->items) {
                     key.fields.push_back(std::move(field.text));
                   }
                   reply(self->judged(name, key));
                 });
}

foreign_look foreign_locks::unseen(const failure& f) {
  denied_ = denied_ || f.lacks.has_value();
  const bool silent = f.why == errc::unreachable || f.why == errc::outcome_unknown;
  return {.answered = !silent, .denied = f.lacks.has_value()};
}

foreign_look foreign_locks::judged(const lock_name& name, const key_facts& key) const {
  const std::string why = lock_like(key);
  if (why.empty()) {
    return {};
  }
  // A Redisson lock is a hash, which layout=classic does not share.
  const std::string_view advice =
      key.type == "hash" ? "Use another name"
                         : "To share one lock with redis-py, redsync, node-redlock or another client with "
                           "layout=classic, use layout=classic; else use another name";
  return {.found = node_->server() + ": the key '" + printable(name.str()) + "' looks like another lock (" +
                   why + "), and this lock does not exclude it: both can be held at once. " +
                   std::string(advice)};
}

}  // namespace cremone::redis
