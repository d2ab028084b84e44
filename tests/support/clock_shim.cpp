// SPDX-License-Identifier: Apache-2.0
//
// Preloaded into a redis-server, and by `./dev soak` into clients too. It moves the wall clock of
// that process, and no other clock, as when the clock of a real machine is set. A small file, which
// the test keeps mapped, holds the offset in microseconds and, if not 0, the time at which the
// clock stands still. libfaketime does the same, but a Redis with jemalloc hangs under it at its
// start, in recursive calls of clock_gettime. Here the kernel is called directly, so that nothing
// can call back.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>

namespace {

constexpr std::int64_t second = 1'000'000'000;

// In microseconds: by how much it is off, and where it stands still if that is not 0. None while the process is still being set
// up.
const std::int64_t* offset = nullptr;

__attribute__((constructor)) void find_offset() {
  const char* const path = std::getenv("CREMONE_TEST_CLOCK");
  const int file = path == nullptr ? -1 : ::open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) {
    ::_exit(112);  // a server whose clock cannot be set must not pass for one whose clock was
  }
  void* const seen = ::mmap(nullptr, 2 * sizeof(*offset), PROT_READ, MAP_SHARED, file, 0);
  if (seen == MAP_FAILED) {
    ::_exit(112);
  }
  offset = static_cast<const std::int64_t*>(seen);
  ::close(file);
}

int read_clock(clockid_t which, timespec& out) {
  const long failed = ::syscall(SYS_clock_gettime, which, &out);
  const bool wall = which == CLOCK_REALTIME || which == CLOCK_REALTIME_COARSE;
  if (failed == 0 && wall && offset != nullptr) {
    const std::int64_t frozen = __atomic_load_n(offset + 1, __ATOMIC_RELAXED);
    const std::int64_t moved =
        frozen != 0 ? frozen * 1000
                    : out.tv_sec * second + out.tv_nsec + __atomic_load_n(offset, __ATOMIC_RELAXED) * 1000;
    out = {.tv_sec = moved / second, .tv_nsec = moved % second};
  }
  return static_cast<int>(failed);
}

}  // namespace

extern "C" {

int clock_gettime(clockid_t which, timespec* out) noexcept { return read_clock(which, *out); }

int gettimeofday(timeval* out, void*) noexcept {
  timespec now{};
  const int failed = read_clock(CLOCK_REALTIME, now);
  *out = {.tv_sec = now.tv_sec, .tv_usec = now.tv_nsec / 1000};
  return failed;
}

time_t time(time_t* out) noexcept {
  timespec now{};
  (void)read_clock(CLOCK_REALTIME, now);
  if (out != nullptr) {
    *out = now.tv_sec;
  }
  return now.tv_sec;
}

}  // extern "C"
