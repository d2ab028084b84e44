// SPDX-License-Identifier: Apache-2.0
//
// A move-only function, because results are move-only and `std::function` wants copies. Small closures live
// inside it. It knows nothing about locks.
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

namespace cremone {

template <class Signature>
class callback;

/// Owns something that can be called once or often. Calling an empty or moved-from callback is a bug of the
/// caller. Moving never throws. Threads: none of its own; like any value.
template <class R, class... Args>
class callback<R(Args...)> {
  static constexpr std::size_t room = 6 * sizeof(void*);  // three shared_ptrs: what our closures carry

  template <class F>
  static constexpr bool fits =
      sizeof(F) <= room && alignof(F) <= alignof(std::max_align_t) && std::is_nothrow_move_constructible_v<F>;

 public:
  callback() = default;
  callback(std::nullptr_t) noexcept {}

  template <class F>
    requires(!std::is_same_v<std::remove_cvref_t<F>, callback> && std::is_invocable_r_v<R, F&, Args...>)
  callback(F&& f) {
    using stored = std::decay_t<F>;  // a function is kept as a pointer to it
    if (is_empty(f)) {
      return;
    }
    if constexpr (fits<stored>) {
      ::new (static_cast<void*>(&space_)) stored(std::forward<F>(f));
      table_ = &inside<stored>;
    } else {
      ::new (static_cast<void*>(&space_)) stored*(new stored(std::forward<F>(f)));
      table_ = &outside<stored>;
    }
  }

  callback(callback&& other) noexcept { take(other); }
  callback& operator=(callback&& other) noexcept {
    if (this != &other) {
      reset();
      take(other);
    }
    return *this;
  }
  callback(const callback&) = delete;
  callback& operator=(const callback&) = delete;
  ~callback() { reset(); }

  explicit operator bool() const noexcept { return table_ != nullptr; }

  R operator()(Args... args) { return table_->call(&space_, std::forward<Args>(args)...); }

 private:
  /// A null function pointer or an empty std::function makes an empty callback.
  template <class F>
  [[nodiscard]] static bool is_empty(const F& f) noexcept {
    if constexpr (std::is_pointer_v<F>) {
      return f == nullptr;
    } else if constexpr (requires { f.operator bool(); }) {
      return !static_cast<bool>(f);
    } else {
      return false;
    }
  }

  struct operations {
    R (*call)(void*, Args&&...);
    void (*move)(void* to, void* from) noexcept;
    void (*destroy)(void*) noexcept;
  };

  template <class F>
  static constexpr operations inside = {
      [](void* at, Args&&... args) -> R { return (*static_cast<F*>(at))(std::forward<Args>(args)...); },
      [](void* to, void* from) noexcept {
        ::new (to) F(std::move(*static_cast<F*>(from)));
        static_cast<F*>(from)->~F();
      },
      [](void* at) noexcept { static_cast<F*>(at)->~F(); },
  };

  template <class F>
  static constexpr operations outside = {
      [](void* at, Args&&... args) -> R { return (**static_cast<F**>(at))(std::forward<Args>(args)...); },
      [](void* to, void* from) noexcept { ::new (to) F*(*static_cast<F**>(from)); },
      [](void* at) noexcept { delete *static_cast<F**>(at); },
  };

  void take(callback& other) noexcept {
    if (other.table_ != nullptr) {
      other.table_->move(&space_, &other.space_);
      table_ = std::exchange(other.table_, nullptr);
    }
  }

  void reset() noexcept {
    if (table_ != nullptr) {
      std::exchange(table_, nullptr)->destroy(&space_);
    }
  }

  alignas(std::max_align_t) std::byte space_[room];
  const operations* table_ = nullptr;
};

}  // namespace cremone
