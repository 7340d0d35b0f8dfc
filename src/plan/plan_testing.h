// For tests only: plans as text, and the findings in them.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "key/resource.h"
#include "plan/validate.h"

namespace lockkeeper::plan {

// One package of an otherwise valid plan. Lists as in YAML: "[a, 'b c']".
struct TestPackage {
  std::string id = {};
  std::string needs = "[]";
  std::string files = "[]";
  std::string keys = "[]";
  std::string writes = {};  // empty: the folder of its own name
  std::string deny = "[]";
};

// A valid plan, unless the given packages break a rule.
inline std::string plan_text(const std::vector<TestPackage>& packages,
                             const std::string& contracts = "[]") {
  std::string text =
      "schema_version: 1\n"
      "feature: {id: feat, plan_revision: 1}\n"
      "contracts: {revision: 1, openapi: {primary: '', files: " +
      contracts +
      "}}\n"
      "packages:\n";
  for (const TestPackage& package : packages) {
    const std::string writes = package.writes.empty() ? "[" + package.id + "/**]" : package.writes;
    text += "- package_id: " + package.id + "\n  depends_on: " + package.needs +
            "\n  locks: {files: " + package.files + ", keys: " + package.keys +
            "}\n  scope: {write_allow: " + writes + ", read_allow: ['**'], deny: " + package.deny +
            "}\n";
    text +=
        "  task_type: implement\n  description: d\n  priority: 5\n"
        "  worktree: {name: w}\n  timeout_minutes: 60\n  retry_budget: 1\n"
        "  min_trust_level: 2\n  verification: {tier_required: A, steps: []}\n"
        "  outputs: {result_keys: []}\n";
  }
  return text;
}

inline std::vector<Finding> findings_of(const std::string& text, const std::string& rule,
                                        bool strict = false) {
  ValidateOptions options;
  options.strict = strict;
  std::vector<Finding> found = validate(text, options).findings;
  std::erase_if(found, [&](const Finding& each) { return each.rule != rule; });
  return found;
}

// REQUIRES: a valid name.
inline key::Resource resource(const std::string& text) {
  const auto parsed = key::parse(text, {});
  EXPECT_TRUE(parsed.has_value()) << text;
  return parsed ? parsed->resource : key::Resource();
}

}  // namespace lockkeeper::plan
