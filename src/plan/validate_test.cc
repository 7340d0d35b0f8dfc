#include "plan/validate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plan/plan_testing.h"

namespace lockkeeper::plan {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;

auto says(const std::string& text) {
  return Field(&Finding::message, HasSubstr(text));
}
auto advises(const std::string& text) {
  return Field(&Finding::hint, HasSubstr(text));
}
auto is(Severity severity) {
  return Field(&Finding::severity, severity);
}
auto witness(const std::string& text) {
  return Field(&Finding::witness, text);
}

// The findings of one package with this under files (keys).
std::vector<Finding> of_file(const std::string& file, const std::string& writes = "['**']") {
  return findings_of(plan_text({{.id = "wp-a", .files = "['" + file + "']", .writes = writes}}),
                     "lock-file");
}
std::vector<Finding> of_key(const std::string& key, const char* rule = "lock-key",
                            const std::string& contracts = "[]", bool strict = false) {
  return findings_of(plan_text({{.id = "wp-a", .keys = "['" + key + "']"}}, contracts), rule,
                     strict);
}

}  // namespace

TEST(Validate, APlanInOrderHasNoFindings) {
  const Validated result = validate(
      plan_text({{.id = "wp-contracts",
                  .files = "[wp-contracts/openapi.yaml]",
                  .keys = "['contract:wp-contracts/openapi.yaml', 'api:GET /v1/users']"},
                 {.id = "wp-api", .needs = "[wp-contracts]", .files = "[wp-api/users.py]"},
                 {.id = "wp-ui", .needs = "[wp-contracts]", .keys = "['db:schema:users']"}},
                "[wp-contracts/openapi.yaml]"),
      {});
  EXPECT_THAT(result.findings, IsEmpty());
  EXPECT_EQ(result.packages, 3U);
  EXPECT_EQ(result.locks, 2U);
  EXPECT_EQ(result.keys, 3U);
}

TEST(Validate, AFileNameWithBracketsIsCanonical) {
  EXPECT_THAT(of_file("app/[slug]/page.tsx"), IsEmpty());
  EXPECT_THAT(of_file("app/./[slug]/page.tsx"), ElementsAre(says("not in canonical form")));
}

TEST(Validate, WhatIsNoDocumentIsOneFinding) {
  const Validated result = validate("a: [", {});
  ASSERT_EQ(result.findings.size(), 1U);
  EXPECT_EQ(result.findings[0].rule, "document");
}

TEST(Validate, WhatIsNoPlanIsSaid) {
  EXPECT_THAT(findings_of("", "schema"), ElementsAre(says("the file is empty")));
  EXPECT_THAT(findings_of("services: {web: {}}", "schema"),
              ElementsAre(says("neither work packages nor scopes")));
  EXPECT_THAT(findings_of("7", "schema"), ElementsAre(says("neither work packages nor scopes")));
}

TEST(Validate, C8_AFeatureBesideAgentsDoesNotMakeWorkPackages) {
  const std::string agents = "agents: [{agent: a, files: [x]}]\n";
  for (const char* const feature : {"", "feature: F-1\n", "feature: {id: F-1}\n", "version: 1\n"}) {
    const Validated result = validate(feature + agents, {});
    EXPECT_TRUE(result.plan.scopes) << feature;
    EXPECT_THAT(result.findings, testing::IsEmpty()) << feature;
  }
  // The same words mean the same beside any others.
  EXPECT_THAT(findings_of("x: 1\n" + agents, "schema"),
              ElementsAre(says("\"x\" beside the agents")));
  EXPECT_THAT(findings_of("feature: F\nx: 1\n" + agents, "schema"),
              ElementsAre(says("\"x\" beside the agents")));
  EXPECT_THAT(findings_of("feature: a/b\n" + agents, "schema"),
              ElementsAre(says("cannot be paused")));
}

