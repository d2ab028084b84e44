// SPDX-License-Identifier: Apache-2.0
//
// The first thing to try: take a lock, do the work, give it back.
#include <cremone/cremone.hpp>
#include <cremone/fence.hpp>

#include <iostream>

using namespace std::chrono_literals;

namespace {

/// Stands for a resource that remembers the highest token it has seen, and refuses writers with an older one. Real ones are in the
/// other examples: a file, a database, Redis.
struct report {
  cremone::fence::mark seen;
  int lines = 0;
  bool write(cremone::fence_token token) {
    if (!seen.admit(token)) return false;
    ++lines;
    return true;
  }
};

}  // namespace

int main() {
  auto locks = cremone::open("memory://").value();  // a store within this process; value() throws on failure

  auto lease = locks.acquire("nightly", {.wait = 10s});  // a result: that the lock is busy is an answer
  if (!lease) {
    std::cerr << lease.error() << '\n';
    return 1;
  }

  report nightly;
  while (lease->held() && nightly.lines == 0) {  // the lock can be lost: ask before each step
    if (!nightly.write(lease->token())) return 1;
  }
  std::cout << "written with token " << lease->token() << '\n';
  return lease->release() && nightly.lines != 0 ? 0 : 1;  // or let the destructor do it, without the answer
}
