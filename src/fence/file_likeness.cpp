// SPDX-License-Identifier: Apache-2.0
//
// The order matters: a change of owner takes away the set-id bits, and an access control list changes what the group's bits mean.
#include "fence/file_likeness.hpp"

#include "base/text.hpp"

#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>
#include <vector>

namespace cremone::fence {

namespace {

/// Attributes that speak of the content, and so not of the next one: hashes, and the capabilities of a program, which the kernel too
/// takes away from a file that is written to.
bool is_of_the_content(std::string_view name) noexcept {
  constexpr std::array<std::string_view, 3> all = {"security.capability", "security.evm", "security.ima"};
  return std::find(all.begin(), all.end(), name) != all.end();
}

/// Asks for the size and then for the bytes, again if they have grown meanwhile. Nothing, and errno, when there are none.
template <class Ask>
std::optional<std::string> sized(Ask ask) {
  for (;;) {
    const ssize_t size = ask(nullptr, 0);
    if (size < 0) {
      return std::nullopt;
    }
    std::string bytes(static_cast<std::size_t>(size), '\0');
    const ssize_t got = size == 0 ? 0 : ask(bytes.data(), bytes.size());
    if (got >= 0) {
      bytes.resize(static_cast<std::size_t>(got));
      return bytes;
    }
    if (errno != ERANGE) {
      return std::nullopt;
    }
  }
}

result<std::vector<std::string>> attributes_of(int file, const place& at) {
  const auto text = sized([&](char* to, std::size_t size) { return ::flistxattr(file, to, size); });
  if (!text && errno != ENOTSUP) {
    return refused("read the attributes of " + at.shown(), errno);
  }
  std::vector<std::string> names;
  for (std::string_view rest = text ? std::string_view(*text) : std::string_view(); !rest.empty();) {
    const std::string_view name = rest.substr(0, rest.find('\0'));
    rest.remove_prefix(name.size() + 1);
    if (!is_of_the_content(name)) {
      names.emplace_back(name);
    }
  }
  return names;
}

std::optional<std::string> value_of(int file, const std::string& name) {
  return sized([&](char* to, std::size_t size) { return ::fgetxattr(file, name.c_str(), to, size); });
}

error cannot_keep(const std::string& what, const place& at, int why) {
  if (why != EPERM && why != EACCES) {
    return refused("keep " + what + " of " + at.shown(), why);
  }
  return {errc::access_denied, "cannot keep " + what + " of " + at.shown() + " as uid " +
                                   std::to_string(::geteuid()) + ": " + std::generic_category().message(why) +
                                   ". Write to it as its owner, or as root; it was left alone"};
}

result<bool> copy_attributes(int file, const original& model, const place& at) {
  const auto wanted = attributes_of(model.file.get(), at);
  const auto present = attributes_of(file, at);
  if (!wanted || !present) {
    return wanted ? present.error() : wanted.error();
  }
  bool changed = false;
  for (const std::string& name : *wanted) {
    const auto value = value_of(model.file.get(), name);
    if (!value && errno == ENODATA) {
      continue;  // removed this moment
    }
    if (value && value_of(file, name) == value) {
      continue;
    }
    if (!value || ::fsetxattr(file, name.c_str(), value->data(), value->size(), 0) != 0) {
      return cannot_keep("the attribute " + printable(name), at, errno);
    }
    changed = true;
  }
  for (const std::string& name :
       *present) {  // from the directory's defaults; a label there always is, and was set above
    if (std::find(wanted->begin(), wanted->end(), name) == wanted->end() && !name.starts_with("security.")) {
      if (::fremovexattr(file, name.c_str()) != 0 && errno != ENODATA) {
        return cannot_keep("the lack of the attribute " + printable(name), at, errno);
      }
      changed = true;
    }
  }
  return changed;
}

}  // namespace

result<bool> make_alike(int file, const original& model, const place& at, mode_t mask) {
  struct stat mine {};
  if (::fstat(file, &mine) != 0) {
    return refused("look at what is to become " + at.shown(), errno);
  }
  bool changed = false;
  if (mine.st_uid != model.status.st_uid || mine.st_gid != model.status.st_gid) {
    if (::fchown(file, model.status.st_uid, model.status.st_gid) != 0) {
      return cannot_keep("the owner (uid " + std::to_string(model.status.st_uid) + ", gid " +
                             std::to_string(model.status.st_gid) + ")",
                         at, errno);
    }
    changed = true;
  }
  const auto attributes = copy_attributes(file, model, at);
  if (!attributes) {
    return attributes.error();
  }
  const mode_t mode = model.status.st_mode & mask;
  if (::fstat(file, &mine) != 0 || ((mine.st_mode & 07777U) != mode && ::fchmod(file, mode) != 0)) {
    return cannot_keep("the mode", at, errno);
  }
  changed = changed || *attributes || (mine.st_mode & 07777U) != mode;
  if (::fstat(file, &mine) != 0 || (mine.st_mode & 07777U) != mode) {
    return cannot_keep("the mode", at, EPERM);  // the set-group-id bit of a foreign group goes without a word
  }
  return changed;
}

}  // namespace cremone::fence