TEST(Validate, AMisspeltPlaceholderIsAWarning) {
  const std::string command = "command: 'tool {scopes} {agent}'";
  EXPECT_THAT(findings_of("agents: [{agent: a, files: [x], " + command + "}]", "schema"),
              ElementsAre(AllOf(says("in the command of a, {scopes} is not a placeholder"),
                                advises("{scope}, {scope_file}"), is(Severity::kWarning))));
}

TEST(Validate, OneNameForTwoPackages) {
  EXPECT_THAT(
      findings_of(plan_text({{.id = "wp-a"}, {.id = "wp-b"}, {.id = "wp-a"}}), "duplicate-id"),
      ElementsAre(says("the name \"wp-a\" is already used in line 5")));
}

TEST(Validate, DependenciesThatAreNotThere) {
  EXPECT_THAT(findings_of(plan_text({{.id = "wp-contracts"},
                                     {.id = "wp-b", .needs = "[wp-contract, nobody]"}}),
                          "depends-on"),
              ElementsAre(AllOf(says("wp-b depends on \"wp-contract\", which is not in the plan"),
                                advises("did you mean wp-contracts?")),
                          says("\"nobody\"")));
}

TEST(Validate, CyclesAreNamed) {
  EXPECT_THAT(findings_of(plan_text({{.id = "a", .needs = "[c]"},
                                     {.id = "b", .needs = "[a]"},
                                     {.id = "c", .needs = "[b]"},
                                     {.id = "d", .needs = "[d]"}}),
                          "cycle"),
              ElementsAre(says("a needs c needs b needs a"), says("d needs d")));
  EXPECT_THAT(findings_of(plan_text({{.id = "a"}, {.id = "b", .needs = "[a]"}}), "cycle"),
              IsEmpty());
}

TEST(Validate, ALongCycleIsCut) {
  std::vector<TestPackage> packages;
  for (int i = 0; i < 100; ++i) {
    packages.push_back(
        {.id = "p" + std::to_string(i), .needs = "[p" + std::to_string((i + 1) % 100) + "]"});
  }
  EXPECT_THAT(findings_of(plan_text(packages), "cycle"),
              ElementsAre(says("p10 needs … (88 more) needs p99 needs p0")));
}

TEST(Validate, FileLocksAreCanonicalPaths) {
  for (const char* const good : {"src/a.py", "src/", "src/**/*.py", "./db:x", "a b.txt"}) {
    EXPECT_THAT(of_file(good), IsEmpty()) << good;
  }
  EXPECT_THAT(of_file("./src//a.py"), ElementsAre(advises("write \"src/a.py\"")));
  EXPECT_THAT(of_file("/etc/passwd"), ElementsAre(is(Severity::kError)));
  EXPECT_THAT(of_file("../x"), ElementsAre(is(Severity::kError)));
  EXPECT_THAT(of_file("a "), ElementsAre(is(Severity::kError)));
  EXPECT_THAT(of_file("src\\a.py"), ElementsAre(advises("src/a.py")));
  EXPECT_THAT(of_file("db:migration-slot"),
              ElementsAre(says("is listed under files but is a logical key")));
}

TEST(Validate, AFolderLockedAsAFileIsWarnedAbout) {
  EXPECT_THAT(of_file("src/api", "['src/api/**']"),
              ElementsAre(AllOf(is(Severity::kWarning), advises("write \"src/api/\""))));
  EXPECT_THAT(of_file("src/api", "['src/**']"), IsEmpty());
}

TEST(Validate, EveryKeyIsCanonicalised) {
  for (const char* const good :
       {"api:GET /v1/users", "db:migration-slot", "db:schema:users", "event:user.created",
        "flag:billing/*", "env:shared-fixtures", "feature:F-1:docs", "task:T-1"}) {
    EXPECT_THAT(of_key(good), IsEmpty()) << good;
  }
  const std::vector<std::pair<const char*, const char*>> corrected = {
      {"api:get /v1/users", "api:GET /v1/users"},
      {"api:GET  /v1//users/", "api:GET /v1/users"},
      {"api:guardrails", "api:GET /guardrails"},
      {"db:schema:Users", "db:schema:users"},
      {"db:users", "db:schema:users"},
      {"event:User.Created", "event:user.created"},
      {"flag:Billing/x", "flag:billing/x"}};
  for (const auto& [wrong, right] : corrected) {
    EXPECT_THAT(of_key(wrong), ElementsAre(AllOf(is(Severity::kError), advises(right)))) << wrong;
  }
  EXPECT_THAT(of_key("mcp:tools"), ElementsAre(says("unknown prefix 'mcp:'")));
  EXPECT_THAT(of_key("env:8080"), ElementsAre(advises("lockkeeper ports")));
  EXPECT_THAT(of_key("src/a.py"), ElementsAre(says("but is a path")));
  EXPECT_THAT(of_key("api:FETCH /x"), ElementsAre(is(Severity::kWarning)));
}

