#include "plan/schedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "base/random.h"

namespace lockkeeper::plan {
namespace {

using testing::ElementsAre;

struct Case {
  Graph needs;
  Conflicts conflicts;
};

Case random_case(Random& random, std::size_t count, std::uint64_t need_percent,
                 std::uint64_t conflict_percent) {
  Case made{Graph(count), Conflicts(count)};
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (random_below(random, 100) < need_percent) {
        made.needs.add(i, j);
      } else if (random_below(random, 100) < conflict_percent) {
        made.conflicts[i].push_back(j);
        made.conflicts[j].push_back(i);
      }
    }
  }
  return made;
}

bool conflict(const Case& of, std::size_t a, std::size_t b) {
  return std::ranges::find(of.conflicts[a], b) != of.conflicts[a].end();
}

// Tries every round for each package in turn. Earlier numbers never need later ones.
std::size_t fewest_by_force(const Case& of, std::vector<std::size_t>& round, std::size_t used,
                            std::size_t best) {
  const std::size_t at = round.size();
  if (used >= best) return best;
  if (at == of.needs.size()) return used;
  for (std::size_t r = 0; r < best; ++r) {
    bool fits = true;
    for (std::size_t j = 0; j < at && fits; ++j) {
      if (conflict(of, at, j) && round[j] == r) fits = false;
      if (std::ranges::binary_search(of.needs.needs(at), j) && round[j] >= r) fits = false;
    }
    if (!fits) continue;
    round.push_back(r);
    best = fewest_by_force(of, round, std::max(used, r + 1), best);
    round.pop_back();
  }
  return best;
}

// Each package once, conflicts never in one round, needs in earlier rounds.
void expect_plan(const Case& of, const Waves& waves) {
  std::vector<std::size_t> round(of.needs.size(), SIZE_MAX);
  for (std::size_t r = 0; r < waves.rounds.size(); ++r) {
    EXPECT_TRUE(std::ranges::is_sorted(waves.rounds[r]));
    EXPECT_FALSE(waves.rounds[r].empty());
    for (const std::size_t at : waves.rounds[r]) {
      EXPECT_EQ(round[at], SIZE_MAX) << "twice";
      round[at] = r;
    }
  }
  for (std::size_t i = 0; i < round.size(); ++i) {
    ASSERT_NE(round[i], SIZE_MAX) << "left out";
    for (const std::size_t other : of.conflicts[i]) EXPECT_NE(round[i], round[other]);
    for (const std::size_t need : of.needs.needs(i)) EXPECT_LT(round[need], round[i]);
  }
  EXPECT_LE(waves.at_least, waves.rounds.size());
  EXPECT_EQ(waves.exact, waves.at_least == waves.rounds.size());
}

}  // namespace

TEST(Schedule, NothingTakesNoRound) {
  const Waves waves = fewest_rounds(Graph(0), {});
  EXPECT_TRUE(waves.rounds.empty());
  EXPECT_TRUE(waves.exact);
  EXPECT_TRUE(timeline(Graph(0), {}, {}, 0).empty());
  EXPECT_EQ(critical_path(Graph(0), {}).second, 0);
}

TEST(Schedule, RandomOnesAgreeWithBruteForce) {
  constexpr std::uint64_t kSeed = 40;
  SeededRandom random(kSeed);
  for (int round = 0; round < 1'500; ++round) {
    const Case of = random_case(random, 1 + random_below(random, 7), random_below(random, 40),
                                random_below(random, 100));
    const Waves waves = fewest_rounds(of.needs, of.conflicts);
    expect_plan(of, waves);
    std::vector<std::size_t> tried;
    ASSERT_EQ(waves.rounds.size(), fewest_by_force(of, tried, 0, of.needs.size() + 1))
        << "seed " << kSeed << " round " << round;
    ASSERT_TRUE(waves.exact) << "seed " << kSeed << " round " << round;
  }
}

