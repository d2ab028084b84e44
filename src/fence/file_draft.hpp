// SPDX-License-Identifier: Apache-2.0
//
// Content on its way: a file without a name in the directory of the one that it is to become, so that whoever is killed leaves
// nothing. Knows nothing of tokens; who calls name() and replace() has the lock.
#pragma once

#include "fence/file_place.hpp"

#include <string_view>

namespace cremone::fence {

class draft {
 public:
  /// `mode`: what the umask is applied to. `at` outlives it.
  [[nodiscard]] static result<draft> make(const place& at, mode_t mode);
  /// Of what is to be added to the file, and never becomes one: for our own eyes.
  [[nodiscard]] static result<draft> spool(const place& at);
  draft(draft&& other) noexcept = default;
  draft& operator=(draft&&) = delete;
  draft(const draft&) = delete;
  draft& operator=(const draft&) = delete;
  ~draft();

  [[nodiscard]] int file() const noexcept { return file_.get(); }
  [[nodiscard]] result<void> put(std::string_view bytes);
  [[nodiscard]] result<void> sync();

  /// Makes it ready to take the place of the file, which may need room in the directory.
  [[nodiscard]] result<void> name();
  /// Takes it. Not before name().
  [[nodiscard]] result<void> replace();
  /// Becomes `name` unless there is one already, which is no error: false.
  [[nodiscard]] result<bool> become(const std::string& name);

 private:
  explicit draft(const place& at) noexcept : at_(&at) {}
  [[nodiscard]] int link_to(const std::string& name) const;
  [[nodiscard]] result<void> open_numbered(mode_t mode);

  const place* at_;
  const char* what_ = "write what is to become ";
  descriptor file_;
  std::string name_;  ///< that goes with it; empty while it has none
};

}  // namespace cremone::fence
