#include "crew/trees/provision.h"

#include <sys/stat.h>

#include <nlohmann/json.hpp>

#include "crew/trees/trees_testing.h"

namespace lockkeeper::crew {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class Provision : public TreesTest {
 protected:
  Provision() {
    repo.git("r", "worktree add --detach " + repo.at("t"));
    repo.write("r/web/page", "p\n");
    repo.git("r", "add web");
  }

  Provided provides(const Patterns& patterns) {
    auto provided = provide(repo.at("r"), repo.at("t"), patterns, {});
    EXPECT_TRUE(provided) << provided.error().message;
    return provided.value_or(Provided{});
  }

  bool is_link(const std::string& name) const { return std::filesystem::is_symlink(repo.at(name)); }
};

TEST_F(Provision, CopiesAndLinksWhatGitDoesNotHave) {
  repo.write("r/.env", "A=1\n");
  repo.write("r/web/.env.local", "B=2\n");
  repo.write("r/node_modules/m", "m\n");
  repo.write("r/.venv/bin/tool", "#!/bin/sh\n");
  repo.link("tool", "r/.venv/bin/alias");
  ASSERT_EQ(::chmod(repo.at("r/.env").c_str(), 0600), 0);
  ASSERT_EQ(::chmod(repo.at("r/.venv/bin/tool").c_str(), 0755), 0);
  const Provided provided = provides({{".env*", ".venv/", "f"}, {"node_modules/"}});
  EXPECT_EQ(text_of("t/.env") + text_of("t/web/.env.local"), "A=1\nB=2\n");
  EXPECT_TRUE(is_link("t/node_modules"));
  EXPECT_EQ(text_of("t/node_modules/m"), "m\n");
  EXPECT_TRUE(is_link("t/.venv/bin/alias"));
  struct stat info{};
  ASSERT_EQ(::stat(repo.at("t/.env").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600U);
  ASSERT_EQ(::stat(repo.at("t/.venv/bin/tool").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0755U);
  EXPECT_THAT(provided.links, ElementsAre("node_modules"));
  EXPECT_EQ(provided.copies.size(), 3U) << "f is git's";
  const Provided read = provided_from(provided_json(provided));
  EXPECT_EQ(read.copies.size(), 3U);
  EXPECT_EQ(read.copies[0].digest, provided.copies[0].digest);
  EXPECT_EQ(read.links, provided.links);
  ASSERT_TRUE(take_back(repo.at("t"), provided));
  EXPECT_FALSE(is_there("t/.env"));
  EXPECT_FALSE(is_there("t/.venv"));
  EXPECT_FALSE(is_there("t/node_modules"));
  EXPECT_EQ(text_of("r/node_modules/m"), "m\n");
}

TEST_F(Provision, FollowsNoSymlink) {
  repo.write("outside/secret", "s\n");
  repo.link(repo.at("outside/secret"), "r/.env");
  repo.link(repo.at("outside"), "r/node_modules");
  // In the agent's worktree, folders of that name lead elsewhere.
  repo.write("r/web/.env", "B=2\n");
  std::filesystem::create_directory(repo.at("elsewhere"));
  repo.link(repo.at("elsewhere"), "t/web");
  const Provided provided = provides({{".env*"}, {"node_modules"}});
  EXPECT_THAT(provided.copies, IsEmpty());
  EXPECT_THAT(provided.links, IsEmpty());
  EXPECT_THAT(provided.left_out,
              testing::UnorderedElementsAre(HasSubstr("\".env\" is a symlink"),
                                            HasSubstr("\"node_modules\" is a symlink"),
                                            HasSubstr("\"web/.env\": something else is there")));
  EXPECT_TRUE(std::filesystem::is_empty(repo.at("elsewhere")));
  EXPECT_FALSE(is_there("t/.env"));
}

TEST_F(Provision, ReplacesNothing) {
  repo.write("r/.env", "A=1\n");
  repo.write("r/node_modules/m", "m\n");
  repo.write("t/.env", "mine\n");
  repo.write("t/node_modules/own", "own\n");
  const Provided provided = provides({{".env"}, {"node_modules/"}});
  EXPECT_EQ(provided.left_out.size(), 2U);
  EXPECT_EQ(text_of("t/.env"), "mine\n");
  EXPECT_EQ(text_of("t/node_modules/own"), "own\n");
  EXPECT_THAT(pathspecs_of(provided), IsEmpty());
}

TEST_F(Provision, WhatWasMadeOfItIsNamed) {
  repo.write("r/.env", "A=1\n");
  repo.write("r/web/.env", "B=2\n");
  repo.write("r/data/one", "1\n");
  repo.write("r/data/two", "2\n");
  repo.link("one", "r/data/alias");
  repo.write("r/node_modules/m", "m\n");
  Provided provided = provides({{".env", "data/"}, {"node_modules/"}});
  provided = provided_from(provided_json(provided));
  EXPECT_THAT(files_of(provided), ElementsAre(".env", "data/alias", "data/one", "data/two",
                                              "node_modules", "web/.env"));
  const auto look = [&] {
    return touched(repo.at("t"), provided).value_or(Touched{{"?"}, {}, {}});
  };
  Touched now = look();
  EXPECT_THAT(now.changed, IsEmpty());
  EXPECT_THAT(now.added, IsEmpty());
  EXPECT_THAT(now.replaced, IsEmpty());
  repo.write("t/web/.env", "B=3\n");
  std::filesystem::remove(repo.at("t/.env"));
  repo.write("t/data/two", "3\n");
  std::filesystem::remove(repo.at("t/data/alias"));
  repo.link("two", "t/data/alias");
  std::filesystem::remove(repo.at("t/data/one"));
  repo.write("t/data/new/file", "");
  std::filesystem::remove(repo.at("t/node_modules"));
  repo.write("t/node_modules/own", "");
  now = look();
  EXPECT_THAT(now.changed, testing::UnorderedElementsAre("web/.env", "data/two", "data/alias"));
  EXPECT_THAT(now.added, ElementsAre("data/new/file"));
  EXPECT_THAT(now.replaced, ElementsAre("node_modules"));
  std::filesystem::remove_all(repo.at("t/data"));
  repo.write("t/data", "a file now\n");
  EXPECT_THAT(look().changed, testing::UnorderedElementsAre("web/.env", "data"));
}

TEST_F(Provision, WithoutPatternsGitIsNotAsked) {
  EXPECT_TRUE(provide("/nowhere", "/nowhere", {}, {}));
  EXPECT_FALSE(provide("/nowhere", "/nowhere", {{"a"}, {}}, {}));
}

}  // namespace
}  // namespace lockkeeper::crew
