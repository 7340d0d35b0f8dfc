#include "plan/proposals.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "base/random.h"
#include "plan/edit.h"

namespace lockkeeper::plan {
namespace {

using testing::ElementsAre;

LoadOptions loose() {
  LoadOptions options;
  options.opaque_keys = true;
  return options;
}

ProposeOptions options_for(bool gains) {
  ProposeOptions options;
  options.gains = gains;
  options.children = [](const std::string& folder) -> std::optional<std::vector<std::string>> {
    if (folder != "a/") return std::nullopt;
    return std::vector<std::string>{"sub/", "x", "y", "z"};
  };
  return options;
}

struct Made {
  Plan plan;
  Analysis analysis;
  Proposals proposals;
};

Made made(const std::string& text, bool gains = true) {
  Made all;
  Loaded loaded = load_plan(text, loose());
  EXPECT_TRUE(loaded.usable()) << text << loaded.findings.front().message;
  all.plan = std::move(loaded.plan);
  all.analysis = *analyse(all.plan, {});
  auto proposals = propose(all.plan, all.analysis, options_for(gains));
  EXPECT_TRUE(proposals) << proposals.error().message;
  all.proposals = std::move(*proposals);
  return all;
}

std::multiset<std::string> texts(const std::vector<key::Resource>& resources) {
  std::multiset<std::string> all;
  for (const key::Resource& each : resources) {
    all.insert(std::to_string(static_cast<int>(each.kind())) + each.text());
  }
  return all;
}

std::set<std::string> needs(const Plan& plan, const Job& job) {
  std::set<std::string> names;
  for (const std::size_t need : job.needs) names.insert(plan.jobs[need].id);
  return names;
}

// Two plans, name by name.
void expect_same(const Plan& expected, const Plan& actual) {
  ASSERT_EQ(expected.jobs.size(), actual.jobs.size());
  for (std::size_t i = 0; i < expected.jobs.size(); ++i) {
    const Job& a = expected.jobs[i];
    const Job& b = actual.jobs[i];
    ASSERT_EQ(a.id, b.id);
    EXPECT_EQ(texts(a.locks), texts(b.locks)) << a.id;
    EXPECT_EQ(texts(a.writes), texts(b.writes)) << a.id;
    EXPECT_EQ(texts(a.denies), texts(b.denies)) << a.id;
    EXPECT_EQ(needs(expected, a), needs(actual, b)) << a.id;
    EXPECT_EQ(a.minutes, b.minutes) << a.id;
    EXPECT_EQ(a.command, b.command) << a.id;
  }
}

// Makes every proposal in the file: it can be read again, it is what was promised, nobody else is
// touched, and the conflict is gone.
void expect_all_apply(const std::string& text, bool in_place) {
  const Made before = made(text, false);
  for (const Proposal& proposal : before.proposals.list) {
    SCOPED_TRACE(resolution_text(proposal.resolution));
    const auto written = apply_change(text, before.plan, proposal.change, {});
    ASSERT_TRUE(written);
    SCOPED_TRACE(written->text);
    EXPECT_FALSE(in_place && written->whole);
    const Loaded after = load_plan(written->text, loose());
    ASSERT_TRUE(after.usable()) << after.findings.front().message;
    expect_same(changed(before.plan, proposal.change), after.plan);
    const Conflict& conflict = before.analysis.conflicts.listed[proposal.conflict];
    const auto analysis = analyse(after.plan, {});
    ASSERT_TRUE(analysis);
    const std::set<std::string> pair = {before.plan.jobs[conflict.a].id,
                                        before.plan.jobs[conflict.b].id};
    for (const Conflict& each : analysis->conflicts.listed) {
      EXPECT_NE(pair,
                (std::set<std::string>{after.plan.jobs[each.a].id, after.plan.jobs[each.b].id}));
    }
    if (proposal.change.merge) continue;
    for (std::size_t i = 0; i < before.plan.jobs.size(); ++i) {
      if (i == conflict.a || i == conflict.b) continue;
      EXPECT_EQ(texts(before.plan.jobs[i].locks), texts(after.plan.jobs[i].locks));
      EXPECT_EQ(texts(before.plan.jobs[i].writes), texts(after.plan.jobs[i].writes));
      EXPECT_EQ(needs(before.plan, before.plan.jobs[i]), needs(after.plan, after.plan.jobs[i]));
    }
  }
}

std::vector<std::string> kinds(const Proposals& proposals) {
  std::vector<std::string> all;
  for (const Proposal& each : proposals.list)
    all.emplace_back(resolution_name(each.resolution.kind));
  return all;
}

TEST(Proposals, TheFourOfTheDocumentAndSeparateFiles) {
  const Made all = made(R"([{"agent":"frontend-developer","files":["src/shared/Button.tsx","u"]},
                            {"agent":"backend-developer","files":["src/shared/Button.tsx","v"]}])");
  EXPECT_THAT(kinds(all.proposals),
              ElementsAre("sequential", "reassign", "split", "merge", "separate"));
  for (std::size_t i = 0; i < all.proposals.list.size(); ++i) {
    EXPECT_EQ(all.proposals.list[i].number, i + 1);
    EXPECT_TRUE(all.proposals.list[i].after.has_value());
  }
  EXPECT_EQ(all.analysis.cost.minutes, 120);
  EXPECT_EQ(all.proposals.list[0].after->minutes, 120);
  EXPECT_EQ(all.proposals.list[1].after->minutes, 60);
  EXPECT_EQ(all.proposals.list[1].after->rounds, 1U);
}

TEST(Proposals, NobodyIsLeftWithoutWork) {
  const Made all = made(R"([{"agent":"a","files":["x"]},{"agent":"b","files":["x"]}])");
  // Without x neither has anything: only one after the other, together, or a file for each.
  EXPECT_THAT(kinds(all.proposals), testing::Not(testing::Contains("reassign")));
}

TEST(Proposals, AWidePatternLeavesTheOthersOut) {
  const Made all = made(R"(packages:
  - {package_id: wide, scope: {write_allow: ["src/**", "docs/**"]}}
  - {package_id: api, locks: {files: [src/api/x]}, scope: {write_allow: ["src/api/**"]}}
)");
  const auto split = std::ranges::find(all.proposals.list, Resolution::Kind::kSplit,
                                       [](const Proposal& each) { return each.resolution.kind; });
  ASSERT_NE(split, all.proposals.list.end());
  EXPECT_EQ(resolution_text(split->resolution),
            "Leave src/api/** out of wide's src/** and src/api/x out of wide's src/**");
  EXPECT_EQ(split->after->rounds, 1U);
}

TEST(Proposals, TheBetterOrderIsProposed) {
  const Made all = made(R"([{"agent":"last","files":["x","p"],"minutes":10},
    {"agent":"first","files":["x","q"],"minutes":10},
    {"agent":"then","files":["y"],"minutes":50,"after":"first"}])");
  const Proposal& order = all.proposals.list.front();
  EXPECT_EQ(resolution_text(order.resolution), "Run last after first completes");
}