// Not pause: it would stop every other package, which is not what a missing purpose means.
TEST(Validate, AMissingPurposeIsNotCorrectedToPause) {
  EXPECT_THAT(of_key("feature:quick-task"),
              ElementsAre(AllOf(says("has no purpose"),
                                advises("write \"feature:quick-task:a\", or another purpose"))));
}

TEST(Validate, UnknownPurposesAreWarningsAndErrorsWhenStrict) {
  EXPECT_THAT(of_key("feature:F-1:paus", "purpose"), ElementsAre(is(Severity::kWarning)));
  EXPECT_THAT(of_key("feature:F-1:paus", "purpose", "[]", true), ElementsAre(is(Severity::kError)));
  EXPECT_THAT(of_key("feature:F-1:pause", "purpose"),
              ElementsAre(says("stops every other package")));
  EXPECT_THAT(of_key("api:FETCH /x", "purpose"), IsEmpty());
  ValidateOptions options;
  options.keys.feature_purposes.push_back("docs");
  EXPECT_THAT(
      validate(plan_text({{.id = "wp-a", .keys = "['feature:F-1:docs']"}}), options).findings,
      IsEmpty());
}

TEST(Validate, C6_APurposeIsFreeUnlessItLooksLikeAMistake) {
  const auto purpose = [](const std::string& key, const key::Rules& rules) {
    ValidateOptions options;
    options.keys = rules;
    const std::string text = plan_text({{.id = "wp-a", .keys = "['feature:F-1:" + key + "']"}});
    return validate(text, options).count(Severity::kWarning);
  };
  for (const char* const free : {"integration", "docs", "tests", "wiring", "x"}) {
    EXPECT_EQ(purpose(free, {}), 0U) << free;
  }
  EXPECT_EQ(purpose("pasue", {}), 1U) << "it would stop nobody";
  EXPECT_EQ(purpose("pause", {}), 1U) << "it would stop everybody else";
  key::Rules configured;
  configured.feature_purposes = {"pause", "docs"};
  EXPECT_EQ(purpose("docs", configured), 0U);
  EXPECT_EQ(purpose("integration", configured), 1U);
}

TEST(Validate, ContractKeysNameAListedContract) {
  const std::string listed = "[contracts/openapi/v1.yaml, contracts/b.yaml]";
  EXPECT_THAT(of_key("contract:contracts/openapi/v1.yaml", "contract", listed), IsEmpty());
  EXPECT_THAT(of_key("contract:contracts/*.yaml", "contract", listed), IsEmpty());
  EXPECT_THAT(of_key("contract:openapi/v1.yaml", "contract", listed),
              ElementsAre(AllOf(is(Severity::kWarning),
                                advises("did you mean \"contract:contracts/openapi/v1.yaml\"?"))));
  EXPECT_THAT(of_key("contract:contracts/c.yaml", "contract", listed),
              ElementsAre(advises("did you mean \"contract:contracts/b.yaml\"?")));
  EXPECT_THAT(of_key("contract:x", "contract"), ElementsAre(advises("lists no contract")));
  EXPECT_THAT(of_key("contract:x", "contract", "[]", true), ElementsAre(is(Severity::kError)));
  EXPECT_THAT(findings_of("packages: [{package_id: a, locks: {keys: ['contract:gen/x.py']}}]\n"
                          "contracts: {generated: {pydantic_dir: gen}}",
                          "contract"),
              IsEmpty());
}

