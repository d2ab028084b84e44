// SPDX-License-Identifier: Apache-2.0
//
// Runs a piece of a test in a child process and brings its complaint back through a pipe. The child never returns
// to GoogleTest and never runs the parent's exit handlers. It knows nothing of locks.
#pragma once

#include <functional>
#include <string>

namespace cremone::test {

enum class way_to_fork : bool {
  fork,       ///< libc's, with its handlers
  raw_clone,  ///< the system call alone, of which no handler hears
};

/// What `fn` complained about in a child of this process: empty if it was content. A child that crashes, or hangs
/// for `hang_seconds`, is a complaint too.
[[nodiscard]] std::string in_child(const std::function<std::string()>& fn,
                                   way_to_fork how = way_to_fork::fork);

inline constexpr unsigned hang_seconds = 20;

/// Collects complaints: `c.expect(!lease.held(), "held() is true")`.
class complaints {
 public:
  void expect(bool fine, const std::string& otherwise) {
    if (!fine) {
      text_ += text_.empty() ? otherwise : "; " + otherwise;
    }
  }
  [[nodiscard]] const std::string& text() const noexcept { return text_; }

 private:
  std::string text_;
};

}  // namespace cremone::test
