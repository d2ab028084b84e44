// SPDX-License-Identifier: Apache-2.0
//
// Memory for one Lua state. A script makes and drops thousands of small things; blocks of their sizes are kept for the next, which takes a
// fraction of what malloc takes. Used by one thread.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <utility>
#include <vector>

namespace cremone::sim {

class lua_memory {
 public:
  lua_memory() = default;
  lua_memory(const lua_memory&) = delete;
  lua_memory& operator=(const lua_memory&) = delete;

  /// As Lua wants it: a size of 0 frees; nullptr when there is no memory left.
  static void* serve(void* self, void* old, std::size_t old_size, std::size_t size) {
    return static_cast<lua_memory*>(self)->resize(old, old_size, size);
  }

 private:
  static constexpr std::size_t step = 16;
  static constexpr std::size_t largest = 512;
  static constexpr std::size_t chunk_size = std::size_t{64} * 1024;

  struct block {
    block* next;
  };

  [[nodiscard]] static std::size_t kind_of(std::size_t size) noexcept { return (size - 1) / step; }
  [[nodiscard]] static bool same_kind(std::size_t a, std::size_t b) noexcept {
    return a > 0 && b > 0 && a <= largest && b <= largest && kind_of(a) == kind_of(b);
  }

  void* resize(void* old, std::size_t old_size, std::size_t size) {
    if (old != nullptr && same_kind(old_size, size)) {
      return old;
    }
    if (old != nullptr && old_size > largest && size > largest) {
      return std::realloc(old, size);
    }
    void* const made = size == 0 ? nullptr : take(size);
    if (old != nullptr && (size == 0 || made != nullptr)) {
      if (made != nullptr) {
        std::memcpy(made, old, std::min(old_size, size));
      }
      give_back(old, old_size);
    }
    return made;
  }

  void* take(std::size_t size) {
    if (size > largest) {
      return std::malloc(size);
    }
    block*& first = free_[kind_of(size)];
    if (first != nullptr) {
      return std::exchange(first, first->next);
    }
    const std::size_t whole = (kind_of(size) + 1) * step;
    if (chunks_.empty() || used_ + whole > chunk_size) {
      chunks_.push_back(std::make_unique<std::byte[]>(chunk_size));
      used_ = 0;
    }
    return chunks_.back().get() + std::exchange(used_, used_ + whole);
  }

  void give_back(void* old, std::size_t size) {
    if (size == 0 || size > largest) {
      return std::free(old);
    }
    block*& first = free_[kind_of(size)];
    first = new (old) block{first};
  }

  std::array<block*, largest / step> free_{};
  std::vector<std::unique_ptr<std::byte[]>> chunks_;
  std::size_t used_ = 0;  // of the last of them
};

}  // namespace cremone::sim