TEST(Validate, LocksAreInsideTheWriteScope) {
  const auto scope = [](const std::string& file, const std::string& writes,
                        const std::string& deny = "[]") {
    return findings_of(plan_text({{.id = "wp-a", .files = file, .writes = writes, .deny = deny}}),
                       "scope");
  };
  EXPECT_THAT(scope("[src/a.py]", "['src/**']"), IsEmpty());
  EXPECT_THAT(scope("[src/a.py]", "[src/a.py]"), IsEmpty());
  EXPECT_THAT(scope("[src/api/]", "[src/]"), IsEmpty());
  EXPECT_THAT(scope("['src/*.py']", "['src/**']"), IsEmpty());
  EXPECT_THAT(scope("[src/a.py, lib/b.py]", "['src/**']"),
              ElementsAre(says("wp-a locks \"lib/b.py\" but may not write it")));
  EXPECT_THAT(scope("['src/**']", "['src/*.py']"), ElementsAre(is(Severity::kError)));
  EXPECT_THAT(scope("[src/a.py]", "[]"), ElementsAre(is(Severity::kError)));
  EXPECT_THAT(scope("[src/gen/a.py]", "['src/**']", "['src/gen/**']"),
              ElementsAre(says("\"src/gen/**\" is in scope.deny")));
  EXPECT_THAT(scope("[src/]", "['src/**']", "['src/gen/**']"), IsEmpty());
  EXPECT_THAT(scope("[]", "[/etc]"), ElementsAre(says("write_allow: '/etc'")));
  EXPECT_THAT(findings_of("packages: [{package_id: a, scope: {read_allow: [../x]}}]", "scope"),
              ElementsAre(says("read_allow: '../x'")));
  EXPECT_THAT(scope("[]", "['api:GET /x']"), ElementsAre(says("is a logical key, not a path")));
}

TEST(Validate, LocksOfPackagesSideBySideAreApart) {
  const auto overlap = [](const std::string& a, const std::string& b, const char* needs = "[]") {
    return findings_of(
        plan_text({{.id = "wp-a", .files = a}, {.id = "wp-b", .needs = needs, .files = b}}),
        "lock-overlap");
  };
  EXPECT_THAT(overlap("[src/a.py]", "[src/b.py]"), IsEmpty());
  EXPECT_THAT(overlap("[src/a.py]", "[src/a.py]"), ElementsAre(witness("src/a.py")));
  EXPECT_THAT(overlap("[src/a.py]", "[src/a.py]", "[wp-a]"), IsEmpty());
  EXPECT_THAT(overlap("[src/a.py]", "[src/]"), ElementsAre(witness("src/a.py")));
  EXPECT_THAT(overlap("[src/a.py]", "['src/*.py']"), ElementsAre(witness("src/a.py")));
  EXPECT_THAT(overlap("['src/*/a.py']", "['src/b/*']"), ElementsAre(witness("src/b/a.py")));
  EXPECT_THAT(overlap("['src/a*.py']", "['src/*b.py']"), ElementsAre(witness("src/ab.py")));
  EXPECT_THAT(overlap("['src/*.py']", "['src/*.md']"), IsEmpty());
  EXPECT_THAT(findings_of(plan_text({{.id = "wp-a", .keys = "['db:migration-slot']"},
                                     {.id = "wp-b", .keys = "['db:migration-slot']"}}),
                          "lock-overlap"),
              ElementsAre(AllOf(says("wp-a locks \"db:migration-slot\" and wp-b locks "
                                     "\"db:migration-slot\" (line 20)"),
                                is(Severity::kError))));
}

TEST(Validate, PackagesThatNeedOneAnotherFarAwayDoNotMeet) {
  EXPECT_THAT(findings_of(plan_text({{.id = "a", .files = "[x]", .writes = "[x]"},
                                     {.id = "b", .needs = "[a]"},
                                     {.id = "c", .needs = "[b]", .files = "[x]", .writes = "[x]"}}),
                          "lock-overlap"),
              IsEmpty());
}

