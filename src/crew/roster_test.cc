// The rivals, compared with a naive search over all pairs.
#include "crew/roster.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "plan/graph.h"

namespace lockkeeper::crew {
namespace {

plan::Plan random_plan(std::mt19937& random) {
  static constexpr const char* kNames[] = {"a",     "b",       "src/",    "src/x",     "src/**",
                                           "*.md",  "src/*.c", "lib/a/b", "lib/",      "task:one",
                                           "src/y", "lib/*/b", "x.md",    "task:three"};
  plan::Plan plan;
  plan.jobs.resize(1 + random() % 8);
  for (std::size_t i = 0; i < plan.jobs.size(); ++i) {
    plan::Job& job = plan.jobs[i];
    job.id = std::to_string(i);
    job.priority = static_cast<std::int64_t>(random() % 3);
    job.minutes = static_cast<std::int64_t>(random() % 50);
    for (std::size_t n = random() % 3; n > 0; --n) {
      job.locks.push_back(key::parse(kNames[random() % std::size(kNames)], {})->resource);
    }
    if (i > 0 && random() % 2 == 0) job.needs.push_back(random() % i);
  }
  return plan;
}

bool reaches(const plan::Plan& plan, std::size_t from, std::size_t to) {
  return std::ranges::any_of(plan.jobs[from].needs, [&](std::size_t need) {
    return need == to || reaches(plan, need, to);
  });
}

bool overlap(const plan::Job& a, const plan::Job& b) {
  return std::ranges::any_of(a.locks, [&](const key::Resource& mine) {
    return std::ranges::any_of(b.locks, [&](const key::Resource& theirs) {
      return key::overlap(mine, theirs)->has_value();
    });
  });
}

// From the start of one to the end of the last that depends on it.
std::int64_t tail(const plan::Plan& plan, std::size_t job) {
  std::int64_t longest = 0;
  for (std::size_t i = 0; i < plan.jobs.size(); ++i) {
    if (std::ranges::find(plan.jobs[i].needs, job) != plan.jobs[i].needs.end()) {
      longest = std::max(longest, tail(plan, i));
    }
  }
  return longest + plan.jobs[job].minutes;
}

TEST(Roster, RivalsAndOrderAgainstBruteForce) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  for (int round = 0; round < 400; ++round) {
    const plan::Plan plan = random_plan(random);
    const auto roster = Roster::of(plan);
    ASSERT_TRUE(roster) << roster.error().message;
    for (std::size_t a = 0; a < plan.jobs.size(); ++a) {
      std::vector<std::size_t> rivals;
      for (std::size_t b = 0; b < plan.jobs.size(); ++b) {
        if (a == b || reaches(plan, a, b) || reaches(plan, b, a)) continue;
        if (overlap(plan.jobs[a], plan.jobs[b])) rivals.push_back(b);
      }
      ASSERT_EQ(roster->rivals(a), rivals);
    }
    std::vector<std::size_t> order = roster->order();
    for (std::size_t i = 1; i < order.size(); ++i) {
      const plan::Job& before = plan.jobs[order[i - 1]];
      const plan::Job& after = plan.jobs[order[i]];
      ASSERT_LE(before.priority, after.priority);
      if (before.priority == after.priority) {
        ASSERT_GE(tail(plan, order[i - 1]), tail(plan, order[i]));
      }
    }
    std::ranges::sort(order);
    for (std::size_t i = 0; i < order.size(); ++i) ASSERT_EQ(order[i], i);
  }
}

}  // namespace
}  // namespace lockkeeper::crew
