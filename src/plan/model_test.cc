#include "plan/model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lockkeeper::plan {
namespace {

using testing::ElementsAre;
using testing::Field;
using testing::IsEmpty;

WorkPackages read(std::string_view text) {
  const auto document = yaml::parse_document(text);
  EXPECT_TRUE(document.has_value());
  return document ? read_work_packages(*document) : WorkPackages();
}

auto named(const std::string& text) {
  return Field(&Name::text, text);
}

}  // namespace

TEST(Model, APackageWithEverything) {
  const WorkPackages plan = read(
      "feature: {id: F-1}\n"
      "contracts: {openapi: {primary: a.yaml, files: [a.yaml, b.yaml]}, schemas: [s.json],\n"
      "            generated: {python: gen}}\n"
      "packages:\n"
      "- package_id: wp-a\n"
      "  title: T\n"
      "  description: D\n"
      "  depends_on: [wp-b]\n"
      "  priority: 2\n"
      "  timeout_minutes: 30\n"
      "  retry_budget: 3\n"
      "  locks: {files: [x], keys: ['task:1'], ttl_minutes: 90, reason: R}\n"
      "  scope: {write_allow: ['x/**'], read_allow: ['**'], deny: [x/y]}\n"
      "  command: [make, all]\n");
  EXPECT_EQ(plan.feature, "F-1");
  EXPECT_THAT(plan.contracts, ElementsAre(named("a.yaml"), named("b.yaml"), named("a.yaml"),
                                          named("s.json"), named("gen/")));
  ASSERT_EQ(plan.packages.size(), 1U);
  const Package& package = plan.packages[0];
  EXPECT_EQ(package.id.text, "wp-a");
  EXPECT_EQ(package.id.place.line, 5U);
  EXPECT_EQ(package.title, "T");
  EXPECT_EQ(package.description, "D");
  EXPECT_THAT(package.depends_on, ElementsAre(named("wp-b")));
  EXPECT_THAT(package.files, ElementsAre(named("x")));
  EXPECT_THAT(package.keys, ElementsAre(named("task:1")));
  EXPECT_THAT(package.write_allow, ElementsAre(named("x/**")));
  EXPECT_THAT(package.deny, ElementsAre(named("x/y")));
  EXPECT_TRUE(package.scoped);
  EXPECT_EQ(package.reason, "R");
  EXPECT_EQ(package.priority, 2);
  EXPECT_EQ(package.ttl_minutes, 90);
  EXPECT_EQ(package.timeout_minutes, 30);
  EXPECT_EQ(package.retry_budget, 3);
  EXPECT_EQ(package.command, (Command{{"make", "all"}, false}));
}

TEST(Model, DefaultsAreThoseOfTheFileAndThenOurs) {
  const WorkPackages plan = read(
      "defaults: {priority: 7, lock_ttl_minutes: 45, timeout_minutes: 15, retry_budget: 0}\n"
      "packages: [{package_id: a}, {package_id: b, priority: 1, locks: {ttl_minutes: 5}}]\n");
  EXPECT_EQ(plan.packages[0].priority, 7);
  EXPECT_EQ(plan.packages[0].ttl_minutes, 45);
  EXPECT_EQ(plan.packages[0].timeout_minutes, 15);
  EXPECT_EQ(plan.packages[0].retry_budget, 0);
  EXPECT_EQ(plan.packages[1].priority, 1);
  EXPECT_EQ(plan.packages[1].ttl_minutes, 5);
  EXPECT_FALSE(plan.packages[0].scoped);
  EXPECT_EQ(read("packages: [{}]").packages[0].ttl_minutes, 120);
}

TEST(Model, ANumberMayHaveAPlus) {
  EXPECT_EQ(read("packages: [{priority: +3}]").packages[0].priority, 3);
}

TEST(Model, OlderNamesAreRead) {
  const WorkPackages plan =
      read("packages: [{id: a, dependencies: [b]}, {name: b, command: make}]");
  EXPECT_EQ(plan.packages[0].id.text, "a");
  EXPECT_THAT(plan.packages[0].depends_on, ElementsAre(named("b")));
  EXPECT_EQ(plan.packages[1].id.text, "b");
  EXPECT_EQ(plan.packages[1].command, (Command{{"make"}, true}));
}

TEST(Model, WhatHasTheWrongShapeIsLeftOut) {
  for (const char* const text : {"", "7", "[]", "packages: 7", "packages: {a: b}",
                                 "packages: [1, x, []]", "contracts: 7\nfeature: []"}) {
    EXPECT_THAT(read(text).packages, IsEmpty()) << text;
  }
  const WorkPackages plan = read(
      "packages: [{package_id: 7, depends_on: x, locks: [a], scope: 3, priority: high,\n"
      "            command: {a: b}}, {locks: {files: [1, [a], b]}}]");
  EXPECT_EQ(plan.packages[0].id.text, "");
  EXPECT_THAT(plan.packages[0].depends_on, IsEmpty());
  EXPECT_EQ(plan.packages[0].priority, 5);
  EXPECT_THAT(plan.packages[1].files, ElementsAre(named("b")));
}

}  // namespace lockkeeper::plan
