// SPDX-License-Identifier: Apache-2.0
//
// With coroutines: co_await a lock. The client renews it in the background while this coroutine does other things.
#include <cremone/async.hpp>
#include <cremone/cremone.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <iostream>

namespace asio = boost::asio;
using namespace std::chrono_literals;

asio::awaitable<void> nightly(cremone::client& locks, bool& worked) {
  auto lease = co_await cremone::async_acquire(locks, "nightly", {.wait = 2s}, asio::use_awaitable);
  if (!lease) {
    std::cerr << lease.error() << '\n';
    co_return;
  }
  std::cout << "working with token " << lease->token() << '\n';

  const auto released = co_await cremone::async_release(std::move(*lease), asio::use_awaitable);
  worked = released.has_value();
}

int main() {
  asio::io_context context;
  auto locks = cremone::open("memory://").value();
  bool worked = false;
  asio::co_spawn(context, nightly(locks, worked), asio::detached);
  context.run();
  return worked ? 0 : 1;
}
