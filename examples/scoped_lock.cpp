// SPDX-License-Identifier: Apache-2.0
//
// Two locks at once, without deadlock: std::scoped_lock backs off and tries again when one of them is busy, so that
// the order in which they are named does not matter.
#include <cremone/cremone.hpp>

#include <iostream>
#include <mutex>
#include <thread>

int main() {
  auto locks = cremone::open("memory://").value();
  cremone::mutex a(locks, "account a");
  cremone::mutex b(locks, "account b");
  int in_a = 100;
  int in_b = 100;

  std::thread forth([&] {
    for (int i = 0; i < 50; ++i) {
      std::scoped_lock lk(a, b);
      --in_a, ++in_b;
    }
  });
  for (int i = 0; i < 50; ++i) {
    std::scoped_lock lk(b, a);  // the other way round
    ++in_a, --in_b;
  }
  forth.join();

  std::cout << "a has " << in_a << ", b has " << in_b << '\n';
  return in_a == 100 && in_b == 100 ? 0 : 1;
}
