#include "plan/proposals.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdlib>

#include "base/random.h"
#include "plan/proposals_testing.h"

namespace lockkeeper::plan {
namespace {

using testing::ElementsAre;

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
  // Both have only x: run in order, merge, or a file for each.
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
  EXPECT_EQ(resolution_text(split->resolution), "Leave src/api/** out of wide's src/**");
  EXPECT_EQ(split->after->rounds, 1U);
}

TEST(Proposals, NobodyLocksWhatItMayNoLongerWrite) {
  const Made all = made(R"(packages:
  - {package_id: api, locks: {files: [src/api/x]}, scope: {write_allow: ["src/api/**"]}}
  - {package_id: wide, locks: {files: [src/w]}, scope: {write_allow: ["src/**", "docs/**"]}}
)");
  // Without src/**, `wide` could not write src/w, which it locks.
  EXPECT_THAT(kinds(all.proposals), ElementsAre("sequential", "split", "merge"));
}

TEST(Proposals, APartOfAFolderIsAllThereIsToWrite) {
  const Made all = made(R"([{"agent":"front","directories":["src/common/"],"files":["x"]},
                            {"agent":"back","directories":["src/common/"],"files":["y"]}])");
  EXPECT_THAT(kinds(all.proposals), ElementsAre("sequential", "reassign", "split", "merge"));
}

TEST(Proposals, ASplitThatDividesNothingIsNone) {
  const Made all = made(R"([{"agent":"a","keys":["db:schema:users"],"globs":["t/*/x"]},
                            {"agent":"b","globs":["t/a/*"],"keys":["db:schema:users"],
                             "files":["v"]}])");
  EXPECT_THAT(kinds(all.proposals), ElementsAre("sequential", "reassign", "merge"));
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

// The exit status of the merged command, in a shell.
int merged_status(const Command& first, const Command& second) {
  Job a, b;
  a.command = first;
  b.command = second;
  const Command both = merged(a, b).command;
  EXPECT_TRUE(both.shell);
  const int status = std::system(both.words.front().c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(Proposals, C1_AMergedJobIsDoneOnlyIfBothAre) {
  const auto line = [](const char* text) { return Command{{text}, true}; };
  const Command good = line("true");
  EXPECT_EQ(merged_status(good, good), 0);
  // Each of these fails alone, so it fails with another.
  for (const char* const text :
       {"exit 3", "true; exit 3", "exit 3 || true; exit 3", "false; (exit 3)",
        "set -e; (exit 3); true", "cd /; exit 3", "exit 3 # that's all", "sleep 0 & exit 3"}) {
    EXPECT_EQ(merged_status(line(text), good), 3) << text;
    EXPECT_EQ(merged_status(good, line(text)), 3) << text;
    EXPECT_EQ(merged_status(line(text), line("exit 4")), 3) << text;
    EXPECT_EQ(merged_status(line("true || exit 5"), line(text)), 3) << text;
    EXPECT_EQ(merged_status(line("sleep 0 &"), line(text)), 3) << text;
    EXPECT_EQ(merged_status(line("exit 0"), line(text)), 3) << "the second runs, too: " << text;
  }
  const Command words{{"sh", "-c", "exit 3; # 'it'"}, false};
  EXPECT_EQ(merged_status(words, good), 3);
  EXPECT_EQ(merged_status(Command{{"true"}, false}, words), 3);
  EXPECT_EQ(merged_status(Command{{"/none/at all"}, false}, good), 127);
}

TEST(Proposals, C1_JobsOfWhichOnlyOneHasACommandAreNotMerged) {
  const auto merges = [](const char* first, const char* second) {
    const Made all = made(std::string("agents:\n- {agent: a, files: [x, y]") + first +
                          "}\n- {agent: b, files: [x, z]" + second + "}\n");
    return std::ranges::any_of(all.proposals.list,
                               [](const Proposal& each) { return each.change.merge.has_value(); });
  };
  EXPECT_TRUE(merges("", ""));
  EXPECT_TRUE(merges(", command: one", ", command: [two]"));
  EXPECT_FALSE(merges(", command: one", ""));
  EXPECT_FALSE(merges("", ", command: two"));
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
