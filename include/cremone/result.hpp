// SPDX-License-Identifier: Apache-2.0
//
// How calls answer: `result<T>` holds a value or an `error`, and an error is one of a small, total set of codes
// plus a sentence that names the culprit. Being busy is an answer here, not an exception; who prefers
// exceptions calls `.value()`.
#pragma once

#include <boost/system/result.hpp>

#include <cstdint>
#include <iosfwd>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>

namespace cremone {

/// Everything that can go wrong, once. Each maps to a `std::errc` condition (see result.cpp, the one table).
enum class errc : std::uint8_t {
  busy =
      1,  ///< Somebody else holds the lock, and the caller asked not to wait; or is at a fenced resource: try again.
  timed_out,         ///< The wait that the caller allowed is over.
  cancelled,         ///< The caller's stop token, or closing the client, ended the call.
  lost,              ///< This lease is over: its validity ran out or the store gave the lock away.
  not_held,          ///< There is nothing to act on: released, moved from, or a forked copy.
  stale_token,       ///< A resource has seen a higher fence token than the one presented.
  unreachable,       ///< The store could not be asked; nothing was executed.
  outcome_unknown,   ///< The store was asked and did not answer; it may or may not have acted.
  quarantined,       ///< The store restarted or lost memory and does not grant yet.
  access_denied,     ///< The store knows us and says no: password, ACL, file permissions.
  storage_error,     ///< The store cannot keep what it must: disk full, read-only, out of memory, corrupt.
  misconfigured,     ///< The set-up cannot be safe as it is, and says why.
  unsupported,       ///< This store, build or process cannot do that.
  invalid_argument,  ///< The caller's input is wrong; the message names the culprit.
  protocol_error,    ///< The peer answered something that makes no sense.
};

/// The code's name, as in the source: "timed_out".
[[nodiscard]] std::string_view to_string(errc code) noexcept;

[[nodiscard]] const std::error_category& error_category() noexcept;
[[nodiscard]] std::error_code make_error_code(errc code) noexcept;

/// A code and a sentence. The sentence names the lock, the store and the time spent where they are known.
class error {
 public:
  error() noexcept = default;  ///< no error: what a result with a value answers when asked for one
  explicit error(errc code) : code_(code) {}
  error(errc code, std::string detail) : code_(code), detail_(std::move(detail)) {}

  [[nodiscard]] errc code() const noexcept { return code_; }
  [[nodiscard]] const std::string& detail() const noexcept { return detail_; }

  /// "busy: lock 'nightly' at memory:// is held by …"
  [[nodiscard]] std::string message() const;

  friend bool operator==(const error& e, errc code) noexcept { return e.code_ == code; }
  friend std::ostream& operator<<(std::ostream& out, const error& e);  ///< message()

 private:
  errc code_{};
  std::string detail_;
};

/// What `.value()` and the standard mutex faces throw.
class lock_error : public std::system_error {
 public:
  explicit lock_error(const error& e);
  [[nodiscard]] const error& why() const noexcept { return why_; }
  [[nodiscard]] const char* what() const noexcept override { return text_.c_str(); }

 private:
  error why_;
  std::string text_;
};

/// Found by `boost::system::result::value()`; throws lock_error.
[[noreturn]] void throw_exception_from_error(const error& e, const boost::source_location& where);

/// A value or an error. Never to be ignored.
///
///     auto got = locks.acquire("nightly", {.wait = 10s});
///     if (!got) return report(got.error().message());
///     use(*got);                    // or got.value(), which throws lock_error
template <class T>
class [[nodiscard]] result : public boost::system::result<T, error> {
 public:
  using boost::system::result<T, error>::result;

  explicit operator bool() const& noexcept { return this->has_value(); }
  /// `if (locks.acquire("x")) …` would give the lease back before the braces. Name it:
  /// `if (auto lease = locks.acquire("x")) …`
  explicit operator bool() const&& noexcept requires(!std::is_void_v<T>) = delete;
  explicit operator bool() const&& noexcept requires(std::is_void_v<T>) { return this->has_value(); }
};

}  // namespace cremone

template <>
struct std::is_error_code_enum<cremone::errc> : std::true_type {};
