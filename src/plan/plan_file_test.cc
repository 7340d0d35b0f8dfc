#include "plan/plan_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/clock.h"
#include "plan/validate.h"

namespace lockkeeper::plan {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<std::string> names(const std::vector<key::Resource>& resources) {
  std::vector<std::string> all;
  for (const key::Resource& each : resources) all.push_back(each.text());
  return all;
}

std::vector<std::string> told(const Loaded& loaded) {
  std::vector<std::string> all;
  for (const Finding& finding : loaded.findings) {
    all.push_back(finding.rule + (finding.severity == Severity::kError ? " error " : " warning ") +
                  std::to_string(finding.place.line) + ": " + finding.message);
  }
  return all;
}

Loaded load(std::string_view text, bool opaque_keys = false) {
  LoadOptions options;
  options.opaque_keys = opaque_keys;
  return load_plan(text, options);
}

TEST(PlanFile, WorkPackagesBecomeJobs) {
  const Loaded loaded = load(R"(
feature: {id: auth}
defaults: {timeout_minutes: 45, lock_ttl_minutes: 90}
packages:
  - package_id: wp-api
    description: the API
    depends_on: [wp-contracts]
    priority: 2
    locks:
      files: [src/./a.py, src/a.py, tests/]
      keys: ["db:schema:users"]
      reason: routes
    scope:
      write_allow: ["src/**", tests/]
      read_allow: ["**"]
      deny: [src/secret/]
    timeout_minutes: 30
    retry_budget: 3
    command: [make, api]
  - package_id: wp-contracts
    title: contracts
)");
  EXPECT_THAT(told(loaded), IsEmpty());
  EXPECT_TRUE(loaded.usable());
  EXPECT_EQ(loaded.plan.form, Form::kWorkPackages);
  EXPECT_EQ(loaded.plan.feature, "auth");
  ASSERT_EQ(loaded.plan.jobs.size(), 2U);
  const Job& api = loaded.plan.jobs[0];
  EXPECT_EQ(api.id, "wp-api");
  EXPECT_EQ(api.description, "the API");
  EXPECT_EQ(api.reason, "routes");
  EXPECT_THAT(api.needs, ElementsAre(1));
  EXPECT_THAT(names(api.locks), ElementsAre("src/a.py", "tests/", "db:schema:users"));
  EXPECT_THAT(names(api.writes), ElementsAre("src/**", "tests/", "src/a.py"));
  EXPECT_THAT(names(api.denies), ElementsAre("src/secret/"));
  EXPECT_THAT(names(api.reads), ElementsAre("**"));
  EXPECT_EQ(api.command, (Command{{"make", "api"}, false}));
  EXPECT_EQ(api.priority, 2);
  EXPECT_EQ(api.minutes, 30);
  EXPECT_EQ(api.ttl_ms, 90 * 60'000);
  EXPECT_EQ(api.retries, 3);
  EXPECT_EQ(api.place.line, 5U);
  const Job& contracts = loaded.plan.jobs[1];
  EXPECT_EQ(contracts.description, "contracts");
  EXPECT_EQ(contracts.minutes, 45);
  EXPECT_EQ(contracts.retries, 1);
}

TEST(PlanFile, ScopesBecomeJobs) {
  const Loaded loaded = load(R"({"agents": [
    {"agent": "back", "files": ["app/[id]/x.ts"], "directories": ["src/back"], "globs": ["**/*.h"],
     "keys": ["api:GET /v1/users"], "task": "T-7", "task_description": "do it", "after": "front",
     "command": "make", "ttl": "none", "minutes": 12, "retries": 2, "priority": 1},
    {"agent": "front"}]})");
  EXPECT_THAT(told(loaded), IsEmpty());
  EXPECT_EQ(loaded.plan.form, Form::kScopes);
  ASSERT_EQ(loaded.plan.jobs.size(), 2U);
  const Job& back = loaded.plan.jobs[0];
  EXPECT_THAT(names(back.locks),
              ElementsAre("app/[id]/x.ts", "src/back/", "**/*.h", "api:GET /v1/users"));
  EXPECT_EQ(back.locks[0].kind(), key::Kind::kFile);
  EXPECT_THAT(names(back.writes), ElementsAre("app/[id]/x.ts", "src/back/", "**/*.h"));
  EXPECT_EQ(back.task, "T-7");
  EXPECT_EQ(back.description, "do it");
  EXPECT_EQ(back.reason, "do it");
  EXPECT_THAT(back.needs, ElementsAre(1));
  EXPECT_EQ(back.command, (Command{{"make"}, true}));
  EXPECT_EQ(back.ttl_ms, kNoEnd);
  EXPECT_EQ(back.minutes, 12);
  EXPECT_EQ(back.retries, 2);
  EXPECT_EQ(back.priority, 1);
  const Job& front = loaded.plan.jobs[1];
  EXPECT_EQ(front.minutes, 60);
  EXPECT_EQ(front.ttl_ms, 3'600'000);
  EXPECT_EQ(front.retries, 0);
}

