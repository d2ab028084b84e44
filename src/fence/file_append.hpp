// SPDX-License-Identifier: Apache-2.0
//
// Adding to the end of a file so that a crash leaves all of it or nothing: what is going to be added is noted in the token file first, and
// the next who comes looks whether it is there. Decides nothing about tokens.
#pragma once

#include "fence/file_draft.hpp"
#include "fence/file_token.hpp"

#include <cstdint>
#include <optional>
#include <string_view>

namespace cremone::fence {

/// What is to be added: a text, or a draft that was filled from a source.
struct addition {
  std::string_view text;
  std::optional<draft> spooled{};
  std::uint64_t length = 0;

  [[nodiscard]] result<std::string> read(const place& at, std::uint64_t offset, std::size_t most) const;
};

/// The file, for adding to it. Nothing where there is none.
[[nodiscard]] result<std::optional<original>> open_for_append(const place& at);

/// Adds it, under the lock and with a token that was let pass. If it fails the file is as it was, unless somebody else has written behind
/// what it had added by then: that is left to the next recover().
[[nodiscard]] result<void> add(const place& at, token_file& token, fence_token presented,
                               const original& file, const addition& more);

/// Ends an append whose writer was killed: it is complete if all of it is there, else what there is of it is cut off, and with it what
/// stands behind and is not proven to be of it, which is set aside first. A file that somebody has replaced, shortened, or lengthened to more
/// than it was to become is left alone. Under the lock.
[[nodiscard]] result<void> recover(const place& at, token_file& token);

}  // namespace cremone::fence
