// SPDX-License-Identifier: Apache-2.0
#include "core/validate.hpp"

#include "base/text.hpp"
#include "core/validity.hpp"

#include <algorithm>
#include <string>
#include <string_view>

namespace cremone::core {

namespace {

using std::chrono::milliseconds;

error bad(std::string detail) { return {errc::invalid_argument, std::move(detail)}; }

std::string shown(milliseconds t) { return std::to_string(t.count()) + " ms"; }

/// Long enough for the usual hiccup of a server or a network, short enough for a person to wait for
/// the lock of a machine that died.
constexpr milliseconds usual_ttl{30'000};

constexpr int least_renewals = 3;  // fewer, and one lost renewal leaves no time for another
// More renewals only load the store: at 30 the survivable outage is nearly the whole ttl.
constexpr int most_renewals = 30;

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

/// A bidirectional control character makes a terminal show the text in another order than it is
/// written: two names that differ can look the same.
result<void> no_reordering(std::string_view what, std::string_view text) {
  const auto found = find_bidirectional(text);
  if (!found) {
    return {};
  }
  return bad("the " + std::string(what) + " has a bidirectional control character (" + found->code +
             ") at position " + std::to_string(found->at) +
             ", which changes the order in which a terminal shows it; remove that character");
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

result<void> validate_new_name(const lock_name& name) {
  if (auto fine = validate_name(name); !fine) {
    return fine;
  }
  return no_reordering("lock's name", name.str());
}

milliseconds ttl_of(const acquire_options& options, milliseconds max_ttl) noexcept {
  return options.ttl.value_or(std::min(usual_ttl, max_ttl));
}

result<void> validate_options(const acquire_options& options, milliseconds max_ttl) {
  const milliseconds ttl = ttl_of(options, max_ttl);
  if (ttl <= milliseconds::zero()) {
    return bad("ttl " + shown(ttl) + " is not a time; it must be " + shown(min_ttl) + " to " +
               shown(max_ttl));
  }
  if (ttl < min_ttl) {
    return bad("ttl " + shown(ttl) + " is too short to be renewed; the least is " + shown(min_ttl));
  }
  if (ttl > max_ttl) {
    return bad("ttl " + shown(ttl) + " is above this store's max_ttl of " + shown(max_ttl) +
               "; the lease is renewed while it lives, so that a long task needs no long ttl");
  }
  if (options.renewals_per_ttl < least_renewals || options.renewals_per_ttl > most_renewals) {
    return bad("renewals_per_ttl " + std::to_string(options.renewals_per_ttl) +
               " is out of range; it must be " + std::to_string(least_renewals) + " to " +
               std::to_string(most_renewals));
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
  if (auto fine = no_control("label", options.label); !fine) {
    return fine;
  }
  return no_reordering("label", options.label);
}

}  // namespace cremone::core
