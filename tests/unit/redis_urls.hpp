// SPDX-License-Identifier: Apache-2.0
//
// What tests of URLs share: what is made of one, and what is said of an improper one.
#pragma once

#include "backends/redis/settings.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace cremone::redis::testing {

[[nodiscard]] inline result<node_settings> parsed(const std::string& text) {
  const auto u = parse_url(text);
  if (!u) {
    return u.error();
  }
  return parse_settings(*u);
}

/// Fails the test when it is not taken.
[[nodiscard]] inline node_settings good(const std::string& text) {
  auto got = parsed(text);
  if (!got) {
    ADD_FAILURE() << text << ": " << got.error().message();
    return {};
  }
  return std::move(*got);
}

/// The message; fails the test when there is none, or when it has the password of these tests.
[[nodiscard]] inline std::string trouble(const std::string& text) {
  const auto got = parsed(text);
  if (got) {
    ADD_FAILURE() << text << " was taken";
    return {};
  }
  EXPECT_THAT(got.error().message(), ::testing::Not(::testing::HasSubstr("s3cret")));
  return got.error().message();
}

}  // namespace cremone::redis::testing
