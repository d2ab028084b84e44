// SPDX-License-Identifier: Apache-2.0
//
// What tests of redlock:// against real servers share: the servers, open for locks, and the URL of each layout.
#pragma once

#include "live/redis_fixture.hpp"
#include "support/redlock_servers.hpp"

#include <stdlib.h>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

namespace cremone::test {

/// Servers that nobody has used before, and a directory for what is seen of them. Ports come again, and no test shall
/// remember what another saw there.
class redlock_world {
 public:
  redlock_world(layout l, std::chrono::milliseconds max_ttl, const redis_options& each = {},
                std::size_t how_many = 5)
      : layout_(l), max_ttl_(max_ttl), servers_(how_many, each) {
    ::setenv("CREMONE_STATE_DIR", directory_.path().c_str(), 1);
  }
  redlock_world(const redlock_world&) = delete;
  redlock_world& operator=(const redlock_world&) = delete;
  ~redlock_world() { ::unsetenv("CREMONE_STATE_DIR"); }

  [[nodiscard]] layout kind() const noexcept { return layout_; }
  [[nodiscard]] redlock_servers& servers() noexcept { return servers_; }
  [[nodiscard]] const redlock_servers& servers() const noexcept { return servers_; }

  /// What stands behind the question mark. A ring has a name here, because clients that come by a road of their own know
  /// the servers by other ports.
  [[nodiscard]] std::string options(const std::string& more = "") const {
    if (layout_ == layout::classic) {
      return "layout=classic" + more;
    }
    return "layout=record&prefix=t&ring=t&max_ttl=" + std::to_string(max_ttl_.count()) + "ms" + more;
  }
  [[nodiscard]] std::string url(const std::string& more = "") const { return servers_.url(options(more)); }

  /// By order of a person: nobody can hold a lock from before.
  void open_up(const std::string& more = "") const {
    if (layout_ == layout::classic) {
      return;
    }
    client by = opened(url(more));
    const auto ended = by.end_quarantine();
    EXPECT_TRUE(ended) << ended.error().message();
    EXPECT_TRUE(wait_for([&] { return quarantined(by).empty(); })) << quarantined(by);
  }

  /// "ABC": those that give out no votes, as this client sees it.
  [[nodiscard]] std::string quarantined(const client& by) const {
    const auto all = by.quarantine();
    if (!all) {
      return all.error().message();
    }
    std::string letters;
    for (std::size_t i = 0; i < all->size(); ++i) {
      letters += (*all)[i].quarantined ? letter(i) : "";
    }
    return letters;
  }

  /// "ABC": who has given a vote.
  [[nodiscard]] std::string votes(const std::string& name = "lock") const {
    return servers_.votes(layout_, name, "t");
  }

  /// For whom each of them has voted.
  [[nodiscard]] std::vector<std::string> ballots() const {
    std::vector<std::string> all;
    for (std::size_t i = 0; i < servers_.size(); ++i) {
      all.push_back(servers_.voted_for(i, layout_, "lock", "t"));
    }
    return all;
  }

 private:
  temp_directory directory_;
  layout layout_;
  std::chrono::milliseconds max_ttl_;
  redlock_servers servers_;
};

}  // namespace cremone::test
