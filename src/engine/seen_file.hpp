// SPDX-License-Identifier: Apache-2.0
//
// The file `seen` in the state directory: what processes of this machine have seen of silent holders. A help and never
// a need: whatever is wrong with it, the answer is that nothing was seen, and nobody waits for it. What its lines mean
// is core's (sighting.hpp).
#pragma once

#include "core/sighting.hpp"
#include "engine/seen_notes.hpp"

#include <cremone/types.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace cremone::detail {

/// Names the clock that moments of this process are of: this boot of this kernel, and the time namespace with its
/// offsets (the number alone is used again for a later namespace). Empty if /proc does not say.
[[nodiscard]] std::string clock_identity();

/// Threads: one at a time.
class seen_file final : public seen_notes {
 public:
  /// In the state directory, on this machine's clock; both are looked for when first needed.
  seen_file() = default;

  /// Elsewhere, for tests. The directory must be there.
  seen_file(std::string directory, std::string clock)
      : place_(place{std::move(directory), std::move(clock)}) {}

  [[nodiscard]] const std::string& clock() override { return where().clock; }

  /// What it says now. Read again only when it has changed.
  [[nodiscard]] std::span<const core::sighting> look() override;

  /// What it said when last looked at.
  [[nodiscard]] std::span<const core::sighting> known() const noexcept override { return known_; }

  /// Puts into it what `ours` adds, with what others have written meanwhile: by renaming a new file over it, under a
  /// lock. False if that could not be done at once; nothing has changed then.
  [[nodiscard]] bool add(const core::vantage& from, core::seen_holds ours, instant now) override;

 private:
  struct place {
    std::string directory;  // empty: there is none to be had
    std::string clock;
  };
  /// Tells one content of the file from another.
  struct stamp {
    std::uint64_t inode = 0;
    std::int64_t size = 0;
    std::int64_t seconds = 0;
    std::int64_t nanoseconds = 0;
    friend bool operator==(const stamp&, const stamp&) = default;
  };

  [[nodiscard]] const place& where();
  void read(int directory);
  [[nodiscard]] bool replace(int directory, const std::vector<core::sighting>& with);

  std::optional<place> place_;
  bool ours_to_make_ = false;  // the directory is the usual one
  std::optional<stamp> read_;  // empty: there was no file that could be believed
  std::vector<core::sighting> known_;
};

}  // namespace cremone::detail
