// For tests alone: a repository in which git knows as whom to commit, and what git says of it.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "base/folder.h"
#include "crew/trees/agent_tree.h"
#include "git/writer.h"
#include "realm/test_repository.h"

namespace lockkeeper::crew {

class TreesTest : public testing::Test {
 protected:
  TreesTest() {
    repo.init("r");
    repo.git("r", "config user.name t");
    repo.git("r", "config user.email t@example.org");
    repo.write("r/f", "one\n");
    repo.write("r/.gitignore", ".env\nnode_modules/\n");
    repo.git("r", "add -A");
    repo.git("r", "commit -m base");
    base = says("r", {"rev-parse", "HEAD"});
    repo.folder("marks");
  }

  // What `git WORDS…` prints in that folder, without the last line break.
  std::string says(const std::string& in, const std::vector<std::string>& words) const {
    const auto writer = git::Writer::open(repo.at(in));
    EXPECT_TRUE(writer);
    auto text = writer->run(words);
    EXPECT_TRUE(text) << text.error().message;
    if (!text) return "";
    while (text->ends_with('\n')) text->pop_back();
    return *text;
  }

  std::string text_of(const std::string& name) const {
    std::ifstream file(repo.at(name), std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
  }

  bool is_there(const std::string& name) const {
    return std::filesystem::symlink_status(repo.at(name)).type() !=
           std::filesystem::file_type::not_found;
  }

  Folder marks(const std::string& agent) const {
    repo.folder("marks/" + agent);
    auto folder = Folder::open(repo.at("marks/" + agent), "", Folder::Kind::kPrivate);
    EXPECT_TRUE(folder) << folder.error().message;
    return std::move(*folder);
  }

  TreeOrders orders(const std::string& agent) const {
    TreeOrders made;
    made.checkout = repo.at("r");
    made.folder = repo.at("trees/" + agent);
    made.branch = "lk/run/" + agent;
    made.base = base;
    made.message = agent + ": work\n\nLockkeeper-Agent: " + agent + "\n";
    made.patterns.copy = {".env*"};
    made.patterns.link = {"node_modules/"};
    return made;
  }

  // Makes the agent's worktree, writes the file there, and commits. Returns the branch's tip.
  std::string works(const std::string& agent, const std::string& file, const std::string& text,
                    const std::vector<std::string>& with = {}) const {
    TreeOrders wanted = orders(agent);
    wanted.with = with;
    const Folder folder = marks(agent);
    AgentTree tree(wanted, folder, {});
    const auto start = tree.ensure();
    EXPECT_TRUE(start) << start.error().message;
    repo.write("trees/" + agent + "/" + file, text);
    const auto done = tree.commit({});
    EXPECT_TRUE(done) << done.error().message;
    return done ? done->tip : "";
  }

  realm::TestRepository repo;
  std::string base;
};

}  // namespace lockkeeper::crew
