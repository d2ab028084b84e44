// SPDX-License-Identifier: Apache-2.0
//
// The other processes of the benchmarks: opens the database that it is given, does what each byte on its standard
// input says, and answers with a number; see worker.hpp. Ends with its input.
#include "bench/worker.hpp"

#include <cremone/cremone.hpp>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <string>

namespace {

using namespace cremone::bench;

template <class F>
double times_done(F&& once) {
  double count = 0;
  for (const double end = seconds_now() + std::chrono::duration<double>(contention).count();
       seconds_now() < end;) {
    once();
    ++count;
  }
  return count;
}

double obey(char command, const std::string& path, cremone::client& locks, cremone::lease& held) {
  switch (command) {
    case 'a': held = locks.acquire("bench", {.ttl = std::chrono::seconds(60)}).value(); return seconds_now();
    case 'r': {
      const double began = seconds_now();
      held.release().value();
      return began;
    }
    case 'c': return times_done([&] { (void)locks.acquire("bench").value(); });
    case 'f': {
      const int file = ::open((path + ".bare").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
      const double count = times_done([&] {
        ::flock(file, LOCK_EX);
        ::flock(file, LOCK_UN);
      });
      ::close(file);
      return count;
    }
    default: return seconds_now();
  }
}

}  // namespace

int main(int /*count*/, char** arguments) {
  const std::string path = arguments[1];
  auto locks = cremone::open("sqlite://" + path).value();
  cremone::lease held;
  for (char command = 0; ::read(STDIN_FILENO, &command, 1) == 1;) {
    const double answer = obey(command, path, locks, held);
    if (::write(STDOUT_FILENO, &answer, sizeof answer) != static_cast<ssize_t>(sizeof answer)) {
      return 1;
    }
  }
}
