#include "plan/witness.h"

#include <gtest/gtest.h>

#include <map>

#include "plan/plan_testing.h"

namespace lockkeeper::plan {
namespace {

// A disk of these folders; any other is missing or cannot be read.
Children disk(std::map<std::string, std::vector<std::string>> folders) {
  return [folders = std::move(folders)](
             const std::string& folder) -> std::optional<std::vector<std::string>> {
    const auto found = folders.find(folder);
    if (found == folders.end()) return std::nullopt;
    return found->second;
  };
}

Witness find(const Children& children, const std::string& a, const std::string& b,
             const std::vector<key::Resource>& denied = {}) {
  const auto common = key::overlap(resource(a), resource(b));
  EXPECT_TRUE(common && *common) << a << b;
  return WitnessFinder(children).find(resource(a), resource(b), **common, denied);
}

const Children kDisk = disk({{"", {"src/"}},
                             {"src/", {"big/", "util.py", "web/"}},
                             {"src/web/", {"deep/", "page.ts"}},
                             {"src/web/deep/", {"view.py"}}});

TEST(Witness, C3_ANameOnDiskIsPreferred) {
  const Witness found = find(kDisk, "src/**/*.py", "src/web/");
  EXPECT_EQ(found.name, "src/web/deep/view.py");
  EXPECT_FALSE(found.made_up);
  EXPECT_EQ(found.exists, true);
  EXPECT_EQ(included_text(found), " \"src/web/deep/view.py\"");
  EXPECT_EQ(find(kDisk, "**", "**/*.py").name, "src/util.py") << "the shortest";
}

TEST(Witness, C3_AMadeUpNameIsAnExample) {
  const Witness made_up = find(kDisk, "src/**/*.go", "src/web/");
  EXPECT_TRUE(made_up.made_up);
  EXPECT_EQ(made_up.exists, false);
  EXPECT_EQ(included_text(made_up),
            ", for example, "
            "\"" +
                made_up.name + "\", which does not exist yet");
  // Nothing is said about what cannot be seen.
  for (const Witness& unknown :
       {find({}, "src/**/*.go", "src/web/"), find(kDisk, "src/big/**/*.go", "src/big/*/x.go")}) {
    EXPECT_TRUE(unknown.made_up);
    EXPECT_EQ(unknown.exists, std::nullopt);
    EXPECT_EQ(included_text(unknown), ", for example, \"" + unknown.name + "\"");
  }
}

TEST(Witness, C3_ANameOfThePlanIsNotMadeUp) {
  const Witness file = find(kDisk, "src/new.py", "src/");
  EXPECT_EQ(file.name, "src/new.py");
  EXPECT_FALSE(file.made_up);
  EXPECT_EQ(file.exists, false);
  EXPECT_EQ(find(kDisk, "src/util.py", "src/*.py").exists, true);
  EXPECT_EQ(find(kDisk, "src/web/", "src/").exists, true);
  const Witness key = find(kDisk, "db:migration-slot", "db:migration-slot");
  EXPECT_FALSE(key.made_up);
  EXPECT_EQ(key.exists, std::nullopt);
}

TEST(Witness, C3_WhatIsDeniedIsNoWitness) {
  const Witness found = find(kDisk, "src/**/*.py", "src/", {resource("src/util.py")});
  EXPECT_EQ(found.name, "src/web/deep/view.py");
}

TEST(Witness, C3_ALargeDiskIsNotReadToItsEnd) {
  std::size_t folders = 0;
  const Children endless = [&](const std::string&) -> std::optional<std::vector<std::string>> {
    ++folders;
    return std::vector<std::string>{"a/", "b/", "c/"};
  };
  EXPECT_TRUE(find(endless, "**/*.py", "**/x*").made_up);
  EXPECT_LT(folders, 2'000U);
}

}  // namespace
}  // namespace lockkeeper::plan
