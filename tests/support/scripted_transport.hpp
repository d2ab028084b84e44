// SPDX-License-Identifier: Apache-2.0
//
// A network on which the test is the other side: it lets connections open, reads what was sent, and says what comes
// back, one event at a time. For one thread.
#pragma once

#include "base/transport.hpp"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace cremone::test {

class scripted_connection final : public connection {
 public:
  scripted_connection(endpoint where, std::weak_ptr<connection_events> events)
      : where_(std::move(where)), events_(std::move(events)) {}

  void put(std::string_view bytes) override { (open_ ? put_ : lost_) += bytes; }
  void flush() override {
    sent_ += put_;
    writes_ += put_.empty() ? 0 : 1;
    put_.clear();
  }
  void close() noexcept override { closed_ = true; }

  // The other side.
  void let_open() {
    open_ = true;
    if (const auto e = listening()) {
      e->opened();
      flush();
    }
  }
  void say(std::string_view bytes) {
    if (const auto e = listening()) {
      e->received(bytes);
      flush();
    }
  }
  void fail(const error& why) {
    if (const auto e = listening()) {
      closed_ = true;
      e->closed(why);
    }
  }

  [[nodiscard]] const endpoint& where() const noexcept { return where_; }

  /// What was sent since the last call.
  [[nodiscard]] std::string take_sent() { return std::exchange(sent_, {}); }
  [[nodiscard]] int writes() const noexcept { return writes_; }
  [[nodiscard]] bool closed() const noexcept { return closed_; }

 private:
  [[nodiscard]] std::shared_ptr<connection_events> listening() const {
    return closed_ ? nullptr : events_.lock();
  }

  const endpoint where_;
  const std::weak_ptr<connection_events> events_;
  bool open_ = false;
  bool closed_ = false;
  std::string put_;
  std::string sent_;
  std::string lost_;
  int writes_ = 0;
};

class scripted_transport final : public transport {
 public:
  [[nodiscard]] std::shared_ptr<connection> open(const endpoint& where,
                                                 std::weak_ptr<connection_events> events) override {
    opened_.push_back(std::make_shared<scripted_connection>(where, std::move(events)));
    return opened_.back();
  }

  /// All that were ever opened, in order.
  [[nodiscard]] const std::vector<std::shared_ptr<scripted_connection>>& opened() const noexcept {
    return opened_;
  }

 private:
  std::vector<std::shared_ptr<scripted_connection>> opened_;
};

}  // namespace cremone::test
