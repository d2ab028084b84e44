// SPDX-License-Identifier: Apache-2.0
#include "engine/asio_transport.hpp"

#include "engine/asio_env.hpp"
#include "engine/asio_link.hpp"

#include <boost/asio/post.hpp>

#include <utility>

namespace cremone::detail {
namespace {

/// What the user has. The link is held by the loop, too, while it has a socket: so that the end of this one, and not
/// of the link, is what closes.
class asio_connection final : public connection {
 public:
  explicit asio_connection(std::shared_ptr<asio_link> link) noexcept : link_(std::move(link)) {}
  ~asio_connection() override { link_->close(); }

  void put(std::string_view bytes) override { link_->put(bytes); }
  void flush() override { link_->flush(); }
  void close() noexcept override { link_->close(); }

 private:
  std::shared_ptr<asio_link> link_;
};

}  // namespace

void loop_gate::post(callback<void()> fn) {
  const std::lock_guard lock(mutex_);
  if (loop_ != nullptr) {
    boost::asio::post(*loop_, std::move(fn));
  }
}

void loop_gate::shut() noexcept {
  const std::lock_guard lock(mutex_);
  loop_ = nullptr;
}

boost::asio::execution_context::id live_links::id;

live_links::live_links(boost::asio::io_context& loop)
    : service(loop), loop_(loop), gate_(std::make_shared<loop_gate>(loop)) {}

void live_links::shutdown() noexcept {
  gate_->shut();
  for (const auto& link : std::exchange(links_, {})) {
    link->drop();
  }
}

asio_transport::asio_transport(boost::asio::io_context& loop)
    : links_(boost::asio::use_service<live_links>(loop)),
      gate_(links_.gate()),
      names_(std::make_shared<name_lookup>()) {}

std::shared_ptr<connection> asio_transport::open(const endpoint& where,
                                                 std::weak_ptr<connection_events> events) {
  auto link = std::make_shared<asio_link>(where, std::move(events), links_, gate_, names_);
  gate_->post([link] { link->start(); });
  return std::make_shared<asio_connection>(std::move(link));
}

// Here and not with the rest of asio_env, because this file is only built where a store needs a network.
std::shared_ptr<transport> asio_env::network() { return std::make_shared<asio_transport>(io_.context()); }

}  // namespace cremone::detail
