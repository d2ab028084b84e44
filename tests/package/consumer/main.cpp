// SPDX-License-Identifier: Apache-2.0
//
// The smallest program that a user would write; it is compiled outside of this tree.
#include <cremone/cremone.hpp>

#include <iostream>

int main() {
  auto locks = cremone::open("memory://");
  if (!locks) {
    std::cerr << locks.error() << '\n';
    return 1;
  }
  const auto lease = locks->acquire("nightly");
  if (!lease) {
    std::cerr << lease.error() << '\n';
    return 1;
  }
  std::cout << "token " << lease->token() << '\n';
}
