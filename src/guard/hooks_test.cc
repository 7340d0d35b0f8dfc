#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "base/fd.h"
#include "git/config_block.h"
#include "git/hooks_folder.h"
#include "guard/arming.h"
#include "guard/head_log.h"
#include "guard/own_hooks.h"
#include "realm/test_repository.h"

namespace lockkeeper::guard {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;
using testing::Pair;
using testing::UnorderedElementsAre;

namespace fs = std::filesystem;

class GuardHooks : public testing::Test {
 protected:
  GuardHooks() { files_.init("repo"); }
  std::string folder(git::Hooks hooks = git::Hooks::kUsual) const {
    return git::hooks_folder(files_.env(), hooks).value();
  }
  Repository repository() const { return repository_of(files_.at("repo"), files_.env()).value(); }
  std::string own_folder() const {
    return own_hooks_folder(repository(), files_.env(), "").value();
  }

  realm::TestRepository files_;
};

TEST_F(GuardHooks, EveryHookThatGitKnowsIsThereForThisUserAlone) {
  ASSERT_TRUE(git::make_hooks_folders(files_.env(), "/bin/true"));
  struct stat info{};
  ASSERT_EQ(::stat(folder().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777U, 0500U);
  std::vector<std::string> usual;
  for (const auto& entry : fs::directory_iterator(folder())) {
    usual.push_back(entry.path().filename().string());
    ASSERT_EQ(::stat(entry.path().c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 07777U, 0500U);
  }
  EXPECT_THAT(usual, Contains("pre-commit"));
  EXPECT_THAT(usual, Contains("update"));
  EXPECT_THAT(usual, Not(Contains("reference-transaction")));
  EXPECT_TRUE(fs::exists(folder(git::Hooks::kAll) + "/reference-transaction"));
  EXPECT_TRUE(git::is_hooks_folder(files_.env(), folder()));
  EXPECT_FALSE(git::is_hooks_folder(files_.env(), files_.at("repo")));
  ASSERT_TRUE(git::remove_hooks_folders(files_.env()));
  EXPECT_FALSE(fs::exists(folder()));
  EXPECT_TRUE(git::remove_hooks_folders(files_.env()));
}

TEST_F(GuardHooks, AHookStartsTheProgramWithoutAShellWhereItCan) {
  EXPECT_EQ(git::hook_text("/usr/bin/lockkeeper"), "#!/usr/bin/lockkeeper git-hook\n");
  for (const std::string& program :
       {std::string("/usr/bin/lockkeeper"), std::string("/a b/it's/lockkeeper"),
        "/" + std::string(300, 'x')}) {
    EXPECT_EQ(git::program_of_hook(git::hook_text(program)), program);
  }
  EXPECT_EQ(git::program_of_hook("#!/bin/sh\necho\n"), "");
  EXPECT_EQ(git::program_of_hook(""), "");
}

TEST_F(GuardHooks, OnlyAnInstallMovesThemToAnotherProgram) {
  ASSERT_TRUE(git::keep_hooks_folders(files_.env(), "/bin/true"));
  ASSERT_TRUE(git::keep_hooks_folders(files_.env(), "/bin/false"));
  const auto text = [&] { return read_file(folder() + "/pre-commit").value_or(""); };
  EXPECT_EQ(text(), "#!/bin/true git-hook\n");
  ASSERT_TRUE(git::make_hooks_folders(files_.env(), "/bin/false"));
  EXPECT_EQ(text(), "#!/bin/false git-hook\n");
  ASSERT_TRUE(git::make_hooks_folders(files_.env(), "/no/such/program"));
  ASSERT_TRUE(git::keep_hooks_folders(files_.env(), "/bin/true"));
  EXPECT_EQ(text(), "#!/bin/true git-hook\n");
  EXPECT_FALSE(git::make_hooks_folders(files_.env(), "relative"));
}

// As hook managers do it: ours is renamed, theirs is written.
TEST_F(GuardHooks, EveryFileOfTheFolderIsCheckedAndRepaired) {
  ASSERT_TRUE(git::keep_hooks_folders(files_.env(), "/bin/true"));
  EXPECT_EQ(git::hooks_folders_trouble(files_.env()), "");
  const std::string hook = folder() + "/prepare-commit-msg";
  fs::permissions(folder(), fs::perms::owner_all);
  EXPECT_THAT(git::hooks_folders_trouble(files_.env()), testing::HasSubstr("not read-only"));
  fs::rename(hook, hook + ".old");
  ASSERT_TRUE(replace_file_durably(hook, "#!/bin/sh\n", {.mode = 0755, .uid = {}, .gid = {}}));
  fs::remove(folder() + "/update");
  fs::create_directory(folder() + "/update");
  fs::permissions(folder(), fs::perms::owner_read | fs::perms::owner_exec);
  EXPECT_THAT(git::hooks_folders_trouble(files_.env()), testing::HasSubstr("is not ours"));
  ASSERT_TRUE(git::keep_hooks_folders(files_.env(), "/bin/false"));
  EXPECT_EQ(git::hooks_folders_trouble(files_.env()), "");
  EXPECT_EQ(read_file(hook).value_or(""), "#!/bin/true git-hook\n") << "the program stays";
  EXPECT_FALSE(fs::exists(hook + ".old"));
}

TEST_F(GuardHooks, DisarmingTakesOutOursAlone) {
  std::map<std::string, std::string> values = {{"HOME", files_.at("home")},
                                               {"GIT_CONFIG_COUNT", "3"},
                                               {"GIT_CONFIG_KEY_0", "user.name"},
                                               {"GIT_CONFIG_VALUE_0", "x"},
                                               {"GIT_CONFIG_KEY_1", "core.hooksPath"},
                                               {"GIT_CONFIG_VALUE_1", folder()},
                                               {"GIT_CONFIG_KEY_2", "user.email"},
                                               {"GIT_CONFIG_VALUE_2", "y"}};
  const auto less = disarming(realm::environment_of(values), "");
  EXPECT_EQ(less.at("GIT_CONFIG_COUNT"), "2");
  EXPECT_EQ(less.at("GIT_CONFIG_KEY_1"), "user.email");
  EXPECT_EQ(less.at("GIT_CONFIG_VALUE_1"), "y");
  EXPECT_EQ(less.at("GIT_CONFIG_KEY_2"), std::nullopt);
  values["GIT_CONFIG_VALUE_1"] = "/of/somebody";
  EXPECT_THAT(disarming(realm::environment_of(values), ""), IsEmpty());
  EXPECT_EQ(disarming(realm::environment_of(values), "/of/somebody").at("GIT_CONFIG_COUNT"), "2");
  const auto none = disarming(realm::environment_of({{"GIT_CONFIG_COUNT", "1"},
                                                     {"GIT_CONFIG_KEY_0", "core.hookspath"},
                                                     {"GIT_CONFIG_VALUE_0", "/h"}}),
                              "/h");
  EXPECT_EQ(none.at("GIT_CONFIG_COUNT"), std::nullopt);
}

TEST_F(GuardHooks, ArmingAddsToWhatTheEnvironmentHas) {
  const auto armed = arming(files_.env(), files_.at("repo"), "/bin/true");
  ASSERT_TRUE(armed);
  EXPECT_THAT(*armed, UnorderedElementsAre(Pair("GIT_CONFIG_COUNT", "1"),
                                           Pair("GIT_CONFIG_KEY_0", "core.hooksPath"),
                                           Pair("GIT_CONFIG_VALUE_0", folder())));
  std::map<std::string, std::string> values = {{"HOME", files_.at("home")},
                                               {"GIT_CONFIG_COUNT", "1"},
                                               {"GIT_CONFIG_KEY_0", "user.name"},
                                               {"GIT_CONFIG_VALUE_0", "x"}};
  const auto more = arming(realm::environment_of(values), files_.at("repo"), "/bin/true");
  ASSERT_TRUE(more);
  EXPECT_THAT(*more, Contains(Pair("GIT_CONFIG_VALUE_1", folder())));
  values.insert(more->begin(), more->end());
  values["GIT_CONFIG_COUNT"] = "2";
  const auto again = arming(realm::environment_of(values), files_.at("repo"), "/bin/true");
  ASSERT_TRUE(again);
  EXPECT_THAT(*again, IsEmpty());
  values["GIT_CONFIG_COUNT"] = "many";
  EXPECT_FALSE(arming(realm::environment_of(values), files_.at("repo"), "/bin/true"));
  const std::string lines = arming_lines(*armed, "", "export X=1");
  EXPECT_EQ(lines.substr(0, 28), "\nexport GIT_CONFIG_COUNT=1\ne");
  EXPECT_EQ(arming_lines(*armed, "", "export X=1" + lines), "");
}

TEST_F(GuardHooks, TheRepositorysOwnHooks) {
  EXPECT_EQ(own_folder(), files_.at("repo/.git/hooks"));
  files_.git("repo", "config core.hooksPath .husky/_");
  EXPECT_EQ(own_folder(), files_.at("repo/.husky/_"));
  files_.git("repo", "config core.hooksPath " + folder());
  EXPECT_EQ(own_folder(), files_.at("repo/.git/hooks"));
  files_.git("repo", "config --unset core.hooksPath");
  files_.write("repo/.git/more", "[core]\n\thooksPath = /elsewhere\n");
  files_.git("repo", "config include.path more");
  EXPECT_EQ(own_folder(), "/elsewhere");
  files_.git("repo", "worktree add ../w");
  const auto linked = repository_of(files_.at("w"), files_.env());
  ASSERT_TRUE(linked);
  EXPECT_EQ(linked->git_folder, files_.at("repo/.git/worktrees/w"));
  EXPECT_EQ(linked->common, files_.at("repo/.git"));
}

TEST_F(GuardHooks, TheBlockInTheConfigGoesWithoutATrace) {
  for (const std::string& before :
       {std::string(), std::string("[core]\n\tbare = false\n"), std::string("[core]")}) {
    const std::string with = git::with_config_block(before);
    EXPECT_TRUE(git::has_config_block(with));
    EXPECT_EQ(git::with_config_block(with), with);
    EXPECT_EQ(git::without_config_block(with), before);
    EXPECT_EQ(git::without_config_block(with + "[x]\n"), before + "[x]\n");
  }
  EXPECT_FALSE(git::has_config_block("[include]\n"));
  // A line that somebody has added to our section does not come into another one.
  EXPECT_EQ(git::without_config_block(git::with_config_block("[user]\n") + "# x\n\tpath = more\n"),
            "[user]\n[includeIf \"gitdir:/**\"]\n# x\n\tpath = more\n");
}

TEST_F(GuardHooks, TheBlockWinsOverWhatIsSetLaterAndOurHooksStillFindThat) {
  files_.git("repo", "config core.hooksPath .husky/_");
  const std::string config = files_.at("repo/.git/config");
  ASSERT_TRUE(replace_file_durably(config, git::with_config_block(read_file(config).value())));
  files_.write("repo/.git/" + std::string(git::kIncludedConfig), git::included_text(folder()));
  files_.git("repo", "config core.hooksPath .other");
  files_.git("repo", "config --get core.hooksPath > ../said");
  const auto effective = [&] {
    const auto reader = git::Reader::open(files_.at("repo"), {.reads_files = false});
    const auto all = reader->ask({"config", "--local", "--includes", "--get", "core.hooksPath"});
    return all.value_or("");
  };
  EXPECT_EQ(effective(), folder() + "\n");
  EXPECT_EQ(own_folder(), files_.at("repo/.other"));
  files_.git("repo", "config include.path more");
  EXPECT_EQ(effective(), folder() + "\n");
  EXPECT_TRUE(git::has_config_block(read_file(config).value()));
}

TEST(GuardHeadLog, TellsHowHeadMoved) {
  using How = Move::How;
  const auto moves = moves_in(
      "0 1 t <t@example.org> 1 +0000\tcommit (initial): a\n"
      "1 2 t <t@example.org> 1 +0000\tmerge topic: Fast-forward\n"
      "2 3 t <t@example.org> 1 +0000\tcommit (amend): c\n"
      "3 4 t <t@example.org> 1 +0000\trebase (start): checkout x\n"
      "4 5 t <t@example.org> 1 +0000\treset: moving to commit: x\n"
      "5 1 t <t@example.org> 7 +0000\n");
  std::vector<How> how;
  for (const Move& move : moves) how.push_back(move.how);
  EXPECT_THAT(how, ElementsAre(How::kCommit, How::kReplay, How::kAmended, How::kReplay, How::kOther,
                               How::kOther));
  EXPECT_TRUE(moves[3].rewrites);
  EXPECT_EQ(moves[5].at_s, 7);
  EXPECT_EQ(moves_after(moves, "4").size(), 2U);
  EXPECT_THAT(moves_after(moves, "1"), IsEmpty());
  EXPECT_THAT(moves_after(moves, "unknown"), IsEmpty());
  EXPECT_THAT(moves_after(moves, ""), IsEmpty());
}

}  // namespace
}  // namespace lockkeeper::guard
