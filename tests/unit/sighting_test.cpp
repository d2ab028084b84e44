// SPDX-License-Identifier: Apache-2.0
//
// Checks what is written down about holders for later processes: that it reads as it was written, that no other line
// is believed, and what is kept when several processes write. Text and values only; the file itself is tested with
// whole clients.
#include "core/sighting.hpp"

#include "unit/moments.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace cremone::core {

static void PrintTo(const sighting& s, std::ostream* out) { *out << encode(std::vector{s}); }

namespace {

using namespace cremone::testing;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

const vantage here{"boot-1/4026531834", "redis 7f3a"};
const vantage other_boot{"boot-2/4026531834", here.store};
const vantage other_namespace{"boot-1/4026532000", here.store};
const vantage other_store{here.clock, "redis 9c21"};

sighting note(const lock_name& name, std::uint32_t who, std::uint64_t seq, instant first,
              const vantage& from = here) {
  return {from, name, {owner(who), seq}, first};
}

observations::seen_hold seen(const lock_name& name, std::uint32_t who, std::uint64_t seq, instant first,
                             instant latest) {
  return {name, {owner(who), seq}, first, latest};
}

std::vector<sighting> round_trip(const std::vector<sighting>& all) { return decode(encode(all)); }

// ---- on paper ---------------------------------------------------------------------------------------------

TEST(Sightings, ReadAsTheyWereWritten) {
  const std::vector<sighting> all = {note("nightly", 1, 0, at(3s)),
                                     note("weekly", 2, 18'446'744'073'709'551'615U, at(0s), other_boot)};
  EXPECT_EQ(round_trip(all), all);
  EXPECT_THAT(round_trip({}), IsEmpty());
}

TEST(Sightings, SayOfWhichLifeOfTheServerTheyAre) {
  sighting one = note("nightly", 1, 5, at(3s));
  one.version.life = 18'446'744'073'709'551'615U;
  EXPECT_EQ(round_trip({one}), std::vector{one});
  EXPECT_FALSE(first_sight(std::vector{one}, here, "nightly", {owner(1), 5}, at(9s)));
  EXPECT_EQ(first_sight(std::vector{one}, here, "nightly", one.version, at(9s)), at(3s));
  std::string line = encode(std::vector{one});
  const std::size_t life = line.rfind('/') + 1;
  line.erase(life, line.find(' ', life) - life);
  EXPECT_THAT(decode(line), IsEmpty()) << "a life that cannot be read was believed";
}

// Of several servers that vote each has a life of its own; what was seen of one says nothing about the others.
TEST(Sightings, OfAnotherLifeStayBesideThoseOfThisOne) {
  sighting old = note("nightly", 1, 500, at(3s));
  old.version.life = 1;
  observations::seen_hold mine = seen("nightly", 1, 5, at(8s), at(9s));
  mine.version.life = 2;
  sighting expected = note("nightly", 1, 5, at(8s));
  expected.version.life = 2;
  EXPECT_THAT(merge({old}, here, std::vector{mine}, at(9s)), ElementsAre(old, expected));
}

TEST(Sightings, KeepEveryByteOfANameApartFromTheirOwnSigns) {
  std::string bytes;
  for (int c = 1; c < 256; ++c) {
    bytes += static_cast<char>(c);
  }
  const std::vector<sighting> all = {
      note(bytes, 1, 1, at(1s), {"a b\nc", "%41 %"}),
      note("a b", 1, 1, at(1s)),
      note("a%20b", 1, 1, at(1s)),
      note("a\nb", 1, 1, at(1s)),
      note(std::string(1, '\0'), 1, 1, at(1s)),
  };
  EXPECT_EQ(round_trip(all), all);
}

TEST(Sightings, BelieveNoLineThatWasDamaged) {
  const std::string line = encode(std::vector{note("nightly", 1, 7, at(3s))});
  const std::string hex = owner(1).hex();
  const auto with = [&](std::string_view what, std::string_view instead) {
    std::string damaged = line;
    return damaged.replace(damaged.find(what), what.size(), instead);
  };
  const std::vector<std::string> damaged = {
      "",
      "\n",
      "     \n",
      "not a line of ours\n",
      line.substr(0, line.size() - 1),  // cut short: the number may have had more digits
      line.substr(0, 20) + "\n",
      "x " + line,
      line.substr(0, line.size() - 1) + " x\n",
      line.substr(0, line.size() - 1) + "x\n",
      line.substr(0, line.size() - 1) + " \n",
      with("nightly", ""),
      with("nightly", "night%"),
      with("nightly", "night%4"),
      with("nightly", "night%zz"),
      with("nightly", "night%+4"),
      with(hex, hex.substr(2)),
      with(hex, hex + "00"),
      with(hex, "zz" + hex.substr(2)),
      with(hex, "-1" + hex.substr(2)),
      with(" 7 ", " -7 "),
      with(" 7 ", " 18446744073709551616 "),
      with(" 7 ", " 7.0 "),
      with(" 7 ", "  "),
      with(" 7 36", " 7 -36"),
      with(" 7 36", " 7 99999999999999999936"),
  };
  for (const std::string& text : damaged) {
    EXPECT_THAT(decode(text), IsEmpty()) << text;
  }
  EXPECT_EQ(decode(line).size(), 1U) << "else nothing was tested";
}

TEST(Sightings, BelieveTheLinesAroundADamagedOne) {
  const auto first = note("a", 1, 1, at(1s));
  const auto second = note("b", 2, 2, at(2s));
  const std::string text = encode(std::vector{first}) + std::string("\x00\xff garbage\n", 11) +
                           encode(std::vector{second}) + "half a li";
  EXPECT_THAT(decode(text), ElementsAre(first, second));
}

TEST(Sightings, ReadNoMoreThanTheyMayBe) {
  std::string text;
  for (std::size_t i = 0; i < 3 * max_sightings; ++i) {
    text += encode(std::vector{note(std::to_string(i), 1, 1, at(1s))});
  }
  EXPECT_EQ(decode(text).size(), max_sightings);
}

// ---- since when -------------------------------------------------------------------------------------------

TEST(Sightings, TellSinceWhenAVersionWasSeen) {
  const std::vector<sighting> all = {note("lock", 1, 5, at(3s))};
  EXPECT_EQ(first_sight(all, here, "lock", {owner(1), 5}, at(10s)), at(3s));
}

TEST(Sightings, TellNothingOfAnotherVersionHolderOrLock) {
  const std::vector<sighting> all = {note("lock", 1, 5, at(3s))};
  EXPECT_EQ(first_sight(all, here, "lock", {owner(1), 6}, at(10s)), std::nullopt);
  EXPECT_EQ(first_sight(all, here, "lock", {owner(1), 4}, at(10s)), std::nullopt);
  EXPECT_EQ(first_sight(all, here, "lock", {owner(2), 5}, at(10s)), std::nullopt);
  EXPECT_EQ(first_sight(all, here, "lock2", {owner(1), 5}, at(10s)), std::nullopt);
}

TEST(Sightings, TellNothingAboutAnotherStoreBootOrTimeNamespace) {
  const std::vector<sighting> all = {note("lock", 1, 5, at(3s))};
  for (const vantage& elsewhere : {other_boot, other_namespace, other_store}) {
    EXPECT_EQ(first_sight(all, elsewhere, "lock", {owner(1), 5}, at(10s)), std::nullopt) << elsewhere.clock;
  }
}

TEST(Sightings, TellNothingThatIsNotInThePast) {
  const std::vector<sighting> all = {note("lock", 1, 5, at(3s))};
  EXPECT_EQ(first_sight(all, here, "lock", {owner(1), 5}, at(3s)), std::nullopt);
  EXPECT_EQ(first_sight(all, here, "lock", {owner(1), 5}, at(2s)), std::nullopt);
}

// ---- what is new ------------------------------------------------------------------------------------------

TEST(Sightings, AddNothingThatIsThere) {
  const std::vector<sighting> kept = {note("lock", 1, 5, at(3s))};
  EXPECT_FALSE(adds_to(kept, here, std::vector{seen("lock", 1, 5, at(3s), at(9s))}));
  EXPECT_FALSE(adds_to(kept, here, std::vector{seen("lock", 1, 5, at(4s), at(9s))}));
  EXPECT_FALSE(adds_to(kept, here, {}));
}

TEST(Sightings, AddAnotherVersionHolderLockVantageOrAnEarlierSight) {
  const std::vector<sighting> kept = {note("lock", 1, 5, at(3s))};
  EXPECT_TRUE(adds_to(kept, here, std::vector{seen("lock", 1, 6, at(4s), at(9s))}));
  EXPECT_TRUE(adds_to(kept, here, std::vector{seen("lock", 2, 5, at(4s), at(9s))}));
  EXPECT_TRUE(adds_to(kept, here, std::vector{seen("lock2", 1, 5, at(4s), at(9s))}));
  EXPECT_TRUE(adds_to(kept, here, std::vector{seen("lock", 1, 5, at(2s), at(9s))}));
  EXPECT_TRUE(adds_to(kept, other_boot, std::vector{seen("lock", 1, 5, at(4s), at(9s))}));
  EXPECT_TRUE(adds_to({}, here, std::vector{seen("lock", 1, 5, at(4s), at(9s))}));
}

// ---- one out of several -----------------------------------------------------------------------------------

TEST(SightingsMerged, HaveOursAndTheOthers) {
  EXPECT_THAT(merge({note("a", 1, 1, at(1s))}, here, std::vector{seen("b", 2, 2, at(2s), at(3s))}, at(3s)),
              ElementsAre(note("a", 1, 1, at(1s)), note("b", 2, 2, at(2s))));
}

TEST(SightingsMerged, CountFromTheFirstWhoSawIt) {
  EXPECT_THAT(merge({note("a", 1, 1, at(1s))}, here, std::vector{seen("a", 1, 1, at(2s), at(3s))}, at(3s)),
              ElementsAre(note("a", 1, 1, at(1s))));
  EXPECT_THAT(merge({note("a", 1, 1, at(2s))}, here, std::vector{seen("a", 1, 1, at(1s), at(3s))}, at(3s)),
              ElementsAre(note("a", 1, 1, at(1s))));
}

TEST(SightingsMerged, HaveTheNewerVersionOnly) {
  EXPECT_THAT(merge({note("a", 1, 4, at(1s))}, here, std::vector{seen("a", 1, 5, at(2s), at(3s))}, at(3s)),
              ElementsAre(note("a", 1, 5, at(2s))));
  EXPECT_THAT(merge({note("a", 1, 6, at(4s))}, here, std::vector{seen("a", 1, 5, at(2s), at(3s))}, at(5s)),
              ElementsAre(note("a", 1, 6, at(4s))));
}

TEST(SightingsMerged, DropHoldersThatAreGone) {
  EXPECT_THAT(merge({note("a", 1, 9, at(1s)), note("b", 1, 9, at(1s))}, here,
                    std::vector{seen("a", 2, 0, at(2s), at(3s))}, at(3s)),
              ElementsAre(note("b", 1, 9, at(1s)), note("a", 2, 0, at(2s))));
}

TEST(SightingsMerged, KeepAHolderThatSomebodySawAfterUs) {
  EXPECT_THAT(merge({note("a", 1, 9, at(5s))}, here, std::vector{seen("a", 2, 0, at(2s), at(3s))}, at(6s)),
              ElementsAre(note("a", 1, 9, at(5s)), note("a", 2, 0, at(2s))));
}

TEST(SightingsMerged, KeepAHolderThatALongListMayHaveLeftOut) {
  std::vector<observations::seen_hold> many;
  for (std::uint32_t who = 10; who < 10 + complete_below; ++who) {
    many.push_back(seen("a", who, 0, at(2s), at(3s)));
  }
  EXPECT_EQ(merge({note("a", 1, 9, at(1s))}, here, many, at(3s)).size(), complete_below + 1);
  many.pop_back();
  EXPECT_EQ(merge({note("a", 1, 9, at(1s))}, here, many, at(3s)).size(), complete_below - 1);
}

TEST(SightingsMerged, LeaveOtherStoresAndClocksAlone) {
  const std::vector<sighting> others = {note("a", 1, 1, at(1s), other_boot),
                                        note("a", 1, 1, at(100h), other_namespace),
                                        note("a", 1, 1, at(1s), other_store)};
  const auto merged = merge(others, here, std::vector{seen("a", 1, 2, at(2s), at(3s))}, at(3s));
  EXPECT_THAT(merged, ElementsAre(others[0], others[1], others[2], note("a", 1, 2, at(2s))));
}

TEST(SightingsMerged, ForgetWhatNobodyCameBackFor) {
  const instant much_later = at(1s) + sighting_kept_for;
  const auto mine = std::vector{seen("b", 2, 0, much_later, much_later)};
  EXPECT_EQ(merge({note("a", 1, 1, at(1s))}, here, mine, much_later).size(), 2U);
  EXPECT_EQ(merge({note("a", 1, 1, at(1s))}, here, mine, much_later + 1ns).size(), 1U);
}

TEST(SightingsMerged, KeepWhatIsNotedOfTheStoreItself) {
  const sighting of_store = note("\x01open", 1, 0, at(1s));
  const instant much_later = at(1s) + 10 * sighting_kept_for;
  const auto mine = std::vector{seen("b", 2, 0, much_later, much_later)};
  EXPECT_THAT(merge({of_store, note("a", 1, 1, at(1s))}, here, mine, much_later),
              ElementsAre(of_store, note("b", 2, 0, much_later)));

  std::vector<sighting> full = {of_store};
  for (std::size_t i = 1; i < max_sightings; ++i) {
    full.push_back(note(std::to_string(i), 1, 1, at(1s)));
  }
  const auto merged = merge(full, here, std::vector{seen("new", 2, 0, at(2s), at(2s))}, at(2s));
  EXPECT_EQ(merged.size(), max_sightings);
  EXPECT_THAT(merged, ::testing::Contains(of_store));
}

TEST(SightingsMerged, ForgetWhatIsFarAheadOfTheClock) {
  const auto mine = std::vector{seen("b", 2, 0, at(1s), at(1s))};
  EXPECT_EQ(merge({note("a", 1, 1, at(2s))}, here, mine, at(1s)).size(), 2U)
      << "another reads a moment later";
  EXPECT_EQ(merge({note("a", 1, 1, at(1min))}, here, mine, at(1s)).size(), 1U);
}

TEST(SightingsMerged, AreBoundedAndThoseNotedLongestAgoGo) {
  std::vector<sighting> kept;
  for (std::size_t i = 0; i < max_sightings; ++i) {
    kept.push_back(note(std::to_string(i), 1, 1, at(1s)));
  }
  const auto merged = merge(kept, here, std::vector{seen("new", 2, 0, at(2s), at(2s))}, at(2s));
  ASSERT_EQ(merged.size(), max_sightings);
  EXPECT_EQ(merged.front(), kept[1]);
  EXPECT_EQ(merged.back(), note("new", 2, 0, at(2s)));
}

}  // namespace
}  // namespace cremone::core
