#include "plan/overlaps.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <tuple>

#include "base/random.h"
#include "plan/plan_testing.h"

namespace lockkeeper::plan {
namespace {

using Found = std::set<std::tuple<std::uint32_t, std::uint32_t>>;  // indexes, a's package first

std::vector<Want> wants_of(const std::vector<std::pair<std::uint32_t, std::string>>& texts) {
  std::vector<Want> wants;
  for (const auto& [package, text] : texts) {
    wants.push_back({resource(text), package, static_cast<std::uint32_t>(wants.size())});
  }
  return wants;
}

Found found_in(const std::vector<Want>& wants,
               const std::function<bool(std::uint32_t, std::uint32_t)>& apart) {
  Found found;
  const auto done = find_overlaps(wants, apart, [&](const Overlap& overlap) {
    EXPECT_LT(overlap.a->package, overlap.b->package);
    EXPECT_TRUE(found.emplace(overlap.a->index, overlap.b->index).second) << "twice";
    EXPECT_EQ(*key::overlap(overlap.a->resource, overlap.b->resource).value(), overlap.witness);
    return true;
  });
  EXPECT_TRUE(done.has_value());
  return found;
}

bool never(std::uint32_t, std::uint32_t) {
  return false;
}

}  // namespace

TEST(Overlaps, FilesFoldersPatternsAndKeysMeet) {
  const auto wants = wants_of({{0, "src/api/users.py"},
                               {1, "src/api/"},
                               {2, "src/*/users.py"},
                               {3, "src/b/*"},
                               {4, "db:schema:users"},
                               {5, "db:schema:users"},
                               {6, "flag:billing/*"},
                               {7, "flag:billing/new"},
                               {8, "docs/"}});
  EXPECT_EQ(found_in(wants, never), (Found{{0, 1}, {0, 2}, {1, 2}, {2, 3}, {4, 5}, {6, 7}}));
}

TEST(Overlaps, OneOfAPackageNeverMeetsItself) {
  EXPECT_TRUE(found_in(wants_of({{0, "a/"}, {0, "a/b"}, {0, "a/b"}}), never).empty());
}

TEST(Overlaps, ThoseApartAreNotLookedAt) {
  const auto wants = wants_of({{0, "a"}, {1, "a"}, {2, "a"}});
  const auto found =
      found_in(wants, [](std::uint32_t a, std::uint32_t b) { return a == 1 || b == 1; });
  EXPECT_EQ(found, (Found{{0, 2}}));
}

TEST(Overlaps, TheAskerCanStop) {
  std::vector<Want> wants;
  for (std::uint32_t i = 0; i < 50; ++i) wants.push_back({resource("a"), i, i});
  int calls = 0;
  ASSERT_TRUE(find_overlaps(wants, never, [&](const Overlap&) { return ++calls < 7; }));
  EXPECT_EQ(calls, 7);
}

TEST(Overlaps, RandomOnesAgreeWithEveryPairByTheEngine) {
  constexpr std::uint64_t kSeed = 5;
  SeededRandom random(kSeed);
  const std::vector<std::string> parts = {"a", "b", "ab", "*", "?", "**", "[ab]", "{a,b}", "a*"};
  const auto some_name = [&] {
    if (random_below(random, 12) == 0)
      return std::string("flag:") + (random.next() % 2 ? "a" : "a/*");
    std::string text;
    const std::uint64_t depth = 1 + random_below(random, 3);
    for (std::uint64_t i = 0; i < depth; ++i) {
      text += (text.empty() ? "" : "/") + parts[random_below(random, parts.size())];
    }
    const bool folder = text.find_first_of("*?[{") == std::string::npos && random.next() % 3 == 0;
    return folder ? text + "/" : text;
  };
  for (int round = 0; round < 400; ++round) {
    std::vector<std::pair<std::uint32_t, std::string>> texts;
    const std::uint64_t count = 2 + random_below(random, 10);
    for (std::uint64_t i = 0; i < count; ++i) {
      texts.emplace_back(static_cast<std::uint32_t>(random_below(random, 4)), some_name());
    }
    const std::vector<Want> wants = wants_of(texts);
    const auto apart = [&](std::uint32_t a, std::uint32_t b) { return a + b == 3; };
    Found expected;
    for (const Want& a : wants) {
      for (const Want& b : wants) {
        if (a.package >= b.package || apart(a.package, b.package)) continue;
        if (key::overlap(a.resource, b.resource).value()) expected.emplace(a.index, b.index);
      }
    }
    ASSERT_EQ(found_in(wants, apart), expected) << "seed " << kSeed << " round " << round;
  }
}

// Wants of one package are never compared, but even skipping them takes time.
TEST(Overlaps, TooManyNamesOfOnePlaceAreALimitByName) {
  std::vector<Want> wants;
  for (std::uint32_t i = 0; i < 10'100; ++i) {
    wants.push_back({resource("x" + std::to_string(i) + "*"), 0, i});
  }
  const auto done = find_overlaps(wants, never, [](const Overlap&) { return true; });
  ASSERT_FALSE(done.has_value());
  EXPECT_EQ(done.error().code, Code::kLimitExceeded);
}

// Patterns at one place are compared pair by pair: ten thousand of them must not take too long.
TEST(Overlaps, TooManyPatternsAreALimitByName) {
  std::vector<Want> wants;
  for (std::uint32_t i = 0; i < 4'000; ++i) {
    wants.push_back({resource("x" + std::to_string(i) + "*"), i, i});
  }
  const auto done = find_overlaps(wants, never, [](const Overlap&) { return true; });
  ASSERT_FALSE(done.has_value());
  EXPECT_EQ(done.error().code, Code::kLimitExceeded);
}

}  // namespace lockkeeper::plan
