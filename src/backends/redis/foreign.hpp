// SPDX-License-Identifier: Apache-2.0
//
// Locks of the same name in another layout. `record` keeps a lock at `<prefix>:lock:<name>`; redis-py, redsync,
// node-redlock, Redisson and the layout `classic` keep theirs at the plain name. The two do not exclude each other, and
// without this check nothing would say so. Decides what looks like a lock, and asks the server; advice only: no grant
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

/// What stands at a key, as far as it was read.
struct key_facts {
  std::string type;                                       ///< as TYPE names it
  std::optional<std::chrono::milliseconds> expires_in{};  ///< empty: never
  std::string value{};                ///< of a string: the first `longest_value` + 1 bytes
  std::vector<std::string> fields{};  ///< of a hash: at most two of them
};

/// Why this looks like another program's lock, as "a string that expires in 9.8 s"; empty: it does not. Lock-like are:
/// a string of at most `longest_value` bytes that expires (SET NX PX), that is a value of the layout `classic`, or that
/// is a random id (redis-py without a timeout); a hash whose one field is `<uuid>:<thread>` (Redisson).
[[nodiscard]] std::string lock_like(const key_facts& key);

/// What one look brought.
struct foreign_look {
  std::string found{};   ///< a sentence that names server and key, and says what to do; empty: nothing
  bool answered = true;  ///< false: nothing came back from the server
  bool denied = false;   ///< the ACL does not let us look
};

/// Threads: all members from any thread; answers come on the executor.
class foreign_locks : public std::enable_shared_from_this<foreign_locks> {
 public:
  /// A client that uses more names than this has been warned by then, or its names are made up as it goes along. Bounds
  /// the memory, and the requests of a client that uses each name once.
  static constexpr std::size_t most_names = 1024;

  foreign_locks(std::shared_ptr<node> server, std::shared_ptr<const event_hub> events)
      : node_(std::move(server)), events_(std::move(events)) {}

  /// One of several servers: of these only the first that finds something says so. Before the first call.
  void join(std::shared_ptr<roster> all) { roster_ = std::move(all); }

  /// Is this the first acquire of this name, and does somebody listen to events? Then the caller sends the acquire and
  /// calls look_and_tell() with this copy behind it, so that the acquire waits for nothing.
  [[nodiscard]] std::optional<lock_name> first_time(const lock_name& name);

  /// Looks, and tells what is found as *foreign_lock*. A server whose ACL denies the look is not asked again.
  void look_and_tell(const lock_name& name);

  /// `limit`: for each of at most two round trips.
  void look(const lock_name& name, std::chrono::milliseconds limit, callback<void(foreign_look)> reply);

 private:
  using answer = callback<void(foreign_look)>;

  void look_at_record(const lock_name& name, std::chrono::milliseconds limit, answer reply);
  void look_at_string(const lock_name& name, std::chrono::milliseconds limit, answer reply);
  void look_at_hash(const lock_name& name, std::chrono::milliseconds limit, answer reply);
  [[nodiscard]] foreign_look unseen(const failure& f);
  [[nodiscard]] foreign_look judged(const lock_name& name, const key_facts& key) const;

  const std::shared_ptr<node> node_;
  const std::shared_ptr<const event_hub> events_;
  std::shared_ptr<roster> roster_;  // null: the only one

  std::atomic<bool> denied_ = false;
  std::mutex mutex_;
  std::unordered_set<std::string> looked_;  // at these names
};

}  // namespace cremone::redis
