// SPDX-License-Identifier: Apache-2.0
#include "fuzz/talkative_server.hpp"

#include <utility>

namespace cremone::fuzz {

class talkative_server::line final : public connection, public std::enable_shared_from_this<line> {
 public:
  line(talkative_server& server, std::weak_ptr<connection_events> events)
      : server_(server), events_(std::move(events)) {}

  void put(std::string_view bytes) override { pending_ = pending_ || !bytes.empty(); }
  void flush() override {
    if (std::exchange(pending_, false)) {
      server_.asked(shared_from_this());
    }
  }
  void close() noexcept override { closed_ = true; }

  [[nodiscard]] bool first_time() noexcept { return !std::exchange(greeted_, true); }

  /// Who is told of what becomes of it; nobody once our own side has closed it.
  [[nodiscard]] std::shared_ptr<connection_events> listener() const {
    return closed_ ? nullptr : events_.lock();
  }

 private:
  talkative_server& server_;
  const std::weak_ptr<connection_events> events_;
  bool pending_ = false;
  bool greeted_ = false;
  bool closed_ = false;
};

std::shared_ptr<connection> talkative_server::open(const endpoint& /*where*/,
                                                   std::weak_ptr<connection_events> events) {
  auto made = std::make_shared<line>(*this, std::move(events));
  env_->post([made] {
    if (const auto to = made->listener()) {
      to->opened();
    }
  });
  return made;
}

/// The answer comes later, as everything does on a network.
void talkative_server::asked(const std::shared_ptr<line>& on) {
  env_->post([this, on] {
    if (on->first_time() && manners_.greets) {
      return say(on, "+PONG\r\n");
    }
    if (!manners_.parts.empty()) {
      const std::string text = std::move(manners_.parts.front());
      manners_.parts.pop_front();
      return say(on, text);
    }
    if (const auto to = on->listener(); to && manners_.closes) {
      on->close();
      to->closed({errc::unreachable, "the server hung up"});
    }
  });
}

void talkative_server::say(const std::shared_ptr<line>& on, const std::string& text) {
  const std::size_t size = manners_.piece == 0 ? text.size() : manners_.piece;
  for (std::size_t at = 0; at < text.size(); at += size) {
    const auto to = on->listener();
    if (!to) {
      return;
    }
    to->received(std::string_view(text).substr(at, size));
  }
}

}  // namespace cremone::fuzz
