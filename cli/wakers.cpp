// SPDX-License-Identifier: Apache-2.0
#include "cli/wakers.hpp"

#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <system_error>

namespace cremone::cli {

namespace {

int checked(int fd, const char* what) {
  if (fd < 0) {
    throw std::system_error(errno, std::generic_category(), what);
  }
  return fd;
}

}  // namespace

event::event() : fd_(checked(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), "eventfd")) {}

void event::raise() noexcept {
  const std::uint64_t one = 1;
  static_cast<void>(!::write(fd_.get(), &one, sizeof one));  // fails only when it is raised already
}

alarm_clock::alarm_clock()
    : fd_(checked(::timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK), "timerfd")) {}

void alarm_clock::set(std::chrono::nanoseconds from_now) noexcept {
  const auto wait = std::max(from_now, std::chrono::nanoseconds(1));  // zero would switch it off
  const auto seconds = std::chrono::floor<std::chrono::seconds>(wait);
  itimerspec when{};
  when.it_value.tv_sec = static_cast<time_t>(seconds.count());
  when.it_value.tv_nsec = static_cast<long>((wait - seconds).count());
  ::timerfd_settime(fd_.get(), 0, &when, nullptr);
}

}  // namespace cremone::cli
