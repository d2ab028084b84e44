// SPDX-License-Identifier: Apache-2.0
//
// Finds locks of the same name that another program keeps. The layout `record` keeps a lock at
// `<prefix>:lock:<name>`; redis-py, redsync, node-redlock, Redisson and the layout `classic` use
// the plain name as key. The two locks do not exclude each other. The check is advice: no grant
// depends on it.
#pragma once

#include "backends/redis/node.hpp"
#include "backends/redis/roster.hpp"
#include "base/events.hpp"

#include <cremone/callback.hpp>
#include <cremone/types.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

namespace cremone::redis {

/// The part of a key that was read.
struct key_facts {
  std::string type;                                       ///< as TYPE names it
  std::optional<std::chrono::milliseconds> expires_in{};  ///< empty: never
  std::string value{};                ///< of a string: the first `longest_value` + 1 bytes
  std::vector<std::string> fields{};  ///< of a hash: at most two of them
};

/// Why the key looks like another program's lock, such as "a string that expires in 9.8 s". Empty
/// if the key does not. These look like locks:
/// - a string of at most `longest_value` bytes that expires (SET NX PX), is a value of the layout
///   `classic`, or is a random id (redis-py without a timeout);
/// - a hash whose only field is `<uuid>:<thread>` (Redisson).
[[nodiscard]] std::string lock_like(const key_facts& key);

/// The result of one look at a name.
struct foreign_look {
  /// A message that names server and key, and says what to do. Empty: no lock found.
  std::string found{};
  bool answered = true;  ///< false: the server did not reply
  bool denied = false;   ///< the ACL user may not read the key
};

/// Threads: all members from any thread; answers come on the executor.
class foreign_locks : public std::enable_shared_from_this<foreign_locks> {
 public:
  /// Only the first names of a client are checked. This bounds the memory, and the extra commands
  /// of a client that uses each name once. If a client with more names shares names with another
  /// program, one of the first names is usually among them.
  static constexpr std::size_t most_names = 1024;

  foreign_locks(std::shared_ptr<node> server, std::shared_ptr<const event_hub> events)
      : node_(std::move(server)), events_(std::move(events)) {}

  /// For one of several servers: only the first server that finds a lock reports it. Call before
  /// all else.
  void join(std::shared_ptr<roster> all) { roster_ = std::move(all); }

  /// A copy of the name if this is its first acquire and the client has an event handler. The
  /// caller sends the acquire first and then calls look_and_tell(), so the acquire never waits for
  /// the look.
  [[nodiscard]] std::optional<lock_name> first_time(const lock_name& name);

  /// Looks, and reports a lock as the event *foreign_lock*. After a denial by the ACL, first_time()
  /// returns no more names.
  void look_and_tell(const lock_name& name);

  /// `limit`: for each of at most two round trips.
  void look(const lock_name& name, std::chrono::milliseconds limit, callback<void(foreign_look)> reply);

 private:
  using answer = callback<void(foreign_look)>;

  void look_at_string(const lock_name& name, std::chrono::milliseconds limit, answer reply);
  void look_at_hash(const lock_name& name, std::chrono::milliseconds limit, answer reply);
  [[nodiscard]] foreign_look unseen(const failure& f);
  [[nodiscard]] foreign_look judged(const lock_name& name, const key_facts& key) const;

  const std::shared_ptr<node> node_;
  const std::shared_ptr<const event_hub> events_;
  std::shared_ptr<roster> roster_;  // null: a single server

  std::atomic<bool> denied_ = false;
  std::mutex mutex_;
  std::unordered_set<std::string> looked_;  // the names already checked
};

}  // namespace cremone::redis