TEST(Validate, WriteScopesOfPackagesSideBySideAreApart) {
  const auto overlap = [](const std::string& a, const std::string& b,
                          const std::string& deny_a = "[]", const std::string& deny_b = "[]") {
    return findings_of(plan_text({{.id = "wp-a", .writes = a, .deny = deny_a},
                                  {.id = "wp-b", .writes = b, .deny = deny_b}}),
                       "scope-overlap");
  };
  EXPECT_THAT(overlap("['src/api/**']", "['src/ui/**']"), IsEmpty());
  EXPECT_THAT(overlap("['src/**/test_*.py']", "['src/api/**']"),
              ElementsAre(AllOf(is(Severity::kError), witness("src/api/test_a.py"))));
  EXPECT_THAT(overlap("['src/**']", "['src/ui/**']", "['src/ui/**']"), IsEmpty());
  EXPECT_THAT(overlap("['src/**']", "['src/ui/**']", "[src/ui/]"), IsEmpty());
  EXPECT_THAT(overlap("[src/]", "['src/ui/a.ts']", "['**/*.ts']"), IsEmpty());
  EXPECT_THAT(overlap("['src/ui/**']", "['src/**']", "[]", "['src/ui/**']"), IsEmpty());
  EXPECT_THAT(overlap("['src/**']", "['src/ui/**']", "['src/ui/a.ts']"),
              ElementsAre(is(Severity::kError)));
  EXPECT_THAT(overlap("['src/**']", "['src/{a,b}/**']", "['src/a/**', src/b/]"), IsEmpty());
}

// A lock outside its own scope is one error; its overlap with another package is a second one.
TEST(Validate, ALockOutsideItsScopeIsComparedWithTheScopesOfOthers) {
  const std::string text = plan_text({{.id = "wp-a", .files = "[lib/x.py]", .writes = "['src/**']"},
                                      {.id = "wp-b", .writes = "['lib/**']"}});
  EXPECT_THAT(findings_of(text, "scope-overlap"),
              ElementsAre(AllOf(says("wp-a locks \"lib/x.py\" and wp-b may write \"lib/**\""),
                                witness("lib/x.py"))));
  EXPECT_THAT(findings_of(text, "lock-overlap"), IsEmpty());
}

TEST(Validate, IntegrationIsOnlyWarnedThatADependencyIsMissing) {
  EXPECT_THAT(
      findings_of(plan_text({{.id = "wp-a", .writes = "['src/**']"},
                             {.id = "wp-integration", .writes = "['**']"}}),
                  "scope-overlap"),
      ElementsAre(AllOf(is(Severity::kWarning), advises("make wp-integration depend on wp-a"))));
}

TEST(Validate, ManyOverlapsAreCounted) {
  std::vector<TestPackage> packages;
  for (int i = 0; i < 40; ++i) {
    packages.push_back({.id = "p" + std::to_string(i), .writes = "['src/**']"});
  }
  const auto found = findings_of(plan_text(packages), "scope-overlap");
  ASSERT_EQ(found.size(), kOverlapsListed + 1);
  EXPECT_EQ(found.back().message, "and 580 more overlaps");
}

