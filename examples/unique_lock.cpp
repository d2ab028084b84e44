// SPDX-License-Identifier: Apache-2.0
//
// A lock between processes that looks like a std::timed_mutex.
#include <cremone/cremone.hpp>

#include <iostream>
#include <mutex>

using namespace std::chrono_literals;

int main() {
  auto locks = cremone::open("memory://").value();
  cremone::mutex m(locks, "ledger");

  std::unique_lock lk(m, 2s);  // waits for at most two seconds
  if (!lk) {
    std::cerr << "the ledger is busy\n";
    return 1;
  }
  std::cout << "posting with token " << m.token() << '\n';

  // Unlike a std mutex, this one can be lost while it is held; held() says whether it is still ours.
  if (!m.held()) return 1;

  lk.unlock();  // noexcept; the destructor would do it too
  return m.held() ? 1 : 0;
}
