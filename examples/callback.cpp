// SPDX-License-Identifier: Apache-2.0
//
// Without blocking: ask for a lock and be called when it is ours. Here the handler runs on an io_context of this
// program; a handler without an executor runs on a thread of the client.
#include <cremone/async.hpp>
#include <cremone/cremone.hpp>

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/io_context.hpp>

#include <iostream>

using namespace std::chrono_literals;

int main() {
  boost::asio::io_context context;
  auto locks = cremone::open("memory://").value();
  bool worked = false;

  auto handler = [&](cremone::result<cremone::lease> lease) {
    if (!lease) {
      std::cerr << lease.error() << '\n';
      return;
    }
    // Called should the lease be lost, on a thread of the client.
    lease->on_lost([](const cremone::error& why) { std::cerr << why << '\n'; });
    worked = lease->held();
    std::cout << "working with token " << lease->token() << '\n';
  };  // the lease ends here, and with it the lock is free

  cremone::async_acquire(locks, "nightly", {.wait = 2s}, boost::asio::bind_executor(context, handler));
  context.run();  // until the handler has run
  return worked ? 0 : 1;
}
