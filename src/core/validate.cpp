// SPDX-License-Identifier: Apache-2.0
#include "core/validate.hpp"

#include "base/text.hpp"
#include "core/validity.hpp"

#include <string>
#include <string_view>

namespace cremone::core {

namespace {

using std::chrono::milliseconds;

error bad(std::string detail) { return {errc::invalid_argument, std::move(detail)}; }

std::string shown(milliseconds t) { return std::to_string(t.count()) + " ms"; }

/// They have no business in something that is shown on terminals, and 0x1f is what separates a slot from its name
/// in the stores.
result<void> no_control(std::string_view what, std::string_view text) {
  const std::size_t at = find_control(text);
  if (at == std::string_view::npos) {
    return {};
  }
  return bad("the " + std::string(what) + " has a control character (byte " +
             std::to_string(static_cast<unsigned char>(text[at])) + ") at position " + std::to_string(at));
}

}  // namespace

result<void> validate_name(const lock_name& name) {
  const std::string& text = name.str();
  if (text.empty()) {
    return bad("the lock's name is empty");
  }
  if (auto fine = no_control("lock's name", text); !fine) {  // before any part of it is shown
    return fine;
  }
  if (text.size() > lock_name::max_size) {
    return bad("the lock's name has " + std::to_string(text.size()) + " bytes; at most " +
               std::to_string(lock_name::max_size) + " are allowed (it begins '" + text.substr(0, 24) + "')");
  }
  return {};
}

result<void> validate_options(const acquire_options& options, milliseconds max_ttl) {
  if (options.ttl <= milliseconds::zero()) {
    return bad("ttl " + shown(options.ttl) + " is not a time; it must be " + shown(min_ttl) + " to " +
               shown(max_ttl));
  }
  if (options.ttl < min_ttl) {
    return bad("ttl " + shown(options.ttl) + " is too short to be renewed; the least is " + shown(min_ttl));
  }
  if (options.ttl > max_ttl) {
    return bad("ttl " + shown(options.ttl) + " is above this store's max_ttl of " + shown(max_ttl) +
               "; the lease is renewed while it lives, so that a long task needs no long ttl");
  }
  if (options.wait < milliseconds::zero()) {
    return bad(
        "wait " + shown(options.wait) +
        " is negative (a time too long for milliseconds ends up there as well); use no_wait, a time, or "
        "forever");
  }
  if (options.max_hold <= milliseconds::zero()) {
    return bad(
        "max_hold " + shown(options.max_hold) +
        " leaves no time to hold the lock (a time too long for milliseconds ends up there as well); use a "
        "time, or forever for no limit");
  }
  if (options.label.size() > max_label_size) {
    return bad("the label has " + std::to_string(options.label.size()) + " bytes; at most " +
               std::to_string(max_label_size) + " are allowed");
  }
  return no_control("label", options.label);
}

}  // namespace cremone::core
