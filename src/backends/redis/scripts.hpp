// SPDX-License-Identifier: Apache-2.0
//
// The Lua scripts of the layouts, as the server knows them: by their SHA-1. The texts are in the folder beside this.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>

namespace cremone::redis {

struct script {
  std::string_view name;  ///< for messages
  std::string_view text;
  std::string sha;
};

/// Of the layout `classic`: the same for every server. Made once per process.
struct classic_scripts {
  script grant;
  script release;
  script renew;
  script force;
  script inspect;
  script pick;
  script rights;
};
[[nodiscard]] const classic_scripts& scripts();

/// The scripts of the layout `record`. Their texts begin with the run id of the server, so that each life of a server has
/// texts of its own.
enum class record_script : std::uint8_t { grant, release, renew, remove, listen, admit, look, commit, floor };
inline constexpr std::size_t record_script_count = 9;

[[nodiscard]] std::string_view name_of(record_script which) noexcept;  ///< for messages

/// For one life of one server.
class record_book {
 public:
  /// `run`: '<run id>.<replication id>.<swaps>', hex digits and dots only. Empty for a server that was not asked yet.
  record_book(std::string run, int db);
  record_book(const record_book&) = delete;  // the scripts look into the texts
  record_book& operator=(const record_book&) = delete;
  ~record_book() = default;

  [[nodiscard]] const std::string& run() const noexcept { return run_; }

  /// As the marker names it; empty when it is not known.
  [[nodiscard]] std::string life() const { return run_.empty() ? run_ : run_ + "/" + db_; }
  /// The same as a number, which is another one for each life; 0 when it is not known.
  [[nodiscard]] std::uint64_t life_number() const noexcept { return number_; }

  /// Made when first asked for: a client needs few of them. Threads: from any.
  [[nodiscard]] const script& at(record_script which) const;

 private:
  struct page {
    std::once_flag made;
    std::string text;
    script what;
  };

  std::string run_;
  std::string db_;
  std::uint64_t number_ = 0;
  mutable std::array<page, record_script_count> pages_;
};

/// Which commands of those that the layout needs may this user not run?
[[nodiscard]] const script& record_rights();

}  // namespace cremone::redis
