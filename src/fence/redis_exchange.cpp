// SPDX-License-Identifier: Apache-2.0
#include "fence/redis_exchange.hpp"

#include "base/reading.hpp"

#include <optional>
#include <utility>
#include <vector>

namespace cremone::fence {

namespace {

using effect = redis_exchange::effect;
using kind = redis::reply::kind;

redis_reply published(redis::reply&& r) {
  switch (r.what) {
    case kind::nil: return {};
    case kind::integer: return {r.number};
    case kind::list: break;
    default: return {std::move(r.text)};
  }
  std::vector<redis_reply> all;
  all.reserve(r.items.size());
  for (redis::reply& item : r.items) {
    all.push_back(published(std::move(item)));
  }
  return {std::move(all)};
}

error unexpected(const redis_exchange& over, const resource_name& resource) {
  return {errc::protocol_error,
          "resource '" + resource.str() + "' in " + over.place() +
              ": the server sent a reply that this command never has; is the server Redis?"};
}

/// Between MULTI and EXEC the server only queues a command. Whether the token passes is known at
/// EXEC.
std::optional<error> queued(const redis_exchange& over, const redis::reply& r) {
  if (!r.is(kind::status) || r.text != "QUEUED") {
    return std::nullopt;
  }
  return error(errc::misconfigured,
               over.place() +
                   ": the connection is in a MULTI: DISCARD it; the command was only queued, and nothing was "
                   "written, but EXEC would execute it");
}

result<redis::reply> ask(redis_exchange& over, effect what, std::string_view verb, std::string_view first,
                         const std::vector<std::string>& rest = {}) {
  std::vector<std::string_view> words = {verb, first};
  words.insert(words.end(), rest.begin(), rest.end());
  return over.ask(words, what);
}

}  // namespace

error without_reply(const std::string& place, std::string_view why, effect what) {
  const std::string begin =
      place + ": the command was sent, but no usable reply came (" + std::string(why) + "). ";
  if (what == effect::none) {
    return {errc::unreachable, begin + "The command writes nothing. Try again"};
  }
  return {errc::outcome_unknown, begin + "It may have been executed. You may repeat it with the same token"};
}

result<redis_reply> run_command(redis_exchange& over, const resource_name& resource,
                                const result<redis_command>& what) {
  if (!what) {
    return what.error();
  }
  if (const auto fine = over.ready(); !fine) {
    return fine.error();
  }
  auto said = ask(over, effect::write, "EVALSHA", what->sha, what->words);
  if (said && said->is(kind::error) && said->text.starts_with("NOSCRIPT")) {
    said = ask(over, effect::write, "EVAL", what->script, what->words);
  }
  if (!said) {
    return said.error();
  }
  if (const auto kept = queued(over, *said)) {
    return *kept;
  }
  if (said->is(kind::error)) {
    return read_redis_error(said->text, resource, over.place());
  }
  return published(std::move(*said));
}

result<void> run_to_ok(redis_exchange& over, const resource_name& resource,
                       const result<redis_command>& what) {
  const auto answer = run_command(over, resource, what);
  if (!answer) {
    return answer.error();
  }
  const auto* const text = std::get_if<std::string>(&answer->value);
  if (text == nullptr || *text != "OK") {
    return unexpected(over, resource);
  }
  return {};
}

result<std::int64_t> run_to_count(redis_exchange& over, const resource_name& resource,
                                  const result<redis_command>& what) {
  const auto answer = run_command(over, resource, what);
  if (!answer) {
    return answer.error();
  }
  const auto* const number = std::get_if<std::int64_t>(&answer->value);
  if (number == nullptr) {
    return unexpected(over, resource);
  }
  return *number;
}

result<fence_token> read_highest(redis_exchange& over, const redis_commands& commands,
                                 const resource_name& resource) {
  const auto key = commands.mark_key(resource);
  if (!key) {
    return key.error();
  }
  if (const auto fine = over.ready(); !fine) {
    return fine.error();
  }
  const auto said = ask(over, effect::none, "GET", *key);
  if (!said) {
    return said.error();
  }
  if (const auto kept = queued(over, *said)) {
    return *kept;
  }
  if (said->is(kind::nil)) {
    return fence_token{};
  }
  const auto number = whole_number<std::uint64_t>(said->text);
  const bool digits = said->text.find_first_not_of("0123456789") == std::string::npos;
  if (said->is(kind::text) && digits && number && *number < fence_token::limit) {
    return fence_token(*number);
  }
  if (said->is(kind::error) && !said->text.starts_with("WRONGTYPE")) {
    return read_redis_error(said->text, resource, over.place());
  }
  return read_redis_error("BADMARK something that is no fence token stands at " + *key, resource,
                          over.place());
}

}  // namespace cremone::fence
