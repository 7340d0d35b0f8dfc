// Where the protocol's folder is found, and what the completion report says.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "dialect/mkdir/tasks.h"
#include "realm/test_repository.h"

namespace lockkeeper::dialect::mkdir {
namespace {

using testing::HasSubstr;

class MkdirRoot : public testing::Test {
 protected:
  MkdirRoot() {
    files_.init("repo");
    files_.folder("repo/src/deep");
    realm_ = files_.realm("repo");
  }
  Result<std::string> root(const std::string& cwd, std::optional<std::string> named = {}) {
    return find_root(realm_, {}, files_.at(cwd), named);
  }

  realm::TestRepository files_;
  realm::Realm realm_;
};

TEST_F(MkdirRoot, NoneYetIsTheOneAtTheRealmsRootWhereverOneStands) {
  EXPECT_EQ(root("repo/src/deep"), files_.at("repo/spec"));
  EXPECT_EQ(root(""), files_.at("repo/spec"));  // --realm from outside
  EXPECT_FALSE(std::filesystem::exists(files_.at("repo/spec")));
}

TEST_F(MkdirRoot, TheNearestUpwardsNeverAboveTheRealm) {
  files_.folder("spec");
  EXPECT_EQ(root("repo/src"), files_.at("repo/spec"));
  files_.folder("repo/spec/inner");
  EXPECT_EQ(root("repo/src/deep"), files_.at("repo/spec"));
  EXPECT_EQ(root("repo/spec"), files_.at("repo/spec"));
  EXPECT_EQ(root("repo/spec/inner"), files_.at("repo/spec"));
  files_.folder("repo/src/spec");
  EXPECT_EQ(root("repo/src/deep"), files_.at("repo/src/spec"));
  EXPECT_EQ(root("repo"), files_.at("repo/spec"));
}

TEST_F(MkdirRoot, AFileOfThatNameIsPassedOverAndASymlinkFollowedInsideAlone) {
  files_.write("repo/src/spec", "a file");
  files_.folder("repo/plans");
  files_.link("plans", "repo/spec");
  EXPECT_EQ(root("repo/src"), files_.at("repo/plans"));
  files_.folder("outside");
  files_.link("../../../outside", "repo/src/deep/spec");
  ASSERT_FALSE(root("repo/src/deep"));
  EXPECT_EQ(root("repo/src/deep").error().code, Code::kInvalidInput);
}

TEST_F(MkdirRoot, NamedItMayBeAnywhereAndMayBeMissing) {
  files_.folder("outside");
  EXPECT_EQ(root("repo/src", "deep"), files_.at("repo/src/deep"));
  EXPECT_EQ(root("repo/src", "deep/new/"), files_.at("repo/src/deep/new"));
  EXPECT_EQ(root("repo", files_.at("outside")), files_.at("outside"));
  files_.write("repo/file", "x");
  files_.link("nowhere", "repo/dangling");
  for (const char* const bad : {"", "file", "dangling", "no/such", "file/x"}) {
    const auto found = root("repo", bad);
    ASSERT_FALSE(found) << bad << " " << *found;
    EXPECT_EQ(found.error().code, Code::kInvalidInput);
  }
}

TEST_F(MkdirRoot, TheReportNamesTaskFileAndHolder) {
  core::Conflict conflict;
  conflict.requested.resource = key::parse("src/a.py", {})->resource;
  conflict.holder.owner = {"bob", "s1"};
  conflict.holder.terms.task = "T-1";
  const std::string line = report_line("T-2", conflict, 0, false);
  EXPECT_THAT(line,
              HasSubstr(" task T-2: src/a.py is held by bob (session s1) for task T-1 since"));
  EXPECT_TRUE(line.ends_with("\n"));
  const auto json = nlohmann::json::parse(report_line("T-2", conflict, 0, true));
  EXPECT_EQ(json["task"], "T-2");
  EXPECT_EQ(json["file"], "src/a.py");
  EXPECT_EQ(json["holder"]["agent"], "bob");
  EXPECT_EQ(json["holder"]["task"], "T-1");
  ASSERT_TRUE(append_report(files_.at("report"), "one\n"));
  ASSERT_TRUE(append_report(files_.at("report"), "two\n"));
  EXPECT_EQ(read_file(files_.at("report")), "one\ntwo\n");
  EXPECT_EQ(append_report(files_.at("no/report"), "x").error().code, Code::kInvalidInput);
  EXPECT_FALSE(append_report(files_.at("repo"), "x"));
  EXPECT_EQ(append_report("/dev/full", "x").error().code, Code::kNoSpace);
}

}  // namespace
}  // namespace lockkeeper::dialect::mkdir
