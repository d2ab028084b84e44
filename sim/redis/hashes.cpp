// SPDX-License-Identifier: Apache-2.0
//
// Commands about hashes.
#include "sim/redis/access.hpp"
#include "sim/redis/commands.hpp"

namespace cremone::sim {

namespace {

const std::string* field_of(const hash_value* fields, std::string_view name) {
  if (fields == nullptr) {
    return nullptr;
  }
  const auto at = fields->find(name);
  return at == fields->end() ? nullptr : &at->second;
}

void append_field(request& r, const std::string* value) {
  if (value == nullptr) {
    r.out += null_reply;
  } else {
    append_bulk(r.out, *value);
  }
}

}  // namespace

void run_hget(request& r) {
  hash_value* fields = nullptr;
  if (find_as(r, r.word(1), fields)) {
    append_field(r, field_of(fields, r.word(2)));
  }
}

void run_hmget(request& r) {
  hash_value* fields = nullptr;
  if (!find_as(r, r.word(1), fields)) {
    return;
  }
  append_array(r.out, r.words.size() - 2);
  for (const std::string_view name : r.words.subspan(2)) {
    append_field(r, field_of(fields, name));
  }
}

void run_hset(request& r) {
  if (r.words.size() % 2 != 0) {
    return say_wrong_count(r, "hset");
  }
  hash_value* fields = nullptr;
  if (!find_as(r, r.word(1), fields)) {
    return;
  }
  if (fields == nullptr) {
    fields = &std::get<hash_value>(r.server.keys.replace(r.word(1), hash_value()).value);
  }
  std::int64_t added = 0;
  for (std::size_t i = 2; i < r.words.size(); i += 2) {
    auto at = fields->lower_bound(r.word(i));
    if (at == fields->end() || at->first != r.word(i)) {
      fields->emplace_hint(at, r.word(i), r.word(i + 1));
      ++added;
    } else {
      at->second = r.word(i + 1);
    }
  }
  note_change(r, r.word(1));
  append_number(r.out, added);
}

void run_hdel(request& r) {
  hash_value* fields = nullptr;
  if (!find_as(r, r.word(1), fields)) {
    return;
  }
  std::int64_t deleted = 0;
  for (std::size_t i = 2; fields != nullptr && i < r.words.size(); ++i) {
    if (const auto at = fields->find(r.word(i)); at != fields->end()) {
      fields->erase(at);
      ++deleted;
    }
  }
  if (deleted > 0) {
    note_change(r, r.word(1));
    if (fields->empty()) {
      remove(r, r.word(1));
    }
  }
  append_number(r.out, deleted);
}

void run_hgetall(request& r) {
  hash_value* fields = nullptr;
  if (!find_as(r, r.word(1), fields)) {
    return;
  }
  append_array(r.out, fields == nullptr ? 0 : 2 * fields->size());
  if (fields != nullptr) {
    for (const auto& [name, value] : *fields) {
      append_bulk(r.out, name);
      append_bulk(r.out, value);
    }
  }
}

void run_hlen(request& r) {
  hash_value* fields = nullptr;
  if (find_as(r, r.word(1), fields)) {
    append_number(r.out, fields == nullptr ? 0 : static_cast<std::int64_t>(fields->size()));
  }
}

void run_hexists(request& r) {
  hash_value* fields = nullptr;
  if (find_as(r, r.word(1), fields)) {
    append_number(r.out, field_of(fields, r.word(2)) != nullptr ? 1 : 0);
  }
}

}  // namespace cremone::sim