TEST(PlanFile, WhatIsNoPlanIsSaid) {
  EXPECT_THAT(told(load("a: [")), ElementsAre(HasSubstr("document error 2: not YAML")));
  EXPECT_THAT(told(load("")), ElementsAre(HasSubstr("neither work packages nor scopes")));
  EXPECT_THAT(told(load("a: 1")), ElementsAre(HasSubstr("neither work packages nor scopes")));
  EXPECT_THAT(told(load("packages: []")), ElementsAre(HasSubstr("no packages")));
  EXPECT_THAT(told(load("agents: []")), ElementsAre(HasSubstr("list no agents")));
  EXPECT_FALSE(load("agents: []").usable());
}

TEST(PlanFile, C8_BothKindsOfPlanHaveAFeature) {
  for (const char* const text : {"feature: F-1\nagents: [{agent: a, files: [x]}]",
                                 "feature: F-1\npackages: [{package_id: a}]",
                                 "feature: {id: F-1}\nagents: {a: {files: [x]}}",
                                 "feature: {id: F-1}\npackages: [{package_id: a}]"}) {
    const Loaded loaded = load(text);
    EXPECT_TRUE(loaded.usable()) << text;
    EXPECT_EQ(loaded.plan.feature, "F-1") << text;
  }
  EXPECT_EQ(load("feature:\nagents: [{agent: a, files: [x]}]").plan.feature, "");
}

TEST(PlanFile, C8_AFeatureThatNobodyCouldPauseIsRefused) {
  for (const char* const plan :
       {"agents: [{agent: a, files: [x]}]", "packages: [{package_id: a}]"}) {
    for (const char* const feature : {"feature: a/b\n", "feature: 7\n", "feature: [F]\n",
                                      "feature: ''\n", "feature: {name: F}\n"}) {
      const Loaded loaded = load(std::string(feature) + plan);
      EXPECT_FALSE(loaded.usable()) << feature << plan;
      EXPECT_THAT(told(loaded), testing::Contains(HasSubstr("cannot be paused"))) << feature;
    }
  }
}

TEST(PlanFile, C8_UnknownKeysAreNamedInBothKindsOfPlan) {
  const Loaded scopes = load("featre: F-1\nagents: [{agent: a, files: [x]}]");
  EXPECT_THAT(told(scopes),
              ElementsAre(HasSubstr("\"featre\" beside the agents is unknown; did you "
                                    "mean \"feature\"?")));
  EXPECT_FALSE(scopes.usable());
  EXPECT_THAT(told(load("agents: [{agent: a}]\nscopes: [{agent: b}]")),
              ElementsAre(HasSubstr("both \"agents\" and \"scopes\"")));
  const Loaded packages = load(
      "agents: []\nfeatures: F-1\npackages:\n- {package_id: a, prority: 1, locks: {file: [x]}}");
  EXPECT_TRUE(packages.usable());
  EXPECT_THAT(told(packages),
              ElementsAre(HasSubstr("warning 1: the file has the unknown key \"agents\""),
                          HasSubstr("warning 2: the file has the unknown key \"features\""),
                          HasSubstr("warning 4: a has the unknown key \"prority\""),
                          HasSubstr("warning 4: a.locks has the unknown key \"file\"")));
}