TEST(Validate, ManyFindingsOfOneRuleAreCounted) {
  std::string files = "[";
  for (int i = 0; i < 1'500; ++i) files += "lib/f" + std::to_string(i) + ",";
  const auto found = findings_of(plan_text({{.id = "wp-a", .files = files + "]"}}), "scope");
  ASSERT_EQ(found.size(), kFindingsListed + 1);
  EXPECT_EQ(found.back().message, "and 500 more of this rule");
  EXPECT_EQ(found.back().severity, Severity::kError);
}

// Every lock is compared with the patterns at its place: that must be bounded.
TEST(Validate, ManyLocksUnderManyPatternsAreALimitByName) {
  std::string files = "[";
  std::string writes = "[";
  for (int i = 0; i < 600; ++i) {
    files += "d/f" + std::to_string(i) + ",";
    writes += "'d/x" + std::to_string(i) + "*',";
  }
  const auto found = findings_of(
      plan_text({{.id = "wp-a", .files = files + "]", .writes = writes + "]"}}), "scope");
  EXPECT_THAT(found, testing::Contains(says("comparisons of locks with write scopes")));
}

TEST(Validate, FindingsAreGroupedByRuleAndSortedByPlace) {
  const Validated result = validate(plan_text({{.id = "b", .keys = "['x:1', 'y:2']"},
                                               {.id = "b", .needs = "[z]", .keys = "['x:1']"}}),
                                    {});
  std::vector<std::string> order;
  for (const Finding& finding : result.findings) {
    order.push_back(finding.rule + ":" + std::to_string(finding.place.line));
  }
  EXPECT_THAT(order, ElementsAre("duplicate-id:18", "depends-on:19", "lock-key:7", "lock-key:7",
                                 "lock-key:20", "scope-overlap:8"));
}

TEST(Validate, ScopesFilesAreCheckedToo) {
  const std::string text =
      "agents:\n"
      "- {agent: ui, files: ['app/[slug]/page.tsx'], directories: [src/ui], keys: ['api:get /x']}\n"
      "- {agent: api, globs: ['src/**/*.ts'], after: [nobody]}\n"
      "- {agent: docs, files: [docs/a.md], after: [ui], extra: 1}\n";
  const Validated result = validate(text, {});
  EXPECT_TRUE(result.plan.scopes);
  EXPECT_EQ(result.packages, 3U);
  EXPECT_EQ(result.locks, 4U);
  EXPECT_THAT(findings_of(text, "lock-file"), IsEmpty());
  EXPECT_THAT(findings_of(text, "scope"), IsEmpty());
  EXPECT_THAT(findings_of(text, "lock-key"), ElementsAre(advises("api:GET /x")));
  EXPECT_THAT(findings_of(text, "depends-on"), ElementsAre(says("api depends on \"nobody\"")));
  EXPECT_THAT(findings_of(text, "schema"), ElementsAre(says("extra")));
  EXPECT_THAT(findings_of(text, "lock-overlap"), ElementsAre(witness("src/ui/a.ts")));
}

TEST(Validate, C2_AgentsThatOverlapTakeTurnsWhichIsAWarning) {
  const std::string text =
      "agents:\n- {agent: a, directories: [src]}\n- {agent: b, globs: ['src/*.c']}\n";
  EXPECT_THAT(findings_of(text, "lock-overlap"),
              ElementsAre(AllOf(is(Severity::kWarning), says("they will take turns"))));
  EXPECT_THAT(findings_of(text, "lock-overlap", true), ElementsAre(is(Severity::kError)));
  std::string many = "agents:\n";
  for (int i = 0; i < 30; ++i) many += "- {agent: a" + std::to_string(i) + ", files: [x]}\n";
  EXPECT_EQ(validate(many, {}).count(Severity::kError), 0U);
  EXPECT_EQ(validate(many, {}).count(Severity::kWarning), kOverlapsListed + 1);
}

TEST(Validate, TenThousandPackages) {
  std::vector<TestPackage> packages;
  for (int i = 0; i < 10'000; ++i) {
    const std::string id = "p" + std::to_string(i);
    packages.push_back({.id = id, .files = "[" + id + "/x]"});
    if (i > 0) packages.back().needs = "[p" + std::to_string(i / 2) + "]";
  }
  packages[0].needs = "[]";
  packages[1].needs = "[]";
  const Validated result = validate(plan_text(packages), {});
  EXPECT_EQ(result.packages, 10'000U);
  EXPECT_THAT(result.findings, IsEmpty());
}

TEST(Validate, MorePackagesThanTheLimitAreOneFinding) {
  std::string text = "packages: [";
  for (std::size_t i = 0; i <= kPackagesMax; ++i) text += "{},";
  const auto found = findings_of(text + "]", "schema");
  EXPECT_THAT(found, testing::Contains(says("packages has 20001 elements; at most 10000")));
}

}  // namespace lockkeeper::plan
