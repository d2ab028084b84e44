// SPDX-License-Identifier: Apache-2.0
#include "support/seam_words.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace cremone::test {

namespace {

std::string with_code(const char* kind, const error& why) {
  return kind + std::string(": ") + std::string(to_string(why.code()));
}

}  // namespace

owner_id fresh_owner() {
  std::random_device source;  // the system's own: another process that tests the same server draws others
  owner_id::bytes raw{};
  std::generate(raw.begin(), raw.end(), [&] { return static_cast<std::uint8_t>(source()); });
  return owner_id(raw);
}

acquire_request wanting(const lock_name& name, const owner_id& owner) {
  using std::chrono::microseconds;
  return {.name = name,
          .owner = owner,
          .mode = mode::exclusive,
          .ttl = long_ttl,
          .who = {"host.example", 4711, "deploy", "a test", wall_time(microseconds(1'794'772'173'125'411))},
          .join = false,
          .wake = {}};
}

acquire_request queueing(const lock_name& name, const owner_id& owner,
                         const std::shared_ptr<hint_sink>& wake) {
  acquire_request r = wanting(name, owner);
  r.join = true;
  r.wake = wake;
  return r;
}

renewal renewing(const lock_name& name, const owner_id& owner, fence_token token, std::uint64_t seq) {
  return {.name = &name, .owner = owner, .seq = seq, .token = token, .ttl = long_ttl};
}

std::string shown(const answer& a) {
  if (const auto* no = std::get_if<refused>(&a)) {
    return with_code("refused", no->why);
  }
  if (const auto* doubt = std::get_if<unknown>(&a)) {
    return with_code("unknown", doubt->why);
  }
  return "done";
}

std::string shown(const acquire_answer& a) {
  if (const auto* no = std::get_if<rejection>(&a)) {
    return with_code("refused", no->why);
  }
  if (const auto* doubt = std::get_if<unknown>(&a)) {
    return with_code("unknown", doubt->why);
  }
  return std::get<grant>(a).repeated ? "granted again" : "granted";
}

grant granted(const acquire_answer& a) {
  if (const auto* yes = std::get_if<grant>(&a)) {
    return *yes;
  }
  ADD_FAILURE() << "not granted but " << shown(a);
  return {};
}

rejection rejected(const acquire_answer& a) {
  if (const auto* no = std::get_if<rejection>(&a)) {
    return *no;
  }
  ADD_FAILURE() << "not refused but " << shown(a);
  return {};
}

}  // namespace cremone::test
