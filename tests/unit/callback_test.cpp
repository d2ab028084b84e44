// SPDX-License-Identifier: Apache-2.0
//
// Checks the move-only function: what it can hold, that moving hands over, and that what it holds is destroyed exactly
// once. Knows nothing of who calls it.
#include <cremone/callback.hpp>

#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

namespace cremone {
namespace {

/// Counts how many of it live; with `Padding` bytes more, to be too large for the inside of a callback.
template <std::size_t Padding>
class tracked {
 public:
  explicit tracked(int& alive) : alive_(&alive) { ++*alive_; }
  tracked(const tracked& other) : alive_(other.alive_) { ++*alive_; }
  tracked(tracked&& other) noexcept : alive_(other.alive_) { ++*alive_; }
  tracked& operator=(const tracked&) = delete;
  tracked& operator=(tracked&&) = delete;
  ~tracked() { --*alive_; }

  int operator()(int x) const { return x + 1; }

 private:
  int* alive_;
  std::array<std::byte, Padding> padding_{};
};

using small = tracked<1>;
using large = tracked<1000>;
using numbers = callback<int(int)>;

template <class T>
class CallbackStorage : public ::testing::Test {};

using storages = ::testing::Types<small, large>;
TYPED_TEST_SUITE(CallbackStorage, storages);

TYPED_TEST(CallbackStorage, CallsWhatItHolds) {
  int alive = 0;
  numbers f = TypeParam(alive);
  EXPECT_EQ(f(1), 2);
  EXPECT_EQ(f(41), 42);
}

TYPED_TEST(CallbackStorage, DestroysItExactlyOnce) {
  int alive = 0;
  {
    const numbers f = TypeParam(alive);
    EXPECT_EQ(alive, 1);
  }
  EXPECT_EQ(alive, 0);
}

TYPED_TEST(CallbackStorage, HandsItOverWhenMoved) {
  int alive = 0;
  {
    numbers from = TypeParam(alive);
    numbers to = std::move(from);
    EXPECT_EQ(alive, 1);
    EXPECT_FALSE(from);  // NOLINT(bugprone-use-after-move): what is left is what is tested
    EXPECT_TRUE(to);
    EXPECT_EQ(to(1), 2);
  }
  EXPECT_EQ(alive, 0);
}

TYPED_TEST(CallbackStorage, DestroysTheOldWhenAssigned) {
  int old_alive = 0;
  int alive = 0;
  numbers f = TypeParam(old_alive);
  f = TypeParam(alive);
  EXPECT_EQ(old_alive, 0);
  EXPECT_EQ(alive, 1);
  f = nullptr;
  EXPECT_EQ(alive, 0);
  EXPECT_FALSE(f);
}

TYPED_TEST(CallbackStorage, SurvivesMovesThereAndBackAndOntoItself) {
  int alive = 0;
  numbers f = TypeParam(alive);
  numbers g = std::move(f);
  f = std::move(g);
  numbers& same = f;
  f = std::move(same);
  EXPECT_EQ(alive, 1);
  EXPECT_EQ(f(1), 2);
}

TYPED_TEST(CallbackStorage, MayBeTakenOutBeforeTheCall) {
  int alive = 0;
  numbers f = TypeParam(alive);
  EXPECT_EQ(std::exchange(f, nullptr)(1), 2);
  EXPECT_EQ(alive, 0);
  EXPECT_FALSE(f);
}

TEST(Callback, IsEmptyUntilItIsGivenSomething) {
  const callback<void()> none{};
  EXPECT_FALSE(none);
  const callback<void()> null = nullptr;
  EXPECT_FALSE(null);
  const callback<void()> some = [] {};
  EXPECT_TRUE(some);
}

TEST(Callback, MovesAnEmptyOneToAnEmptyOne) {
  callback<void()> none;
  const callback<void()> moved = std::move(none);
  EXPECT_FALSE(moved);
}

TEST(Callback, HoldsWhatCannotBeCopied) {
  callback<int()> f = [p = std::make_unique<int>(7)] { return *p; };
  callback<int()> g = std::move(f);
  EXPECT_EQ(g(), 7);
  EXPECT_FALSE(std::is_copy_constructible_v<callback<int()>>);
  EXPECT_FALSE(std::is_copy_assignable_v<callback<int()>>);
}

TEST(Callback, PassesArgumentsOnWithoutCopyingThem) {
  callback<std::unique_ptr<int>(std::unique_ptr<int>)> f = [](std::unique_ptr<int> p) {
    ++*p;
    return p;
  };
  EXPECT_EQ(*f(std::make_unique<int>(1)), 2);
  callback<void(std::string&)> g = [](std::string& text) { text += "!"; };
  std::string text = "a";
  g(text);
  EXPECT_EQ(text, "a!");
}

TEST(Callback, KeepsTheStateOfWhatItHolds) {
  callback<int()> count = [n = 0]() mutable { return ++n; };
  EXPECT_EQ(count(), 1);
  callback<int()> same = std::move(count);
  EXPECT_EQ(same(), 2);
}

TEST(Callback, HoldsAPlainFunction) {
  int (*const twice)(int) = [](int x) { return 2 * x; };
  callback<int(int)> f = twice;
  EXPECT_EQ(f(21), 42);
}

/// Small, but its move may throw, so that it must not live inside.
struct moves_dangerously {
  moves_dangerously() = default;
  moves_dangerously(const moves_dangerously&) = default;
  moves_dangerously(moves_dangerously&&) noexcept(false) { throw std::string("moved"); }
  moves_dangerously& operator=(const moves_dangerously&) = delete;
  moves_dangerously& operator=(moves_dangerously&&) = delete;
  ~moves_dangerously() = default;
  int operator()() const { return 5; }
};

TEST(Callback, NeverThrowsWhenMovedWhateverItHolds) {
  const moves_dangerously dangerous;
  callback<int()> f = dangerous;
  callback<int()> g = std::move(f);
  EXPECT_EQ(g(), 5);
  EXPECT_TRUE(std::is_nothrow_move_constructible_v<callback<int()>>);
  EXPECT_TRUE(std::is_nothrow_move_assignable_v<callback<int()>>);
}

struct alignas(64) aligned {
  int value = 9;
  int operator()() const { return reinterpret_cast<std::uintptr_t>(this) % 64 == 0 ? value : -1; }
};

TEST(Callback, RespectsAlignment) {
  callback<int()> f = aligned{};
  callback<int()> g = std::move(f);
  EXPECT_EQ(g(), 9);
}

TEST(Callback, TakesOnlyWhatCanBeCalledLikeThat) {
  EXPECT_TRUE((std::is_constructible_v<callback<int(int)>, int (*)(int)>));
  EXPECT_FALSE((std::is_constructible_v<callback<int(int)>, int (*)(const char*)>));
  EXPECT_FALSE((std::is_constructible_v<callback<int(int)>, std::string (*)(int)>));
  EXPECT_FALSE((std::is_constructible_v<callback<int(int)>, int>));
}

int twice(int n) { return 2 * n; }

TEST(Callback, CallsAFunction) {
  callback<int(int)> by_name = twice;
  callback<int(int)> by_pointer = &twice;
  EXPECT_EQ(by_name(21), 42);
  EXPECT_EQ(by_pointer(21), 42);
}

TEST(Callback, IsEmptyWhenMadeFromSomethingEmpty) {
  int (*nowhere)(int) = nullptr;
  EXPECT_FALSE(callback<int(int)>(nowhere));
  EXPECT_FALSE(callback<int(int)>(std::function<int(int)>()));
  EXPECT_TRUE(callback<int(int)>(std::function<int(int)>(twice)));
}

}  // namespace
}  // namespace cremone
