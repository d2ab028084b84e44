// SPDX-License-Identifier: Apache-2.0
//
// Checks the table of errors and the result type: each code has a name, a sentence and a std condition of its own
// choosing, and who prefers exceptions loses no word. Knows nothing of who fails.
#include <cremone/result.hpp>

#include "unit/moments.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>
#include <utility>

namespace cremone {
namespace {

using namespace cremone::testing;

struct expected {
  errc code;
  const char* name;
  std::errc condition;
};

const std::vector<expected>& every_code() {
  static const std::vector<expected> table = {
      {errc::busy, "busy", std::errc::device_or_resource_busy},
      {errc::timed_out, "timed_out", std::errc::timed_out},
      {errc::cancelled, "cancelled", std::errc::operation_canceled},
      {errc::lost, "lost", std::errc::owner_dead},
      {errc::not_held, "not_held", std::errc::operation_not_permitted},
      {errc::stale_token, "stale_token", std::errc::operation_not_permitted},
      {errc::unreachable, "unreachable", std::errc::host_unreachable},
      {errc::outcome_unknown, "outcome_unknown", std::errc::io_error},
      {errc::quarantined, "quarantined", std::errc::resource_unavailable_try_again},
      {errc::access_denied, "access_denied", std::errc::permission_denied},
      {errc::storage_error, "storage_error", std::errc::io_error},
      {errc::misconfigured, "misconfigured", std::errc::not_supported},
      {errc::unsupported, "unsupported", std::errc::not_supported},
      {errc::invalid_argument, "invalid_argument", std::errc::invalid_argument},
      {errc::protocol_error, "protocol_error", std::errc::protocol_error},
  };
  return table;
}

TEST(Errc, HasANameForEachCode) {
  std::set<std::string_view> names;
  for (const auto& e : every_code()) {
    EXPECT_EQ(to_string(e.code), e.name);
    names.insert(to_string(e.code));
  }
  EXPECT_EQ(names.size(), every_code().size()) << "two codes share a name";
}

TEST(Errc, HasASentenceForEachCode) {
  std::set<std::string> sentences;
  for (const auto& e : every_code()) {
    sentences.insert(make_error_code(e.code).message());
  }
  EXPECT_EQ(sentences.size(), every_code().size());
  EXPECT_EQ(sentences.count(make_error_code(errc{}).message()), 0U);
}

TEST(Errc, MapsEachCodeToAStandardCondition) {
  for (const auto& e : every_code()) {
    EXPECT_EQ(make_error_code(e.code), e.condition) << e.name;
    EXPECT_TRUE(make_error_code(e.code)) << e.name;
    EXPECT_EQ(make_error_code(e.code).default_error_condition().category(), std::generic_category())
        << e.name;
  }
}

TEST(Errc, IsAnErrorCodeOfItsOwnCategory) {
  const std::error_code code = errc::busy;
  EXPECT_EQ(code.category(), error_category());
  EXPECT_STREQ(error_category().name(), "cremone");
  EXPECT_EQ(code, errc::busy);
  EXPECT_NE(code, errc::lost);
}

TEST(Errc, CallsWhatIsNoCodeNoError) {
  EXPECT_EQ(to_string(errc{}), "no_error");
  EXPECT_EQ(to_string(static_cast<errc>(every_code().size() + 1)), "no_error");
  EXPECT_EQ(error_category().message(-1), "no error");
  EXPECT_FALSE(make_error_code(errc{}));
}

TEST(Error, PutsTheCodesNameBeforeItsWords) {
  EXPECT_EQ(error(errc::busy, "lock 'nightly' is held by bob").message(),
            "busy: lock 'nightly' is held by bob");
}

TEST(Error, SaysTheCodesSentenceWhenThereIsNothingMoreToSay) {
  for (const auto& e : every_code()) {
    EXPECT_EQ(error(e.code).message(), std::string(e.name) + ": " + make_error_code(e.code).message());
    EXPECT_EQ(error(e.code).detail(), "");
  }
}

TEST(Error, ComparesWithItsCode) {
  EXPECT_TRUE(error(errc::lost, "x") == errc::lost);
  EXPECT_FALSE(error(errc::lost) == errc::busy);
  EXPECT_EQ(error().code(), errc{});
}

TEST(LockError, LosesNoWord) {
  for (const auto& e : every_code()) {
    const error why(e.code, "at redis://db: because");
    const lock_error thrown(why);
    EXPECT_EQ(thrown.what(), why.message());
    EXPECT_EQ(thrown.code(), make_error_code(e.code));
    EXPECT_EQ(thrown.why().code(), e.code);
    EXPECT_EQ(thrown.why().detail(), "at redis://db: because");
  }
}

TEST(LockError, CanBeCopiedAsExceptionsAre) {
  auto first = std::make_unique<lock_error>(error(errc::busy, "held by bob"));
  const lock_error copy = *first;
  first.reset();
  EXPECT_STREQ(copy.what(), "busy: held by bob");
}

TEST(Result, HoldsAValue) {
  const result<int> r = 7;
  EXPECT_TRUE(r);
  EXPECT_EQ(*r, 7);
  EXPECT_EQ(r.value(), 7);
  EXPECT_EQ(r.error().code(), errc{}) << "a value has no error";
}

TEST(Result, HoldsAnError) {
  const result<int> r = error(errc::busy, "held by bob");
  EXPECT_FALSE(r);
  EXPECT_EQ(r.error().code(), errc::busy);
}

template <class R>
std::string thrown_by_value(R& r) {
  try {
    r.value();
  } catch (const lock_error& e) {
    EXPECT_EQ(e.code(), errc::timed_out);
    EXPECT_EQ(e.why().message(), e.what());
    return e.what();
  }
  return "nothing";
}

TEST(Result, ThrowsALockErrorWithTheSameWordsWhenAskedForAMissingValue) {
  result<std::string> text = error(errc::timed_out, "waited 2.0 s");
  EXPECT_EQ(thrown_by_value(text), "timed_out: waited 2.0 s");
  result<void> nothing = error(errc::timed_out);
  EXPECT_EQ(thrown_by_value(nothing), nothing.error().message());
}

TEST(Result, IsFineWithoutAValueWhenThereIsNothingToReturn) {
  result<void> r;
  EXPECT_TRUE(r);
  EXPECT_NO_THROW(r.value());
}

TEST(Result, CarriesWhatCannotBeCopied) {
  result<std::unique_ptr<int>> r = std::make_unique<int>(7);
  const result<std::unique_ptr<int>> moved = std::move(r);
  ASSERT_TRUE(moved);
  EXPECT_EQ(**moved, 7);
}

template <class T>
concept can_be_asked = requires(T t) {
  static_cast<bool>(std::forward<T>(t));
};

TEST(Result, CannotBeAskedAndThrownAwayInOne) {
  static_assert(!can_be_asked<result<int>>, "if (locks.acquire(name)) would drop the lease at once");
  static_assert(can_be_asked<result<int>&>);
  static_assert(can_be_asked<result<void>>);
  const result<int> yes = 1;
  const result<int> no = error(errc::busy);
  EXPECT_TRUE(yes ? true : false);
  EXPECT_FALSE(no ? true : false);
}

}  // namespace
}  // namespace cremone
