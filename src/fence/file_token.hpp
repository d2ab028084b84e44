// SPDX-License-Identifier: Apache-2.0
//
// `FILE.fence`: the highest token, kept beside the file, and the lock that makes a comparison and a write one step. It is never
// removed nor replaced, or else two could lock two files of that name. What the content of FILE is, this file does not know.
#pragma once

#include "fence/file_place.hpp"
#include "fence/file_slots.hpp"

#include <cremone/fence.hpp>

#include <chrono>

namespace cremone::fence {

/// Opened and locked, and let go with the object.
class token_file {
 public:
  /// Makes it where there is none. *busy* when others keep it locked for longer than `patience`. `at` outlives it.
  [[nodiscard]] static result<token_file> lock(const place& at, std::chrono::milliseconds patience);
  token_file(token_file&&) noexcept = default;
  token_file& operator=(token_file&&) = delete;
  token_file(const token_file&) = delete;
  token_file& operator=(const token_file&) = delete;
  ~token_file();

  [[nodiscard]] mark seen() const noexcept { return seen_; }
  [[nodiscard]] const std::optional<slot::addition>& begun() const noexcept { return newest_.begun; }

  /// The rule. *stale_token*.
  [[nodiscard]] result<void> compare(fence_token token) const;

  /// Remembers the token, and that this is about to be appended. It is on the disk when this returns, also when nothing was new: whoever
  /// wrote it there may have been killed before it was. On failure it is as it was.
  [[nodiscard]] result<void> raise(fence_token token, const std::optional<slot::addition>& begun = {});

  /// The append is over. Not waited for until it is on the disk: what comes next, raise() does that before it; if the power fails
  /// first, the append is found to be whole and is over again.
  [[nodiscard]] result<void> settle();

  /// Gives it the owner and rights that the file has by now, if we may.
  void follow(const original& file) noexcept;

 private:
  token_file(const place& at, descriptor file) noexcept : at_(&at), file_(std::move(file)) {}
  [[nodiscard]] result<void> read();
  [[nodiscard]] result<void> overwrite(const slot& next, bool wait_for_disk);

  const place* at_;
  descriptor file_;
  slot newest_;
  std::size_t newest_at_ = 0;
  mark seen_;
};

/// Without waiting for anybody, and nothing is made. Zero where there is none.
[[nodiscard]] result<fence_token> read_token_file(const place& at, std::chrono::milliseconds patience);

}  // namespace cremone::fence
