// SPDX-License-Identifier: Apache-2.0
//
// Several independent Redis servers, as redlock:// wants them, and a client's own road to them: a proxy before each, so that one
// client can be cut off from some of the servers, or have its messages delayed there, while others are not. Knows keys of
// both layouts as far as it takes to see whether a server has a vote for somebody.
#pragma once

#include "support/redis_server.hpp"
#include "support/tcp_proxy.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

namespace cremone::test {

enum class layout : bool { classic, record };

[[nodiscard]] inline std::string word(layout l) { return l == layout::classic ? "classic" : "record"; }
inline std::ostream& operator<<(std::ostream& out, layout l) { return out << word(l); }  // for GoogleTest

/// A, B, C, … as the servers are called in stories.
[[nodiscard]] inline std::string letter(std::size_t server) {
  return std::string(1, static_cast<char>('A' + static_cast<char>(server)));
}

/// "redlock://one,two,three?options"
[[nodiscard]] inline std::string redlock_url(const std::vector<std::string>& nodes,
                                             const std::string& options) {
  std::string all;
  for (const std::string& node : nodes) {
    all += (all.empty() ? "redlock://" : ",") + node;
  }
  return all + "?" + options;
}

/// Threads: servers die with the thread that started them, so that only the one that made this may start them again.
class redlock_servers {
 public:
  explicit redlock_servers(std::size_t how_many = 5, const redis_options& each = {}) {
    for (std::size_t i = 0; i < how_many; ++i) {
      all_.push_back(std::make_unique<redis_server>(each));
    }
  }

  [[nodiscard]] std::size_t size() const noexcept { return all_.size(); }
  [[nodiscard]] redis_server& operator[](std::size_t i) { return *all_.at(i); }
  [[nodiscard]] const redis_server& operator[](std::size_t i) const { return *all_.at(i); }

  [[nodiscard]] std::vector<std::string> nodes() const {
    std::vector<std::string> names;
    for (const auto& one : all_) {
      names.push_back(one->node());
    }
    return names;
  }
  [[nodiscard]] std::string url(const std::string& options) const { return redlock_url(nodes(), options); }

  /// All of these at once, and then each comes back with nothing of what it knew.
  void restart_empty(const std::vector<std::size_t>& these) {
    for (const std::size_t i : these) {
      (*this)[i].kill();
    }
    for (const std::size_t i : these) {
      (*this)[i].restart_empty();
    }
  }

  /// Who has this server's vote for `name`, as it stands there; empty: nobody.
  [[nodiscard]] std::string voted_for(std::size_t server, layout l, const std::string& name,
                                      const std::string& prefix) const {
    if (l == layout::classic) {
      return (*this)[server].ask({"GET", name}).text;
    }
    const std::string record = (*this)[server].ask({"GET", prefix + ":lock:" + name}).text;
    const auto first_line = record.find('\n');  // the lock's own; then the hold, which begins with its owner
    return first_line == std::string::npos
               ? ""
               : record.substr(first_line + 1, record.find(' ', first_line) - first_line - 1);
  }

  /// "ABC": the servers that have given their vote for `name`.
  [[nodiscard]] std::string votes(layout l, const std::string& name, const std::string& prefix) const {
    std::string letters;
    for (std::size_t i = 0; i < size(); ++i) {
      letters += voted_for(i, l, name, prefix).empty() ? "" : letter(i);
    }
    return letters;
  }

 private:
  std::vector<std::unique_ptr<redis_server>> all_;
};

/// Threads: any. What was delayed is let go when this ends.
class redlock_road {
 public:
  explicit redlock_road(const redlock_servers& to) {
    for (std::size_t i = 0; i < to.size(); ++i) {
      proxies_.push_back(std::make_unique<tcp_proxy>(to[i].port()));
    }
  }
  redlock_road(const redlock_road&) = delete;
  redlock_road& operator=(const redlock_road&) = delete;
  ~redlock_road() { let_go(); }

  [[nodiscard]] std::string url(const std::string& options) const {
    std::vector<std::string> names;
    for (const auto& one : proxies_) {
      names.push_back(one->node());
    }
    return redlock_url(names, options);
  }

  [[nodiscard]] std::uint16_t port(std::size_t i) const { return proxies_.at(i)->port(); }

  /// Nothing passes to or from these any more.
  void cut(const std::vector<std::size_t>& these) {
    for (const std::size_t i : these) {
      proxies_.at(i)->follow(
          [](direction, std::uint64_t, const resp&) -> passage { return {.what = passage::fate::swallow}; });
      proxies_.at(i)->cut_all();
    }
  }

  /// The way to one of them leads to another from now on.
  void lead(std::size_t from, const redis_server& to) {
    proxies_.at(from)->lead_to(to.port());
    proxies_.at(from)->cut_all();
  }

  /// Everything passes again, everywhere; what is being delayed still is.
  void mend() {
    for (const auto& one : proxies_) {
      one->follow(nullptr);
    }
  }

  /// What goes that way to or from these is delayed until it is let go.
  void delay(direction which, const std::vector<std::size_t>& these) {
    for (const std::size_t i : these) {
      proxies_.at(i)->follow([which, opened = gate_](direction way, std::uint64_t, const resp&) -> passage {
        return {.until = way == which ? opened : nullptr};
      });
    }
  }
  /// The same for all servers.
  void delay(direction which) { delay(which, everywhere()); }

  /// On how many connections something is delayed.
  [[nodiscard]] std::size_t delayed() const {
    std::size_t all = 0;
    for (const auto& one : proxies_) {
      all += one->waiting();
    }
    return all;
  }

  /// What was delayed goes on, and nothing is delayed any more.
  void let_go() {
    mend();
    *gate_ = true;
    gate_ = std::make_shared<std::atomic<bool>>(false);
  }

 private:
  [[nodiscard]] std::vector<std::size_t> everywhere() const {
    std::vector<std::size_t> all;
    for (std::size_t i = 0; i < proxies_.size(); ++i) {
      all.push_back(i);
    }
    return all;
  }

  std::shared_ptr<std::atomic<bool>> gate_ = std::make_shared<std::atomic<bool>>(false);
  std::vector<std::unique_ptr<tcp_proxy>> proxies_;
};

}  // namespace cremone::test
