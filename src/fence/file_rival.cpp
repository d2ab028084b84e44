// SPDX-License-Identifier: Apache-2.0
#include "fence/file_rival.hpp"

#include "base/reading.hpp"
#include "base/text.hpp"

#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <cstdint>
#include <fstream>
#include <optional>
#include <sstream>
#include <string_view>

namespace cremone::fence {

namespace {

/// A line of /proc/locks: `1: FLOCK  ADVISORY  WRITE 4711 fd:01:131074 0 EOF`. The process, if it is about this file. Who waits
/// has an arrow before FLOCK, so that the words do not fit.
std::optional<std::int64_t> holder_in(const std::string& line, const struct stat& file) {
  std::istringstream words(line);
  std::string number;
  std::string kind;
  std::string advisory;
  std::string access;
  std::string process;
  std::string where;
  words >> number >> kind >> advisory >> access >> process >> where;
  std::string_view rest = where;
  const auto major = whole_number<unsigned>(cut(rest, ':'), 16);
  const auto minor = whole_number<unsigned>(cut(rest, ':'), 16);
  const auto inode = whole_number<std::uint64_t>(rest);
  const auto pid = whole_number<std::int64_t>(process);
  const bool same = kind == "FLOCK" && major == ::gnu_dev_major(file.st_dev) &&
                    minor == ::gnu_dev_minor(file.st_dev) && inode == file.st_ino;
  return same && pid && *pid > 0 ? pid
                                 : std::nullopt;  // zero and less: in a container that we do not see into
}

}  // namespace

std::string who_locks(int file) {
  struct stat status {};
  std::ifstream locks("/proc/locks");
  std::string line;
  while (::fstat(file, &status) == 0 && std::getline(locks, line)) {
    if (const auto pid = holder_in(line, status)) {
      std::string command;
      std::getline(std::ifstream("/proc/" + std::to_string(*pid) + "/comm"), command);
      return "process " + std::to_string(*pid) + (command.empty() ? "" : " (" + printable(command) + ")");
    }
  }
  return "another process";
}

}  // namespace cremone::fence
