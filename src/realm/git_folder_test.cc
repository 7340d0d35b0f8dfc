#include "realm/git_folder.h"

#include <gtest/gtest.h>

#include "realm/test_repository.h"

namespace lockkeeper::realm {
namespace {

GitConfig parsed(std::string_view text) {
  auto config = parse_git_config(text, "config");
  EXPECT_TRUE(config.has_value()) << text << (config ? "" : config.error().message);
  return config.value_or(GitConfig{});
}

TEST(GitConfig, reads_the_keys_that_matter) {
  const auto config = parsed(
      "# comment\n; another\n[core]\n\trepositoryformatversion = 0\n\tbare = false\n"
      "\tIgnoreCase = yes\n\tworktree = \"../with # and blank \"\n"
      "\tsharedRepository = group ; why\n[extensions]\n\tworktreeConfig = on\n");
  EXPECT_EQ(config.bare, false);
  EXPECT_EQ(config.ignore_case, true);
  EXPECT_EQ(config.worktree, "../with # and blank ");
  EXPECT_EQ(config.shared_repository, "group");
  EXPECT_TRUE(config.worktree_config);
}

TEST(GitConfig, knows_the_odd_corners_of_the_syntax) {
  EXPECT_EQ(parsed("[core] bare = true\n").bare, true);  // section and key on one line
  EXPECT_EQ(parsed("[CORE]\nBARE\n").bare, true);        // a key alone means true
  EXPECT_EQ(parsed("[core]\nbare =\n").bare, false);     // an empty value means false
  EXPECT_EQ(parsed("[core]\r\nbare = true\r\n").bare, true);
  EXPECT_EQ(parsed("\xef\xbb\xbf[core]\nbare = 1").bare, true);
  EXPECT_EQ(parsed("[core]\nworktree = a\\\n  b\nbare = true\n").worktree, "a  b");
  EXPECT_EQ(parsed("[core]\nworktree = a\\\n  b\nbare = true\n").bare, true);
  EXPECT_EQ(parsed("[core]\nworktree = \"a\\\"b\\\\c\"\n").worktree, "a\"b\\c");
  EXPECT_EQ(parsed("[core]\nbare = true\nbare = false\n").bare, false);  // the last one holds
  EXPECT_EQ(parsed("[core]\nworktree = x   # c\n").worktree, "x");
}

TEST(GitConfig, other_sections_and_subsections_do_not_count) {
  EXPECT_EQ(parsed("[core \"x\"]\nbare = true\n").bare, std::nullopt);
  EXPECT_EQ(parsed("[core.x]\nbare = true\n").bare, std::nullopt);
  EXPECT_EQ(parsed("[alias]\nbare = true\n").bare, std::nullopt);
  EXPECT_EQ(parsed("bare = true\n").bare, std::nullopt);
  EXPECT_EQ(parsed("[url \"a]b\"]\nbare = true\n[core]\nbare = false\n").bare, false);
  EXPECT_EQ(parsed("[include]\npath = elsewhere\n").bare, std::nullopt);
}

TEST(GitConfig, garbage_is_passed_over_but_not_in_our_keys) {
  parsed(std::string_view("\0\0[[[[\n=\n\"\\", 11));
  parsed("[core");
  parsed("[core]\nworktree = \\");
  parsed("");
  const auto bad = parse_git_config("[core]\n\n  bare = maybe\n", "repo/config");
  ASSERT_FALSE(bad.has_value());
  EXPECT_EQ(bad.error().code, Code::kInvalidConfig);
  EXPECT_NE(bad.error().message.find("repo/config:3"), std::string::npos) << bad.error().message;
  EXPECT_NE(bad.error().message.find("maybe"), std::string::npos);
}

TEST(GitConfig, shared_repository_has_gits_meaning) {
  const auto mode = [](std::string_view value) { return shared_permissions(value, "f").value(); };
  for (const char* off : {"umask", "false", "0", ""}) EXPECT_EQ(mode(off), std::nullopt) << off;
  for (const char* group : {"group", "true", "1", "GROUP"}) EXPECT_EQ(mode(group), 0660u) << group;
  for (const char* all : {"all", "world", "everybody", "2"}) EXPECT_EQ(mode(all), 0664u) << all;
  EXPECT_EQ(mode("0660"), 0660u);
  EXPECT_EQ(mode("0640"), 0640u);
  EXPECT_EQ(mode("0666"), 0666u);
  for (const char* bad : {"0060", "7777777777", "0999", "friends", "-1", "01777"}) {
    const auto refused = shared_permissions(bad, "f");
    ASSERT_FALSE(refused.has_value()) << bad;
    EXPECT_EQ(refused.error().code, Code::kInvalidConfig);
  }
}

TEST(GitFolder, agrees_with_git_about_every_value_it_writes) {
  TestRepository repo;
  repo.init("r");
  repo.git("r", "config core.ignorecase true");
  repo.git("r", "config core.sharedRepository 0640");
  const auto git = git_at(repo.at("r"));
  ASSERT_TRUE(git && *git);
  EXPECT_TRUE((*git)->ignore_case);
  EXPECT_EQ((*git)->shared, 0640u);
  EXPECT_FALSE((*git)->bare);
  EXPECT_EQ((*git)->common_dir, repo.at("r/.git"));
}

TEST(GitFolder, an_empty_dot_git_is_none_a_damaged_one_is_an_error) {
  TestRepository repo;
  repo.folder("empty/.git");
  EXPECT_EQ(git_begins_at(repo.at("empty")).value(), false);
  repo.init("damaged");
  std::filesystem::remove(repo.at("damaged/.git/HEAD"));
  const auto damaged = git_at(repo.at("damaged"));
  ASSERT_FALSE(damaged.has_value());
  EXPECT_EQ(damaged.error().code, Code::kStoreUnavailable);
  EXPECT_NE(damaged.error().message.find("damaged"), std::string::npos);
}

TEST(GitFolder, every_kind_of_broken_git_file_is_a_clear_error) {
  TestRepository repo;
  const std::string nul("gitdir: a\0b", 11);
  const std::map<std::string, std::string> cases = {
      {"text", "hello\n"},
      {"nothing", ""},
      {"no-path", "gitdir: \n"},
      {"gone", "gitdir: ../no\n"},
      {"nul", nul},
      {"huge", std::string(100'000, 'x')},
      {"plain", "gitdir: ..\n"},
      {"self", "gitdir: .git\n"},
  };
  for (const auto& [name, text] : cases) {
    repo.write(name + "/.git", text);
    const auto git = git_at(repo.at(name));
    ASSERT_FALSE(git.has_value()) << name;
    EXPECT_EQ(git.error().code, Code::kStoreUnavailable) << name;
    EXPECT_NE(git.error().message.find(repo.path()), std::string::npos) << git.error().message;
    EXPECT_FALSE(git.error().hint.empty()) << name;
    EXPECT_FALSE(git_begins_at(repo.at(name)).has_value()) << name;
  }
  repo.folder("pipe");
  ASSERT_EQ(::mkfifo(repo.at("pipe/.git").c_str(), 0600), 0);
  EXPECT_FALSE(git_at(repo.at("pipe")).has_value());
  repo.folder("dangling");
  repo.link("nowhere", "dangling/.git");
  EXPECT_FALSE(git_at(repo.at("dangling")).has_value());
}

}  // namespace
}  // namespace lockkeeper::realm