TEST(Proposals, EveryOneCanBeApplied) {
  expect_all_apply(R"(# a plan
packages:
  - package_id: front   # the first
    description: |
      Two lines
      of text.
    depends_on: []
    priority: 3
    locks:
      files:
        - a/x  # shared
        - b/y
      keys: ["db:schema:users"]
      ttl_minutes: 400
    scope:
      write_allow: ["a/**", b/y]
      read_allow: ["**"]
      deny: [back/]
    timeout_minutes: 20
    verification:
      steps:
        - {name: one, command: make}
  - package_id: back
    description: back
    depends_on: [base]
    locks:
      files: ["./a/x", back/main]
      keys:
        - "db:schema:users"
    scope: {write_allow: [back/, a/x], read_allow: ["**"]}
    command: [make, "all of it"]
    verification:
      steps:
        - name: two
          command: make check
          evidence: {artifacts: []}
  - package_id: base
    locks: {files: [base], keys: []}
  - package_id: last
    depends_on: [back, front]
    locks: {files: [last]}
)",
                   true);
}

TEST(Proposals, EveryOneCanBeAppliedToScopes) {
  expect_all_apply(
      "agents:\n"
      "  one:\n    files: [a/x]\n    directories: [a]  # all of it\n    ttl: 1h\n"
      "  two:\n    globs: ['a/*']\n    files: [q]\n    command: make two\n"
      "  three:\n    files: [r]\n    after: two\n",
      true);
  expect_all_apply(R"({"agents": [
    {"agent": "one", "files": ["a/x", "u"], "command": ["make", "it"]},
    {"agent": "two", "files": ["a/x", "v"], "command": "make", "timeout": "20m"},
    {"agent": "three", "files": ["w"], "after": ["one", "two"]}
  ]})",
                   true);
}

std::string random_names(SeededRandom& random, bool globs) {
  const char* const names[] = {"a/x", "a/y", "b/x", "c", "a/sub/z", "a/", "b/", "a/*", "**/x"};
  std::string list;
  for (std::size_t left = 1 + random.next() % 3; left > 0; --left) {
    list +=
        (list.empty() ? "\"" : ", \"") + std::string(names[random.next() % (globs ? 9 : 7)]) + "\"";
  }
  return "[" + list + "]";
}

std::string random_needs(SeededRandom& random, int number) {
  if (number == 0 || random.next() % 3 != 0) return "[]";
  return "[j" + std::to_string(random.next() % static_cast<std::uint64_t>(number)) + "]";
}

TEST(Proposals, EveryOneCanBeAppliedToRandomPlans) {
  const std::uint64_t seed = SystemRandom().next();
  SCOPED_TRACE("seed " + std::to_string(seed));
  SeededRandom random(seed);
  for (int round = 0; round < 40 && !testing::Test::HasFailure(); ++round) {
    std::string packages = "packages:\n";
    std::string agents = "agents:\n";
    for (int i = 0; i < 4; ++i) {
      const std::string name = "j" + std::to_string(i);
      packages += "  - package_id: " + name + "\n    depends_on: " + random_needs(random, i) +
                  "\n    locks: {files: " + random_names(random, true) +
                  "}\n    scope: {write_allow: " + random_names(random, true) + "}\n";
      agents += "  - agent: " + name + "\n    after: " + random_needs(random, i) +
                "\n    globs: " + random_names(random, true) + "\n    files:\n      - f" +
                std::to_string(random.next() % 3) + "\n      - own" + std::to_string(i) + "\n";
    }
    expect_all_apply(packages, true);
    expect_all_apply(agents, true);
  }
}

TEST(Proposals, ManyConflictsAreBounded) {
  std::string text = "agents:\n";
  for (int i = 0; i < 40; ++i) {
    text += "- {agent: a" + std::to_string(i) + ", files: [x, own" + std::to_string(i) + "]}\n";
  }
  const Made all = made(text);
  EXPECT_EQ(all.proposals.conflicts_left, 40U * 39 / 2 - kConflictsResolved);
  EXPECT_EQ(all.proposals.list.back().conflict, kConflictsResolved - 1);
}

}  // namespace
}  // namespace lockkeeper::plan
