#include "plan/conflicts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/random.h"
#include "plan/worth.h"

namespace lockkeeper::plan {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

Plan plan_of(const std::string& text) {
  LoadOptions options;
  options.opaque_keys = true;
  Loaded loaded = load_plan(text, options);
  for (const Finding& finding : loaded.findings) {
    EXPECT_EQ(finding.severity, Severity::kWarning) << finding.message;
  }
  return std::move(loaded.plan);
}

Analysis analysis_of(const Plan& plan, AnalysisOptions options = {}) {
  auto analysis = analyse(plan, options);
  EXPECT_TRUE(analysis) << analysis.error().message;
  return std::move(*analysis);
}

std::vector<std::pair<std::size_t, std::size_t>> pairs(const ConflictGraph& graph) {
  std::vector<std::pair<std::size_t, std::size_t>> all;
  for (const Conflict& each : graph.listed) all.emplace_back(each.a, each.b);
  return all;
}

constexpr const char* kFour = R"(packages:
  - {package_id: a, locks: {files: [src/x.py]}, scope: {write_allow: ["src/**"]}}
  - {package_id: b, locks: {files: [src/x.py]}, scope: {write_allow: [src/x.py]}}
  - {package_id: c, locks: {files: [src/y.py]}, scope: {write_allow: [src/y.py]}}
  - {package_id: d, depends_on: [a], locks: {files: [src/x.py]}, scope: {write_allow: [docs/]}}
)";

TEST(PlanConflicts, ByLocksByScopesAndOrderedPairs) {
  const Plan plan = plan_of(kFour);
  const Analysis analysis = analysis_of(plan);
  EXPECT_THAT(pairs(analysis.conflicts), ElementsAre(Pair(0, 1), Pair(0, 2), Pair(1, 3)));
  EXPECT_EQ(analysis.conflicts.by_locks, 2U);
  EXPECT_EQ(analysis.conflicts.listed[0].cause, Cause::kLocks);
  EXPECT_EQ(analysis.conflicts.listed[0].shared.front().witness, "src/x.py");
  EXPECT_EQ(analysis.conflicts.listed[1].cause, Cause::kScopes);
  EXPECT_EQ(analysis.conflicts.listed[1].shared.front().witness, "src/y.py");
  // d needs a: what they share is not a conflict, but is listed.
  ASSERT_EQ(analysis.dependencies.size(), 1U);
  EXPECT_EQ(analysis.dependencies[0].witness, "src/x.py");
  EXPECT_THAT(analysis.conflicts.others[0], ElementsAre(1, 2));
  AnalysisOptions locks_only;
  locks_only.conflicts.locks_only = true;
  EXPECT_THAT(pairs(analysis_of(plan, locks_only).conflicts), ElementsAre(Pair(0, 1), Pair(1, 3)));
}

TEST(PlanConflicts, WhatIsDeniedIsNotShared) {
  const Plan plan = plan_of(R"(packages:
  - {package_id: a, scope: {write_allow: ["src/**"], deny: [src/api/]}}
  - {package_id: b, scope: {write_allow: ["src/api/**"]}}
  - {package_id: c, locks: {files: [src/api/z]}, scope: {write_allow: ["src/**"], deny: [src/api/]}}
)");
  const Analysis analysis = analysis_of(plan);
  // c locks z although it is denied: the lock counts.
  EXPECT_THAT(pairs(analysis.conflicts), ElementsAre(Pair(0, 2), Pair(1, 2)));
}

