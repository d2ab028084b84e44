// SPDX-License-Identifier: Apache-2.0
#include "power/machine.hpp"

#include "backends/sqlite/database.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <mutex>
#include <optional>
#include <variant>

namespace cremone::test {

using namespace std::chrono_literals;

/// The power may go during any of it.
template <class F>
void machine::guarded(F&& what) {
  try {
    what();
  } catch (const sqlite::failure& f) {
    if (disk_.on()) {
      ADD_FAILURE() << "it failed with the power on: " << f.why.message();
    }
  }
}

void machine::open() {
  sqlite::store_settings settings;
  settings.path = path_;
  settings.vfs = vfs_.name();
  settings.boot.fill(boot_);
  guarded([&] {
    for (int i = 0; i < 2 && disk_.on(); ++i) {
      clients_.push_back(sqlite::store::open(settings));
    }
  });
}

void machine::work(int operations, std::chrono::microseconds step) {
  for (int i = 0; i < operations && disk_.on() && !clients_.empty(); ++i) {
    const std::chrono::microseconds passed(draw(static_cast<std::uint64_t>(step.count())));
    now_ += passed;
    wall_ += passed;
    guarded([this] { one_operation(); });
  }
}

void machine::lose_power() {
  clients_.clear();
  held_.clear();
  disk_.come_back(random_);
  ++boot_;
  now_ = 10s;
  floor_ = highest_;
}

void machine::kill_programs() {
  clients_.clear();
  held_.clear();
  disk_.carry_on();
}

void machine::one_operation() {
  sqlite::store& by = *clients_[draw(clients_.size())];
  const std::string name = some_name();
  switch (draw(16)) {
    default: return acquire(by, name);
    case 8:
    case 9: return renew(by, name);
    case 10:
    case 11:
    case 12:
    case 13: return release(by, name);
    case 14: return evict(by, name);
    case 15: return with_room(by, [&] { by.sweep(time()); });
  }
}

/// As the backend does it: the simple way first.
void machine::acquire(sqlite::store& by, const std::string& name) {
  acquire_request request;
  request.name = name;
  request.owner = fresh_owner();
  request.ttl = 30s;
  request.join = draw(8) == 0;
  std::optional<grant> yes = with_room(by, [&] { return by.take(request, time()); });
  if (!yes) {
    bool freed = false;
    const acquire_answer answer = with_room(by, [&] { return by.try_acquire(request, time(), freed); });
    if (const auto* granted = std::get_if<grant>(&answer)) {
      yes = *granted;
    }
  }
  if (!yes) {
    return;
  }
  const std::uint64_t token = yes->token.value();
  EXPECT_GT(token, floor_) << "a token of '" << name << "' is not above those from before the power cut";
  EXPECT_GT(token, last_[name]) << "a token of '" << name << "' is not above the last one of this lock";
  last_[name] = token;
  highest_ = std::max(highest_, token);
  held_[name] = request.owner;
}

void machine::renew(sqlite::store& by, const std::string& name) {
  if (const auto at = held_.find(name); at != held_.end()) {
    const lock_name lock(name);
    renewal item;
    item.name = &lock;
    item.owner = at->second;
    item.ttl = 30s;
    (void)with_room(by, [&] { return by.renew({&item, 1}, time()); });
  }
}

void machine::release(sqlite::store& by, const std::string& name) {
  if (const auto at = held_.find(name); at != held_.end()) {
    bool freed = false;
    (void)with_room(by, [&] { return by.release({name, at->second}, time(), freed); });
    held_.erase(name);
  }
}

void machine::evict(sqlite::store& by, const std::string& name) {
  const lock_record seen = by.inspect(name, time());
  if (!seen.holders.empty()) {
    bool freed = false;
    (void)with_room(by, [&] { return by.evict(name, seen.holders.front().version, time(), freed); });
    held_.erase(name);
  }
}

void machine::expect_all_is_well() {
  expect_sound_file();
  guarded([this] {
    std::vector<std::string> names{"never-used"};
    for (const auto& [name, token] : last_) {
      names.push_back(name);
    }
    for (const std::string& name : names) {
      now_ += 1s;  // past the claim time of whoever waited
      evict(*clients_.front(), name);
      acquire(*clients_.back(), name);
      EXPECT_TRUE(held_.contains(name)) << "'" << name << "' cannot be had";
      release(*clients_.front(), name);
    }
  });
}

void machine::expect_sound_file() {
  guarded([this] {
    sqlite::database file(path_, vfs_.name());
    const std::lock_guard lock(file.mutex());
    EXPECT_EQ(file.text("PRAGMA integrity_check"), "ok");
    EXPECT_EQ(file.text("PRAGMA journal_mode"), "wal");
  });
}

owner_id machine::fresh_owner() {
  owner_id::bytes raw{};
  std::generate(raw.begin(), raw.end(), [this] { return static_cast<std::uint8_t>(draw(256)); });
  return owner_id(raw);
}

/// A few that are used again and again, and some that come once and are swept away.
std::string machine::some_name() {
  return draw(8) == 0 ? "once-" + std::to_string(draw(1000)) : "often-" + std::to_string(draw(5));
}

sqlite::store_time machine::time() const { return {instant(now_), wall_time(wall_)}; }

}  // namespace cremone::test