TEST(PlanFile, C10_AListOfOneWordIsNotALineForTheShell) {
  for (const char* const text : {"agents: [{agent: a, command: [make]}, {agent: b, command: make}]",
                                 "packages: [{package_id: a, command: [make]},"
                                 " {package_id: b, command: make}]"}) {
    const Loaded loaded = load(text);
    EXPECT_EQ(loaded.plan.jobs[0].command, (Command{{"make"}, false}));
    EXPECT_EQ(loaded.plan.jobs[1].command, (Command{{"make"}, true}));
  }
}

TEST(PlanFile, C10_AgentsThatCouldNeverStartAreRefused) {
  LoadOptions options;
  options.agent_name = [](std::string_view name) -> Result<void> {
    if (name == "bad") return fail(Code::kInvalidInput, "a bad name", "take another");
    return {};
  };
  ValidateOptions same;
  same.agent_name = options.agent_name;
  for (const char* const text :
       {"agents: [{agent: bad, files: [x]}]", "agents: [{agent: a, command: ''}]",
        "agents: [{agent: a, command: [' ', x]}]", "packages: [{package_id: bad}]",
        "packages: [{package_id: a, command: ['', x]}]"}) {
    EXPECT_FALSE(load_plan(text, options).usable()) << text;
    EXPECT_THAT(
        validate(text, same).findings,
        testing::Contains(testing::Field(
            &Finding::message, testing::AnyOf("a bad name", HasSubstr("the command of a")))))
        << text;
  }
  EXPECT_TRUE(load_plan("agents: [{agent: a, command: []}]", options).usable());
}

TEST(PlanFile, IdsAndDependenciesAreChecked) {
  const Loaded loaded = load(R"(packages:
  - {package_id: one, depends_on: [two]}
  - {package_id: two, depends_on: [one, thre]}
  - {package_id: three}
  - {package_id: three}
  - {description: nobody}
)");
  EXPECT_THAT(told(loaded),
              ElementsAre("schema error 6: a package has no package_id",
                          "duplicate-id error 5: the name \"three\" is already used in line 4",
                          "depends-on error 3: two depends on \"thre\", which is not in the plan",
                          "cycle error 2: these can never start: one needs two needs one"));
  EXPECT_EQ(loaded.findings[2].hint, "did you mean three?");
}

TEST(PlanFile, KeysThatBreakARuleMayStandForThemselves) {
  const char* const text =
      "packages:\n"
      "  - package_id: a\n"
      "    locks: {keys: [\"mcp:tool\", \"api:guardrails\", src/x.py], files: "
      "[\"db:schema:users\"]}\n";
  const Loaded strict = load(text);
  EXPECT_FALSE(strict.usable());
  EXPECT_EQ(strict.findings.size(), 4U);
  EXPECT_THAT(strict.plan.jobs[0].locks, IsEmpty());
  const Loaded loose = load(text, true);
  EXPECT_TRUE(loose.usable());
  EXPECT_EQ(loose.findings.size(), 4U);
  EXPECT_THAT(names(loose.plan.jobs[0].locks),
              ElementsAre("db:schema:users", "mcp:tool", "api:guardrails", "src/x.py"));
}

TEST(PlanFile, ABrokenPathIsAnError) {
  const Loaded loaded = load("agents: [{agent: a, files: [/etc/passwd, ../x]}]", true);
  EXPECT_FALSE(loaded.usable());
  EXPECT_EQ(loaded.findings.size(), 2U);
}

}  // namespace
}  // namespace lockkeeper::plan
