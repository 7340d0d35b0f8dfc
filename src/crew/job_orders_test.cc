#include "crew/job_orders.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "base/text.h"
#include "realm/test_repository.h"

namespace lockkeeper::crew {
namespace {

using testing::HasSubstr;

// Git itself is asked.
TEST(BranchFor, EveryNameIsABranchOfItsOwn) {
  realm::TestRepository repo;
  repo.init("r");
  std::set<std::string> branches;
  const std::string long_name(300, 'x');
  for (const std::string& id : {std::string("a"),
                                std::string("A"),
                                std::string("../up"),
                                std::string("a..b"),
                                std::string("a%2e%2eb"),
                                std::string("x.lock"),
                                std::string("x%2elock"),
                                std::string("-f"),
                                std::string("a b"),
                                std::string("@{"),
                                std::string("@"),
                                std::string("dot."),
                                std::string("."),
                                std::string(".."),
                                std::string(".hidden"),
                                std::string("\u00e9"),
                                std::string("a~1^:?*[\\"),
                                std::string("a/b"),
                                std::string("a\nb"),
                                std::string("HEAD"),
                                std::string("\xff"),
                                std::string(),
                                long_name,
                                long_name + "y"}) {
    const std::string branch = branch_for("2026-01-17T153000-7", id);
    EXPECT_TRUE(branches.insert(branch).second) << id << " has the branch of another: " << branch;
    EXPECT_TRUE(branch.starts_with("lk/2026-01-17T153000-7/")) << branch;
    EXPECT_EQ(branch.rfind('/'), std::string("lk/2026-01-17T153000-7").size()) << branch;
    repo.git("r", "branch " + shell_quote(branch));
  }
}

TEST(CommitMessage, NamesRunAgentAndTask) {
  plan::Job job;
  job.id = "back end";
  job.description = "Store it\nand more";
  job.task = "T-7";
  EXPECT_EQ(commit_message(job, "r1", "plan.yaml"),
            "back end: Store it\n\nOne agent's part of plan.yaml.\n\n"
            "Lockkeeper-Run: r1\nLockkeeper-Agent: back end\nLockkeeper-Task: T-7\n");
  job.description = std::string(500, 'd') + "\x1b[31m";
  job.task.clear();
  const std::string text = commit_message(job, "r1", "a\nLockkeeper-Agent: eve");
  EXPECT_LE(text.find('\n'), 100U);
  EXPECT_THAT(text, HasSubstr("a\\x0aLockkeeper-Agent: eve.\n")) << "no line of its own";
  EXPECT_EQ(text.find("Lockkeeper-Task"), std::string::npos);
}

}  // namespace
}  // namespace lockkeeper::crew
