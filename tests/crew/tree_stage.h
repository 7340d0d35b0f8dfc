// For tests of `workflow run --worktrees`: a repository with a commit, and what git says of it.
#pragma once

#include <string>

#include "crew/crew_stage.h"

namespace lockkeeper::stage {

class TreeStage : public CrewStage {
 protected:
  TreeStage() {
    stage_.git("repo", {"config", "user.name", "Ann"});
    stage_.git("repo", {"config", "user.email", "ann@example.org"});
    for (const char* name : {"x", "y", "z", "f"}) stage_.file(name, std::string(name) + "\n");
    stage_.file(".gitignore", ".env\nnode_modules/\n");
    stage_.git("repo", {"add", "-A"});
    stage_.git("repo", {"commit", "-qm", "base"});
    base_ = says_git({"rev-parse", "HEAD"});
  }

  Answer run_trees(Words more = {}) {
    more.emplace_back("--worktrees");
    return run(more);
  }
  Process start_trees(Words more = {}) {
    more.emplace_back("--worktrees");
    return start(more);
  }

  // What `git WORDS…` prints in the repository, without the last line break.
  std::string says_git(const Words& words) {
    Words argv{"git"};
    argv.insert(argv.end(), words.begin(), words.end());
    Answer answer = stage_.finish(stage_.command(argv));
    EXPECT_EQ(answer.status, 0) << answer.all();
    while (answer.out.ends_with('\n')) answer.out.pop_back();
    return answer.out;
  }

  std::string text_of(const std::string& name) { return read_text(stage_.repo() + "/" + name); }
  Json tree(const std::string& id) { return agent(id)["worktree"]; }
  std::string state(const std::string& id) { return tree(id)["state"].get<std::string>(); }
  // All branches and worktrees of runs are gone, and the checkout is clean.
  void expect_no_trees() {
    EXPECT_EQ(says_git({"branch", "--list", "lk/*"}), "");
    EXPECT_EQ(says_git({"worktree", "list"}).find('\n'), std::string::npos)
        << says_git({"worktree", "list"});
    EXPECT_EQ(says_git({"status", "--porcelain"}), "");
    EXPECT_FALSE(exists(stage_.path("state/lockkeeper/worktrees") + "/" + run_folder()));
  }
  // The name of the run's folder below that of the repository.
  std::string run_folder() {
    const std::string folder = report()["worktrees"]["folder"].get<std::string>();
    const std::string above = stage_.path("state/lockkeeper/worktrees/");
    const std::size_t at = folder.find("/worktrees/");
    return at == std::string::npos ? "?" : folder.substr(at + std::string("/worktrees/").size());
  }

  std::string base_;
};

}  // namespace lockkeeper::stage
