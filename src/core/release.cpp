// SPDX-License-Identifier: Apache-2.0
#include "core/release.hpp"

#include "core/validity.hpp"

namespace cremone::core {

namespace {
constexpr std::chrono::milliseconds first_pause{20};
constexpr std::chrono::milliseconds longest_pause{1000};
}  // namespace

release::release(instant now, std::chrono::milliseconds patience, std::uint64_t seed) noexcept
    : give_up_at_(later(now, patience)), pauses_(first_pause, longest_pause, seed) {}

release::next release::done() noexcept {
  outcome_ = {};
  return next::finished;
}

release::next release::refused(instant now, const error& why) noexcept {
  if (why.code() == errc::unreachable || why.code() == errc::storage_error) {
    return again(now, why);  // not carried out, and nobody said no; there may be room on the disk again
  }
  if (why.code() != errc::not_held) {
    outcome_ = why;
  } else if (in_doubt_) {
    outcome_ = {};  // our own earlier request had arrived
  } else {
    outcome_ = error(errc::lost, "the store says that the lock was not held by this lease any more");
  }
  return next::finished;
}

release::next release::unknown(instant now, const error& why) noexcept {
  in_doubt_ = true;
  return again(now, why);
}

release::next release::again(instant now, const error& why) noexcept {
  outcome_ = in_doubt_ ? error(errc::outcome_unknown, why.detail()) : why;
  if (now >= give_up_at_) {
    return next::finished;
  }
  wake_at_ = now + pauses_.pause();
  return next::sleep;
}

}  // namespace cremone::core
