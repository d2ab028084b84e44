// SPDX-License-Identifier: Apache-2.0
//
// Whether this program runs under a sanitizer: tests that only count do less of it there.
#pragma once

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define CREMONE_TEST_SANITIZED
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define CREMONE_TEST_SANITIZED
#endif
#endif

namespace cremone::test {

#ifdef CREMONE_TEST_SANITIZED
inline constexpr bool sanitized = true;
#else
inline constexpr bool sanitized = false;
#endif

}  // namespace cremone::test
