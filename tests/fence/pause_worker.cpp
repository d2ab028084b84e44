// SPDX-License-Identifier: Apache-2.0
//
// A holder of a lock that writes to a resource, for the story of one that is stopped: a program of its own, so that all of it can be.
//   pause_worker LOCK_URL KIND PLACE
// Lines in, lines out: `acquire TTL WAIT`, `write TEXT` by the fence, `plain TEXT` without it. Before it writes it never asks whether the lock is
// still its own: that is what a program does that was stopped between the question and the write.
#include "fence/pause_resources.hpp"

#include <cremone/cremone.hpp>

#include <iostream>
#include <sstream>
#include <string>
#include <vector>

namespace {

using std::chrono::milliseconds;

std::string shown(const cremone::result<void>& done, const std::string& well) {
  return done ? well : std::string(to_string(done.error().code())) + " " + done.error().detail();
}

std::string acquire(cremone::client& locks, cremone::lease& lease, std::istringstream& words) {
  std::int64_t ttl = 0;
  std::int64_t wait = 0;
  words >> ttl >> wait;
  auto got = locks.acquire("report", {.ttl = milliseconds(ttl), .wait = milliseconds(wait)});
  if (!got) {
    return got.error().message();
  }
  lease = std::move(*got);
  return "granted " + std::to_string(lease.token().value());
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> args(argv, argv + argc);
  if (args.size() != 4) {
    return 64;
  }
  auto locks = cremone::open(args[1]);
  if (!locks) {
    std::cout << locks.error().message() << std::endl;
    return 1;
  }
  const auto resource = cremone::test::pause_resource(args[2], args[3]);
  cremone::lease lease;
  std::cout << "ready" << std::endl;
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    std::string what;
    std::string text;
    words >> what;
    if (what == "acquire") {
      std::cout << acquire(*locks, lease, words) << std::endl;
      continue;
    }
    words >> text;
    std::cout << shown(what == "write" ? resource->write(lease.token(), text) : resource->plain(text),
                       "written")
              << std::endl;
  }
  return 0;
}
