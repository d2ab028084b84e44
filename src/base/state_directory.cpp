// SPDX-License-Identifier: Apache-2.0
#include "base/state_directory.hpp"

#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <vector>

namespace cremone {

namespace {

constexpr const char* advice = "; set CREMONE_STATE_DIR to a directory of yours, or name a store by its URL";

/// A relative path would mean another place in every working directory: the XDG rules say to ignore it.
std::string absolute_from(const char* variable) {
  const char* value = ::secure_getenv(variable);
  return value != nullptr && value[0] == '/' ? value : "";
}

std::string home_from_password_file() {
  std::vector<char> room(16384);
  passwd entry{};
  passwd* found = nullptr;
  if (::getpwuid_r(::geteuid(), &entry, room.data(), room.size(), &found) != 0 || found == nullptr ||
      found->pw_dir == nullptr || found->pw_dir[0] != '/') {
    return {};
  }
  return found->pw_dir;
}

result<void> make(const std::string& path) {
  // Parents as mkdir -p makes them, the last for us alone.
  std::error_code failed;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), failed);
  if (!failed && ::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) {
    failed.assign(errno, std::generic_category());
  }
  if (failed) {
    return error(failed == std::errc::permission_denied ? errc::access_denied : errc::misconfigured,
                 "cannot make the state directory " + path + ": " + failed.message() + advice);
  }
  return {};
}

}  // namespace

result<std::string> state_directory_path() {
  if (const char* set = ::secure_getenv("CREMONE_STATE_DIR"); set != nullptr && set[0] != '\0') {
    if (set[0] != '/') {
      return error(errc::misconfigured,
                   std::string("CREMONE_STATE_DIR must be an absolute path, not '") + set + "'");
    }
    return std::string(set);
  }
  if (::geteuid() == 0) {
    return std::string("/var/lib/cremone");
  }
  if (const std::string state = absolute_from("XDG_STATE_HOME"); !state.empty()) {
    return state + "/cremone";
  }
  std::string home = absolute_from("HOME");
  if (home.empty()) {
    home = home_from_password_file();
  }
  if (home.empty()) {
    return error(errc::misconfigured,
                 std::string("this user has no home directory to keep state in") + advice);
  }
  return home + "/.local/state/cremone";
}

result<std::string> state_directory() {
  auto path = state_directory_path();
  if (!path) {
    return path;
  }
  if (auto made = make(*path); !made) {
    return made.error();
  }
  struct stat seen {};
  if (::stat(path->c_str(), &seen) != 0) {
    return error(errc::misconfigured, "cannot use the state directory " + *path + ": " +
                                          std::generic_category().message(errno) + advice);
  }
  if (!S_ISDIR(seen.st_mode)) {
    return error(errc::misconfigured, "the state directory " + *path + " is not a directory" + advice);
  }
  if (seen.st_uid != ::geteuid() && seen.st_uid != 0) {
    return error(errc::misconfigured, "the state directory " + *path + " belongs to another user (uid " +
                                          std::to_string(seen.st_uid) + ")" + advice);
  }
  if ((seen.st_mode & S_IWOTH) != 0) {
    return error(errc::misconfigured,
                 "the state directory " + *path + " can be written by everybody" + advice);
  }
  return path;
}

}  // namespace cremone
