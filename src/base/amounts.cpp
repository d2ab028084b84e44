// SPDX-License-Identifier: Apache-2.0
#include "base/amounts.hpp"

#include <cstdio>
#include <ctime>

namespace cremone {

namespace {

/// With one decimal where there would be only one digit.
std::string rounded(double x) {
  char text[32];
  (void)std::snprintf(text, sizeof text, x < 9.95 ? "%.1f" : "%.0f", x);
  return text;
}

}  // namespace

std::string shown_bytes(std::uint64_t bytes) {
  constexpr std::uint64_t kib = 1024;
  constexpr std::uint64_t mib = 1024 * kib;
  constexpr std::uint64_t gib = 1024 * mib;
  if (bytes < mib) {
    return std::to_string((bytes + kib - 1) / kib) + " KiB";
  }
  const auto exact = static_cast<double>(bytes);
  return bytes < gib ? rounded(exact / static_cast<double>(mib)) + " MiB"
                     : rounded(exact / static_cast<double>(gib)) + " GiB";
}

std::string shown_length(std::chrono::microseconds length) {
  if (length < std::chrono::milliseconds(1)) {
    return std::to_string(length.count()) + " µs";
  }
  const auto exact = static_cast<double>(length.count());
  return length < std::chrono::seconds(1) ? rounded(exact / 1e3) + " ms" : rounded(exact / 1e6) + " s";
}

std::string shown_time(wall_time t) {
  const std::time_t seconds = std::chrono::system_clock::to_time_t(t);
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  char text[32];
  return {text, std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts)};
}

}  // namespace cremone