// A cycle of five conflicts has no clique of three, and yet needs three rounds.
TEST(Schedule, MoreRoundsThanAnyCliqueOrChain) {
  Case of{Graph(5), Conflicts(5)};
  for (std::size_t i = 0; i < 5; ++i) {
    of.conflicts[i].push_back((i + 1) % 5);
    of.conflicts[(i + 1) % 5].push_back(i);
  }
  const Waves waves = fewest_rounds(of.needs, of.conflicts);
  EXPECT_EQ(waves.rounds.size(), 3U);
  EXPECT_TRUE(waves.exact);
}

TEST(Schedule, FortyAreExact) {
  SeededRandom random(1);
  for (const std::uint64_t percent : {10U, 30U, 60U, 90U}) {
    const Case of = random_case(random, kExactPackages, 5, percent);
    const Waves waves = fewest_rounds(of.needs, of.conflicts);
    expect_plan(of, waves);
    EXPECT_TRUE(waves.exact) << percent;
  }
}

TEST(Schedule, ManyAreAPlanWithItsBound) {
  SeededRandom random(2);
  const Case of = random_case(random, 400, 1, 3);
  const Waves waves = fewest_rounds(of.needs, of.conflicts);
  expect_plan(of, waves);
  EXPECT_GE(waves.at_least, 1U);
}

TEST(Schedule, TheTimelineStartsEachAsSoonAsItCan) {
  Graph needs(3);
  needs.add(2, 0);
  const Conflicts conflicts = {{1}, {0}, {}};
  const std::vector<Slot> slots = timeline(needs, conflicts, {10, 5, 7}, 0);
  ASSERT_EQ(slots.size(), 3U);
  std::map<std::size_t, std::pair<std::int64_t, std::int64_t>> at;
  for (const Slot& slot : slots) at[slot.package] = {slot.begin, slot.end};
  EXPECT_EQ(at[0], std::pair(std::int64_t{0}, std::int64_t{10}));
  EXPECT_EQ(at[1], std::pair(std::int64_t{10}, std::int64_t{15}));
  EXPECT_EQ(at[2], std::pair(std::int64_t{10}, std::int64_t{17}));
}

TEST(Schedule, RandomTimelinesKeepEveryRule) {
  constexpr std::uint64_t kSeed = 7;
  SeededRandom random(kSeed);
  for (int round = 0; round < 300; ++round) {
    const std::size_t count = 1 + random_below(random, 12);
    const Case of = random_case(random, count, 15, 30);
    std::vector<std::int64_t> minutes;
    for (std::size_t i = 0; i < count; ++i) {
      minutes.push_back(1 + static_cast<std::int64_t>(random_below(random, 9)));
    }
    const std::size_t jobs = random_below(random, 4);
    const std::vector<Slot> slots = timeline(of.needs, of.conflicts, minutes, jobs);
    ASSERT_EQ(slots.size(), count);
    std::vector<Slot> by(count);
    for (const Slot& slot : slots) by[slot.package] = slot;
    for (std::size_t i = 0; i < count; ++i) {
      EXPECT_EQ(by[i].end - by[i].begin, minutes[i]);
      for (const std::size_t need : of.needs.needs(i)) EXPECT_GE(by[i].begin, by[need].end);
      std::size_t beside = 0;
      for (std::size_t j = 0; j < count; ++j) {
        const bool together = by[j].begin <= by[i].begin && by[i].begin < by[j].end;
        beside += together ? 1U : 0U;
        EXPECT_FALSE(together && i != j && conflict(of, i, j));
      }
      EXPECT_LE(beside, jobs == 0 ? count : jobs);
    }
    const auto [path, length] = critical_path(of.needs, minutes);
    std::int64_t end = 0;
    for (const Slot& slot : slots) end = std::max(end, slot.end);
    EXPECT_LE(length, end);
    ASSERT_FALSE(testing::Test::HasFailure()) << "seed " << kSeed << " round " << round;
  }
}

TEST(Schedule, TheCriticalPathIsTheLongestByTime) {
  Graph needs(4);
  needs.add(1, 0);
  needs.add(2, 1);
  needs.add(3, 0);
  const auto [path, length] = critical_path(needs, {1, 2, 3, 50});
  EXPECT_THAT(path, ElementsAre(0, 3));
  EXPECT_EQ(length, 51);
}

}  // namespace lockkeeper::plan