TEST(PlanConflicts, TheSameAsComparingEverybodyWithEverybody) {
  const std::uint64_t seed = SystemRandom().next();
  SCOPED_TRACE("seed " + std::to_string(seed));
  SeededRandom random(seed);
  const char* const names[] = {"a/x", "a/y", "a/", "b/", "a/*", "**/x", "b/x", "c"};
  for (int round = 0; round < 60; ++round) {
    std::string text = "packages:\n";
    for (int i = 0; i < 7; ++i) {
      text += "  - package_id: p" + std::to_string(i) + "\n    depends_on: [";
      if (i > 0 && random.next() % 3 == 0)
        text += "p" + std::to_string(random.next() % static_cast<std::uint64_t>(i));
      text += "]\n    locks: {files: [\"" + std::string(names[random.next() % 8]) + "\"]}\n";
      text += "    scope: {write_allow: [\"" + std::string(names[random.next() % 8]) + "\"]";
      if (random.next() % 3 == 0)
        text += ", deny: [\"" + std::string(names[random.next() % 8]) + "\"]";
      text += "}\n";
    }
    const Plan plan = plan_of(text);
    const Analysis analysis = analysis_of(plan);
    const Closure closure(analysis.needs);
    std::vector<std::pair<std::size_t, std::size_t>> expected;
    for (std::size_t a = 0; a < plan.jobs.size(); ++a) {
      for (std::size_t b = a + 1; b < plan.jobs.size(); ++b) {
        const auto meeting = meeting_of(plan.jobs[a], plan.jobs[b], {});
        ASSERT_TRUE(meeting);
        if (*meeting && !closure.ordered(a, b)) expected.emplace_back(a, b);
      }
    }
    ASSERT_EQ(pairs(analysis.conflicts), expected) << text;
    EXPECT_EQ(analysis.conflicts.pairs, expected.size());
  }
}

TEST(PlanConflicts, EverybodyAgainstEverybodyStaysBounded) {
  std::string text = "agents:\n";
  for (int i = 0; i < 2'100; ++i) text += "- {agent: a" + std::to_string(i) + ", files: [x]}\n";
  const Plan plan = plan_of(text);
  const auto analysis = analyse(plan, {});
  ASSERT_FALSE(analysis);  // 2,203,950 pairs
  EXPECT_EQ(analysis.error().code, Code::kLimitExceeded);
  EXPECT_THAT(analysis.error().message, testing::HasSubstr("'x'"));
}

TEST(Analysis, WhoIsBusyWhen) {
  const Plan plan = plan_of(R"([{"agent":"a","files":["x"],"minutes":10},
    {"agent":"b","files":["y"],"minutes":20},
    {"agent":"c","files":["x"],"minutes":5,"after":"b"}])");
  const Analysis analysis = analysis_of(plan);
  EXPECT_EQ(analysis.cost.minutes, 25);
  EXPECT_EQ(analysis.sequential_minutes, 35);
  EXPECT_EQ(analysis.critical_minutes, 25);
  EXPECT_THAT(analysis.critical, ElementsAre(1, 2));
  EXPECT_EQ(analysis.most_busy, 2U);
  ASSERT_EQ(analysis.busy.size(), 2U);  // c follows b at once
  EXPECT_EQ(analysis.busy[0].agents, 2U);
  EXPECT_EQ(analysis.busy[1].agents, 1U);
  EXPECT_EQ(analysis.busy[1].begin, 10);
  EXPECT_EQ(analysis.busy[1].end, 25);
  EXPECT_EQ(analysis_of(plan, {{}, 1}).cost.minutes, 35);
}

TEST(Analysis, AnEmptyPlanIsNothing) {
  EXPECT_THAT(analysis_of(Plan()).slots, IsEmpty());
}

Worth worth_of(const std::string& text) {
  const Plan plan = plan_of(text);
  auto worth = is_locking_worth_it(plan, analysis_of(plan));
  EXPECT_TRUE(worth);
  return std::move(*worth);
}

TEST(Worth, ByTheDocumentsRules) {
  using Verdict = Worth::Verdict;
  EXPECT_EQ(worth_of("[{agent: a, files: [x]}]").verdict, Verdict::kNo);
  EXPECT_EQ(worth_of("[{agent: a, files: [x]}, {agent: b, files: [x], after: a}]").verdict,
            Verdict::kNo);
  EXPECT_EQ(worth_of("[{agent: a, files: [x]}, {agent: b, files: [x]}]").verdict, Verdict::kYes);
  const Worth close =
      worth_of("[{agent: a, files: [src/x], minutes: 3}, {agent: b, files: [src/y], minutes: 3}]");
  EXPECT_EQ(close.verdict, Verdict::kEither);  // one folder, but quick
  EXPECT_EQ(close.rules[1].value, "src/ (a, b)");
  EXPECT_EQ(worth_of("[{agent: a, files: [s/x], minutes: 40}, {agent: b, files: [s/y]}]").verdict,
            Verdict::kYes);
  EXPECT_EQ(worth_of("[{agent: a, files: [s/x], minutes: 9}, {agent: b, files: [t/y], minutes: 9}]")
                .verdict,
            Verdict::kNo);
}

}  // namespace
}  // namespace lockkeeper::plan
