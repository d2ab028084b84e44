// SPDX-License-Identifier: Apache-2.0
//
// Asks the sentinels of a Redis where its master is: one after the other, each over a connection of its own that lasts
// for one question. Decides whom to ask first, for how long, and what their answers amount to. Whether who is found
// there is a master in truth is for the session to see, which then says so here.
#pragma once

#include "backends/redis/settings.hpp"
#include "base/env.hpp"
#include "base/resp.hpp"
#include "base/transport.hpp"

#include <cremone/callback.hpp>
#include <cremone/result.hpp>

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cremone::redis {

/// A server, and which sentinel calls it the master.
struct sighted_master {
  endpoint at;
  std::string said_by;
};

/// Threads: everything on the executor.
class finder : public std::enable_shared_from_this<finder> {
 public:
  /// For one sentinel. It keeps what it is asked for in memory: one that takes longer is in trouble.
  static constexpr std::chrono::milliseconds sentinel_limit{500};

  /// For all of them together, so that there is time left to connect to who was found (session::connect_limit). Those that
  /// were not reached in it are asked first the next time.
  static constexpr std::chrono::milliseconds search_limit{1500};

  finder(std::shared_ptr<env> e, std::shared_ptr<transport> net, const node_settings& to);

  /// Begins with who answered last. `answer` comes once, later, unless it is closed before. Whoever asks while others are
  /// waiting gets the same answer as they do.
  /// The error names every sentinel and what was wrong with it. Its code is what most of them were wrong with
  /// (*misconfigured*: they know no such master), else *unreachable*: the others may know better when they are back.
  void find(callback<void(const result<sighted_master>&)> answer);

  /// Who was found last was no master, or not there at all. A sentinel that is cut off from the others says the same for as
  /// long as that lasts: another one is asked first the next time.
  void led_astray() noexcept;

  [[nodiscard]] const std::string& master() const noexcept { return ask_.master; }

  void close() noexcept;

 private:
  class line;

  void ask_next();
  void say();
  void take(std::string_view bytes);
  [[nodiscard]] std::optional<error> admitted(const reply& r) const;
  [[nodiscard]] result<endpoint> judge(const reply& r) const;
  void failed(error why);
  void give_up();
  void finish(const result<sighted_master>& found);
  void hang_up() noexcept;
  [[nodiscard]] std::string asked() const;

  const std::shared_ptr<env> env_;
  const std::shared_ptr<transport> net_;
  const sentinel_settings ask_;
  const std::optional<tls_settings> tls_;  // of the servers

  bool closed_ = false;
  std::vector<callback<void(const result<sighted_master>&)>> waiting_;
  std::size_t first_ = 0;  // to be asked in this search, or the next
  std::size_t count_ = 0;  // of those asked in this search
  instant until_{};
  std::vector<error> troubles_;  // of those, in the same order

  std::unique_ptr<timer> timer_;
  std::shared_ptr<line> line_;  // the events of the connection at hand; late ones of earlier lines go nowhere
  std::shared_ptr<connection> connection_;
  reply_reader reader_;
  bool admission_due_ = false;  // the answer to AUTH
};

}  // namespace cremone::redis
