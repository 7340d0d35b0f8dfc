#include "plan/graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/random.h"

namespace lockkeeper::plan {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

Graph graph_of(std::size_t count,
               const std::vector<std::pair<std::size_t, std::size_t>>& later_earlier) {
  Graph graph(count);
  for (const auto& [later, earlier] : later_earlier) graph.add(later, earlier);
  return graph;
}

// Which package reaches which by needs (Warshall).
std::vector<std::vector<bool>> reach_by_force(const Graph& graph) {
  const std::size_t count = graph.size();
  std::vector<std::vector<bool>> reach(count, std::vector<bool>(count, false));
  for (std::size_t i = 0; i < count; ++i) {
    for (const std::size_t need : graph.needs(i)) reach[i][need] = true;
  }
  for (std::size_t k = 0; k < count; ++k) {
    for (std::size_t i = 0; i < count; ++i) {
      for (std::size_t j = 0; j < count; ++j) {
        if (reach[i][k] && reach[k][j]) reach[i][j] = true;
      }
    }
  }
  return reach;
}

// Each cycle follows the needs and begins with its smallest member; there is one for each group.
void expect_true_rings(const Graph& graph, const std::vector<std::vector<bool>>& reach) {
  const auto cycles = graph.cycles();
  std::vector<bool> seen(graph.size(), false);
  for (const std::vector<std::size_t>& cycle : cycles) {
    EXPECT_EQ(cycle.front(), *std::ranges::min_element(cycle));
    for (std::size_t i = 0; i < cycle.size(); ++i) {
      const std::size_t next = cycle[(i + 1) % cycle.size()];
      EXPECT_TRUE(std::ranges::binary_search(graph.needs(cycle[i]), next));
    }
    EXPECT_FALSE(seen[cycle.front()]) << "one group, two cycles";
    for (std::size_t i = 0; i < graph.size(); ++i) {
      if (i == cycle.front() || (reach[cycle.front()][i] && reach[i][cycle.front()]))
        seen[i] = true;
    }
  }
  for (std::size_t i = 0; i < graph.size(); ++i) EXPECT_EQ(seen[i], reach[i][i]) << i;
}

}  // namespace

TEST(Graph, ArrowsAreKeptOnceAndInOrder) {
  const Graph graph = graph_of(3, {{2, 1}, {2, 0}, {2, 1}});
  EXPECT_THAT(graph.needs(2), ElementsAre(0, 1));
  EXPECT_THAT(graph.needed_by(1), ElementsAre(2));
  EXPECT_THAT(graph.order(), ElementsAre(0, 1, 2));
  EXPECT_THAT(graph.cycles(), IsEmpty());
}

TEST(Graph, RingsAreNamed) {
  EXPECT_THAT(graph_of(2, {{1, 1}}).cycles(), ElementsAre(ElementsAre(1)));
  EXPECT_THAT(graph_of(3, {{2, 1}, {1, 0}, {0, 2}}).cycles(), ElementsAre(ElementsAre(0, 2, 1)));
  EXPECT_THAT(graph_of(5, {{0, 1}, {1, 0}, {3, 4}, {4, 3}, {4, 0}}).cycles(),
              ElementsAre(ElementsAre(0, 1), ElementsAre(3, 4)));
}

TEST(Graph, ALongChainAndALongRingDoNotOverflowTheStack) {
  constexpr std::size_t kCount = 20'000;
  Graph chain(kCount);
  for (std::size_t i = 1; i < kCount; ++i) chain.add(i - 1, i);
  EXPECT_THAT(chain.cycles(), IsEmpty());
  EXPECT_EQ(chain.order().front(), kCount - 1);
  chain.add(kCount - 1, 0);
  ASSERT_EQ(chain.cycles().size(), 1U);
  EXPECT_EQ(chain.cycles()[0].size(), kCount);
}

TEST(Graph, RandomOnesAgreeWithBruteForce) {
  constexpr std::uint64_t kSeed = 20261115;
  SeededRandom random(kSeed);
  for (int round = 0; round < 2'000; ++round) {
    const std::size_t count = 1 + random_below(random, 9);
    const std::uint64_t arrows = random_below(random, 2 * count);
    Graph graph(count);
    for (std::uint64_t i = 0; i < arrows; ++i) {
      graph.add(random_below(random, count), random_below(random, count));
    }
    const auto reach = reach_by_force(graph);
    const Closure closure(graph);
    for (std::size_t a = 0; a < count; ++a) {
      for (std::size_t b = 0; b < count; ++b) {
        ASSERT_EQ(closure.before(b, a), reach[a][b]) << "seed " << kSeed << " round " << round;
        ASSERT_EQ(closure.ordered(a, b), reach[a][b] || reach[b][a]);
      }
    }
    expect_true_rings(graph, reach);
    if (graph.cycles().empty()) {
      const auto order = graph.order();
      std::vector<std::size_t> at(count);
      for (std::size_t i = 0; i < count; ++i) at[order[i]] = i;
      for (std::size_t i = 0; i < count; ++i) {
        for (const std::size_t need : graph.needs(i)) EXPECT_LT(at[need], at[i]);
      }
    }
    ASSERT_FALSE(testing::Test::HasFailure()) << "seed " << kSeed << " round " << round;
  }
}

}  // namespace lockkeeper::plan
