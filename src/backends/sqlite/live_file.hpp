// SPDX-License-Identifier: Apache-2.0
//
// `<database>.live`: what the kernel can tell about the clients of a database, and how they wake each other. Each
// client locks a byte of it, at an offset of its own far behind the end, as an open file description lock: the
// kernel drops it with the last process that has the description, however that ends, and any process can ask about
// it, in whatever pid namespace it lives. The file's first pages are shared memory, with a bell for each client.
// Knows no lock names and no records. Never unlinked.
#pragma once

#include "base/descriptor.hpp"

#include <cremone/record.hpp>
#include <cremone/result.hpp>
#include <cremone/types.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace cremone::sqlite {

/// The kernel and the file in which life bytes can be compared: boot id and inode of the live file.
using place = std::array<std::uint8_t, 24>;

/// This boot of this kernel; all zero where there is no /proc to tell.
[[nodiscard]] std::array<std::uint8_t, 16> this_boot();

/// Threads: all members from any thread.
class live_file {
 public:
  /// Opens or makes the file beside the database.
  [[nodiscard]] static result<std::unique_ptr<live_file>> open(const std::string& database,
                                                               std::span<const std::uint8_t> boot);
  live_file(const live_file&) = delete;
  live_file& operator=(const live_file&) = delete;
  ~live_file();

  /// Locks a fresh byte for this client: from now on it is seen to live.
  [[nodiscard]] result<void> take_byte();

  /// Whether any client of this file lives, other than one that has not taken its byte yet.
  [[nodiscard]] bool anybody() const noexcept;

  /// Our byte: even, 62 random bits. The one behind it is for a command that we run.
  [[nodiscard]] std::int64_t life() const noexcept { return life_; }
  [[nodiscard]] const place& where() const noexcept { return where_; }

  /// What the kernel knows of a client, told by its byte and the place it recorded it for.
  [[nodiscard]] liveness probe(std::int64_t life, std::span<const std::uint8_t> recorded) const noexcept;

  /// A new description with the byte behind ours locked, close-on-exec.
  [[nodiscard]] result<int> lifeline() const;

  /// Rings the bell of a client: something happened to the lock of this name.
  void ring(std::int64_t life, std::string_view name) const noexcept;

  // Our own bell. It may ring for nothing: clients share bells when there are very many, and names share a tone.

  static constexpr std::size_t tones = 30;
  using score = std::array<std::uint16_t, tones>;  // how often each tone was rung
  [[nodiscard]] static std::size_t tone_of(std::string_view name) noexcept;
  [[nodiscard]] score heard() const noexcept;
  [[nodiscard]] std::uint32_t rung() const noexcept;  ///< changes with each ring
  /// Sleeps until rung() is no longer `seen`, or the time is over.
  void wait(std::uint32_t seen, std::optional<std::chrono::milliseconds> bound) const noexcept;

 private:
  struct bell {
    std::atomic<std::uint32_t> rings;  // the futex
    std::array<std::atomic<std::uint16_t>, tones> of_tone;
  };
  static_assert(sizeof(bell) == 64 && std::atomic<std::uint16_t>::is_always_lock_free);
  static constexpr std::size_t bells = 1024;
  static constexpr std::size_t size = bells * sizeof(bell);

  live_file() = default;
  [[nodiscard]] result<void> map(const std::string& path);
  [[nodiscard]] bool locked(std::int64_t byte) const noexcept;
  [[nodiscard]] bell& bell_of(std::int64_t life) const noexcept;

  std::string path_;
  descriptor prober_;  // never holds a lock: a description does not see its own
  descriptor holder_;
  bell* shared_ = nullptr;
  std::int64_t life_ = 0;
  place where_{};
};

}  // namespace cremone::sqlite
