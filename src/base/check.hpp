// SPDX-License-Identifier: Apache-2.0
//
// Errors are values, bugs are aborts. A broken invariant in a lock is worse than a dead process, so that checks
// stay on in release builds.
#pragma once

#include <cstdio>
#include <cstdlib>

#define CREMONE_CHECK(condition)                                                                        \
  do {                                                                                                  \
    if (!(condition)) [[unlikely]] {                                                                    \
      std::fprintf(stderr, "cremone: broken invariant at %s:%d: %s\n", __FILE__, __LINE__, #condition); \
      std::abort();                                                                                     \
    }                                                                                                   \
  } while (false)
