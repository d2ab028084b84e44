// SPDX-License-Identifier: Apache-2.0
//
// What the story of the stopped holder is told of: one text in a file, a row, or a key, that can be written with the fence and without, as a
// user of the library would write it. Knows no lock.
#pragma once

#include <cremone/fence.hpp>
#include <cremone/result.hpp>

#include <memory>
#include <string>

namespace cremone::test {

class written_text {
 public:
  written_text() = default;
  written_text(const written_text&) = delete;
  written_text& operator=(const written_text&) = delete;
  virtual ~written_text() = default;

  [[nodiscard]] virtual result<void> write(fence_token token, const std::string& text) = 0;
  [[nodiscard]] virtual result<void> plain(const std::string& text) = 0;
  [[nodiscard]] virtual std::string read() = 0;
  /// Once, before all others: tables.
  virtual void prepare() {}
};

/// `kind`: file, sqlite (`place` is a path), redis (a port), postgres (a connection string), mariadb (a port). Throws std::runtime_error
/// where it cannot be opened.
[[nodiscard]] std::unique_ptr<written_text> pause_resource(const std::string& kind, const std::string& place);

}  // namespace cremone::test
