#include "plan/denied.h"

#include <gtest/gtest.h>

#include "plan/plan_testing.h"

namespace lockkeeper::plan {
namespace {

std::optional<std::string> left(const std::string& a, const std::string& b,
                                const std::vector<std::string>& denied) {
  std::vector<key::Resource> all;
  for (const std::string& each : denied) all.push_back(resource(each));
  const auto witness = key::overlap(resource(a), resource(b)).value();
  EXPECT_TRUE(witness.has_value());
  return left_of(resource(a), resource(b), witness.value_or(""), all);
}

}  // namespace

TEST(Denied, AWitnessThatNobodyDeniesStands) {
  EXPECT_EQ(left("src/**", "src/a.py", {}), "src/a.py");
  EXPECT_EQ(left("src/**", "src/a.py", {"src/b.py", "docs/**"}), "src/a.py");
}

TEST(Denied, WhatIsAllDeniedIsApart) {
  EXPECT_EQ(left("src/**", "src/a.py", {"src/a.py"}), std::nullopt);
  EXPECT_EQ(left("src/**", "src/a.py", {"**/*.py"}), std::nullopt);
  EXPECT_EQ(left("src/", "src/ui/", {"src/ui/"}), std::nullopt);
  EXPECT_EQ(left("src/**", "src/ui/**", {"src/"}), std::nullopt);
  EXPECT_EQ(left("src/**", "src/{a,b}/**", {"src/a/**", "src/b/"}), std::nullopt);
}

TEST(Denied, WhatIsPartlyDeniedIsNot) {
  EXPECT_EQ(left("src/**", "src/ui/**", {"src/ui/*.ts", "src/ui/a"}), "src/ui/**");
  EXPECT_EQ(left("src/{a,b}/**", "src/**", {"src/a/**"}).has_value(), true);
}

}  // namespace lockkeeper::plan
