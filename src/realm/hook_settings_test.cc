#include "realm/hook_settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/json.h"
#include "realm/config.h"
#include "realm/resolve.h"
#include "realm/settings_testing.h"

namespace lockkeeper::realm {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class HookSettings : public SettingsFiles {
 protected:
  Error bad(const std::string& text) {
    shared(text);
    auto settings = load_settings(realm, repo.env());
    EXPECT_FALSE(settings.has_value()) << text;
    if (settings) return {};
    EXPECT_EQ(settings.error().code, Code::kInvalidConfig) << text;
    EXPECT_THAT(settings.error().message, HasSubstr(repo.at("r/lockkeeper.toml:")));
    EXPECT_FALSE(settings.error().hint.empty()) << text;
    return settings.error();
  }

  HookPolicy policy_of(const std::string& path) const {
    const Settings settings = loaded();
    return hook_policy_for(settings, key::parse(path, settings.key_rules(realm))->resource);
  }

  static std::vector<std::string> tools_of(const Settings& settings) {
    std::vector<std::string> tools;
    for (const HookToolRule& rule : settings.hook_tools) tools.push_back(rule.tool);
    return tools;
  }

  // The value of each row of that name.
  static std::vector<std::string> rows_of(const Settings& settings, const std::string& name) {
    std::vector<std::string> values;
    for (const SettingRow& row : settings_rows(settings)) {
      EXPECT_FALSE(Json::parse(row.json, nullptr, false).is_discarded()) << row.json;
      if (row.name == name) values.push_back(row.value);
    }
    return values;
  }
};

// What [hook] ignore = patterns says of a path.
bool ignores(const std::vector<std::string>& patterns, std::string_view path) {
  Settings settings;
  settings.hook_ignore.value = patterns;
  return hook_ignores(settings, path);
}

TEST_F(HookSettings, WithoutFilesTheyAreTheDefaults) {
  const Settings settings = loaded();
  EXPECT_EQ(settings.hook_policy.value, HookPolicy::kWait);
  EXPECT_EQ(settings.hook_wait_ms.value, 5'000);
  EXPECT_EQ(settings.hook_worktrees.value, HookWorktrees::kWarn);
  EXPECT_TRUE(settings.hook_block_on_failure.value);
  EXPECT_FALSE(settings.hook_wake.value);
  EXPECT_THAT(settings.hook_ignore.value,
              ElementsAre(".git/", ".claude/", "node_modules/", "dist/"));
  EXPECT_TRUE(settings.hook_paths.empty());
  EXPECT_TRUE(settings.hook_tools.empty());
}

TEST_F(HookSettings, EveryKeyIsRead) {
  shared(
      "[hook]\npolicy = \"block\"\nwait = \"10s\"\nworktrees = \"off\"\non_failure = \"pass\"\n"
      "wake = true\nignore = []\n[[hook.path]]\npaths = [\"package-lock.json\", \"docs/**\"]\n"
      "policy = \"warn\"\n[hook.tools]\n"
      "\"mcp__notes__save\" = { does = \"edit\", paths = [\"path\", \"to.file\"] }\n"
      "\"mcp__db__*\" = \"nothing\"\n");
  const Settings settings = loaded();
  EXPECT_EQ(settings.hook_policy.value, HookPolicy::kBlock);
  EXPECT_EQ(settings.hook_policy.origin.text(), repo.at("r/lockkeeper.toml:2"));
  EXPECT_EQ(settings.hook_wait_ms.value, 10'000);
  EXPECT_EQ(settings.hook_worktrees.value, HookWorktrees::kOff);
  EXPECT_FALSE(settings.hook_block_on_failure.value);
  EXPECT_TRUE(settings.hook_wake.value);
  EXPECT_TRUE(settings.hook_ignore.value.empty());
  ASSERT_EQ(settings.hook_paths.size(), 1U);
  EXPECT_EQ(settings.hook_paths[0].paths.size(), 2U);
  EXPECT_EQ(settings.hook_paths[0].policy, HookPolicy::kWarn);
  EXPECT_EQ(settings.hook_paths[0].origin.text(), repo.at("r/lockkeeper.toml:8"));
  ASSERT_EQ(settings.hook_tools.size(), 2U);
  EXPECT_EQ(settings.hook_tools[0].tool, "mcp__notes__save");
  EXPECT_EQ(settings.hook_tools[0].does, "edit");
  EXPECT_THAT(settings.hook_tools[0].paths, ElementsAre("path", "to.file"));
  EXPECT_EQ(settings.hook_tools[1].does, "nothing");
  EXPECT_EQ(settings.hook_tools[1].origin.text(), repo.at("r/lockkeeper.toml:13"));
}

TEST_F(HookSettings, EveryWordIsRead) {
  for (const auto& [value, text, meaning] : kHookPolicies) {
    shared("[hook]\npolicy = " + quote(text) +
           "\n[[hook.path]]\npaths = [\"a\"]\npolicy = " + quote(text) + "\n");
    EXPECT_EQ(loaded().hook_policy.value, value) << text;
    EXPECT_EQ(policy_of("a"), value) << text;
  }
  for (const auto& [value, text, meaning] : kHookWorktrees) {
    shared("hook.worktrees = " + quote(text) + "\n");
    EXPECT_EQ(loaded().hook_worktrees.value, value) << text;
  }
  for (const std::string_view does : kHookDoes) {
    shared("[hook.tools]\nx = { paths = [\"p\"], does = " + quote(does) + " }\n");
    EXPECT_EQ(loaded().hook_tools.at(0).does, does);
  }
}

TEST_F(HookSettings, TheFirstRuleThatOverlapsDecides) {
  shared(
      "[[hook.path]]\npaths = [\"docs/api.md\"]\npolicy = \"block\"\n"
      "[[hook.path]]\npaths = [\"docs/**\", \"*.lock\"]\npolicy = \"warn\"\n"
      "[[hook.path]]\npaths = [\"docs/\"]\npolicy = \"off\"\n");
  EXPECT_EQ(policy_of("docs/api.md"), HookPolicy::kBlock);
  EXPECT_EQ(policy_of("docs/a/b.md"), HookPolicy::kWarn);
  EXPECT_EQ(policy_of("yarn.lock"), HookPolicy::kWarn);
  EXPECT_EQ(policy_of("src/a.py"), HookPolicy::kWait) << "none: hook.policy";
}

TEST_F(HookSettings, TheNearestFileIsAskedFirst) {
  const auto rules = [](const std::string& policy, const std::string& tool) {
    return "[[hook.path]]\npaths = [\"" + tool + "1\"]\npolicy = \"off\"\n[[hook.path]]\n" +
           "paths = [\"a\"]\npolicy = \"" + policy + "\"\n[hook.tools]\n" + tool +
           "2 = \"nothing\"\n" + tool + "1 = \"nothing\"\n";
  };
  user(rules("warn", "u"));
  EXPECT_EQ(policy_of("a"), HookPolicy::kWarn);
  shared(rules("ask", "s"));
  EXPECT_EQ(policy_of("a"), HookPolicy::kAsk);
  local(rules("block", "l"));
  EXPECT_EQ(policy_of("a"), HookPolicy::kBlock);
  const Settings settings = loaded();
  EXPECT_THAT(tools_of(settings), ElementsAre("l2", "l1", "s2", "s1", "u2", "u1"));
  std::vector<std::string> paths;
  for (const HookPathRule& rule : settings.hook_paths) paths.push_back(rule.paths[0].text());
  EXPECT_THAT(paths, ElementsAre("l1", "a", "s1", "a", "u1", "a"));
}

// A table of TOML is sorted by name; what was written first must still be asked first.
TEST_F(HookSettings, ToolsKeepTheOrderOfTheFile) {
  shared(
      "[hook.tools]\nzeta = \"shell\"\nalpha = \"nothing\"\n\"*\" = \"nothing\"\n"
      "[hook.tools.mid]\ndoes = \"edit\"\npaths = [\"p\"]\n");
  EXPECT_THAT(tools_of(loaded()), ElementsAre("zeta", "alpha", "*", "mid"));
  shared("hook.tools = { b = \"nothing\", a = \"nothing\" }\n");
  EXPECT_THAT(tools_of(loaded()), ElementsAre("b", "a"));
}

TEST_F(HookSettings, AWrongWordNamesWhatWasExpected) {
  EXPECT_THAT(bad("[hook]\npolicy = \"wiat\"\n").message,
              HasSubstr("lockkeeper.toml:2: hook.policy is \"wiat\", expected \"block\", \"wait\", "
                        "\"warn\", \"ask\" or \"off\""));
  EXPECT_THAT(bad("[hook]\non_failure = true\n").message,
              HasSubstr("hook.on_failure is true, expected \"block\" or \"pass\""));
  EXPECT_THAT(bad("[hook]\nworktrees = \"ask\"\n").message,
              HasSubstr("expected \"warn\", \"block\" or \"off\""));
  EXPECT_THAT(bad("[hook]\nwait = \"11s\"\n").message,
              HasSubstr("hook.wait is \"11s\", expected a duration from 0s to 10s, such as "
                        "\"500ms\" or \"5s\""));
  EXPECT_THAT(bad("[hook]\nwait = \"11s\"\n").hint, HasSubstr("remove it to get the default"));
  EXPECT_THAT(bad("[[protect]]\npaths = \"a\"\n").hint, Not(HasSubstr("default")))
      << "a rule has none";
  EXPECT_THAT(bad("store.durability = \"half\"\n").message,
              HasSubstr("expected \"full\" (survives power loss) or \"process\" (survives kill "
                        "-9)"));
}

TEST_F(HookSettings, GarbageInPathRules) {
  EXPECT_THAT(bad("[[hook.path]]\npolicy = \"off\"\n").message,
              HasSubstr("hook.path.paths is missing or empty"));
  EXPECT_THAT(bad("[[hook.path]]\npaths = [\"a\"]\n").message,
              HasSubstr("hook.path.policy is missing"));
  EXPECT_THAT(bad("[[hook.path]]\npaths = [\"a\"]\npolicy = \"on\"\n").message,
              HasSubstr("lockkeeper.toml:3: hook.path.policy is \"on\""));
  EXPECT_THAT(bad("[[hook.path]]\npath = [\"a\"]\n").hint, HasSubstr("hook.path.paths"));
  EXPECT_THAT(bad("[hook.path]\npaths = [\"a\"]\n").message, HasSubstr("[[hook.path]]"));
  EXPECT_THAT(bad("[[hook.path]]\npaths = [\"db:migration-slot\"]\npolicy = \"off\"\n").message,
              HasSubstr("lockkeeper.toml:2: hook.path.paths is \"db:migration-slot\""));
  for (const char* path : {"../out", "/abs", "", "a\\\\b", "["}) {
    bad("[[hook.path]]\npolicy = \"off\"\npaths = [\"" + std::string(path) + "\"]\n");
  }
  std::string many;
  for (int i = 0; i < 52; ++i) {
    many += "[[hook.path]]\npolicy = \"off\"\npaths = [\"a\", \"b\", \"c\", \"d\", \"e\"]\n";
  }
  EXPECT_THAT(bad(many).message, HasSubstr("260 in this file"));
  std::string rules;
  for (int i = 0; i < 65; ++i) rules += "[[hook.path]]\npolicy = \"off\"\npaths = [\"a\"]\n";
  EXPECT_THAT(bad(rules).message, HasSubstr("at most 64 rules"));
}

TEST_F(HookSettings, GarbageInTools) {
  const auto message = [&](const std::string& line) {
    return bad("[hook.tools]\n" + line).message;
  };
  EXPECT_THAT(message("x = \"write\"\n"),
              HasSubstr("lockkeeper.toml:2: hook.tools.\"x\" is \"write\", expected \"edit\", "
                        "\"replace\", \"patch\", \"shell\" or \"nothing\""));
  EXPECT_THAT(message("x = { does = \"Edit\" }\n"), HasSubstr("hook.tools.\"x\".does is \"Edit\""));
  EXPECT_THAT(message("x = {}\n"), HasSubstr("hook.tools.\"x\".does is missing"));
  EXPECT_THAT(message("x = 3\n"), HasSubstr("hook.tools.\"x\" is 3"));
  EXPECT_THAT(message("x = \"edit\"\n"), HasSubstr("hook.tools.\"x\".paths is missing or empty"));
  EXPECT_THAT(message("x = { does = \"replace\", paths = [] }\n"), HasSubstr("missing or empty"));
  EXPECT_THAT(message("x = { does = \"edit\", paths = \"p\" }\n"),
              HasSubstr("an array of at most"));
  EXPECT_THAT(message("x = { does = \"edit\", paths = [\"\"] }\n"), HasSubstr("paths is \"\""));
  EXPECT_THAT(message("x = { does = \"edit\", paths = [\"a\\u202e\"] }\n"), HasSubstr("hidden"));
  EXPECT_THAT(bad("[hook.tools]\nx = { doe = \"edit\" }\n").hint, HasSubstr("\"x\".does?"));
  EXPECT_THAT(message("\"\" = \"nothing\"\n"), HasSubstr("a tool of hook.tools is \"\""));
  EXPECT_THAT(message("\"a\\u200b\" = \"nothing\"\n"), HasSubstr("hidden characters"));
  EXPECT_THAT(message(std::string(201, 'x') + " = \"nothing\"\n"), HasSubstr("1 to 200 bytes"));
  EXPECT_THAT(bad("hook.tools = 3\n").message, HasSubstr("hook.tools is 3"));
  EXPECT_THAT(bad("[[hook.tools]]\n").message, HasSubstr("a section: [hook.tools]"));
  std::string many;
  for (int i = 0; i < 257; ++i) many += "t" + std::to_string(i) + " = \"nothing\"\n";
  EXPECT_THAT(message(many), HasSubstr("257 tools in this file"));
  shared("[hook.tools]\n" + std::string(200, 'x') +
         " = \"nothing\"\np = \"patch\"\ns = \"shell\"\n");
  EXPECT_EQ(loaded().hook_tools.size(), 3U) << "a patch may be the whole input";
}

TEST_F(HookSettings, B11_ABadPathRuleCanBeLeftOutAlone) {
  shared(
      "[[hook.path]]\npaths = [\"../x\"]\npolicy = \"off\"\n"
      "[[hook.path]]\npaths = [\"a\"]\npolicy = \"block\"\n");
  std::vector<Error> mistakes;
  const auto settings = load_settings(realm, repo.env(), &mistakes);
  ASSERT_TRUE(settings.has_value());
  EXPECT_EQ(mistakes.size(), 1U);
  EXPECT_TRUE(settings->partial);
  ASSERT_EQ(settings->hook_paths.size(), 1U);
  EXPECT_EQ(settings->hook_paths[0].policy, HookPolicy::kBlock);
}

TEST_F(HookSettings, ConfigShowHasOneRowForEach) {
  shared(
      "[[hook.path]]\npaths = [\"docs/**\", \"a\"]\npolicy = \"warn\"\n[hook.tools]\n"
      "\"mcp__x__*\" = { paths = [\"path\"], does = \"edit\" }\ny = \"nothing\"\n");
  const Settings settings = loaded();
  EXPECT_THAT(rows_of(settings, "hook.policy"), ElementsAre("\"wait\""));
  EXPECT_THAT(rows_of(settings, "hook.on_failure"), ElementsAre("\"block\""));
  EXPECT_THAT(rows_of(settings, "hook.path"),
              ElementsAre("paths = [\"docs/**\", \"a\"], policy = \"warn\""));
  EXPECT_THAT(rows_of(settings, "hook.tools"),
              ElementsAre("\"mcp__x__*\" = { does = \"edit\", paths = [\"path\"] }",
                          "\"y\" = { does = \"nothing\" }"));
  for (const SettingRow& row : settings_rows(settings)) {
    const Json json = Json::parse(row.json);
    if (row.name == "hook.path") {
      EXPECT_EQ(json["policy"], "warn");
    }
    if (row.name == "hook.ignore") {
      EXPECT_EQ(json.size(), 4U);
    }
  }
}

TEST(HookIgnore, ANameMatchesAtAnyDepth) {
  for (const char* path : {"dist/a", "a/dist/b/c", "dist/", "x/dist/"}) {
    EXPECT_TRUE(ignores({"dist/"}, path)) << path;
    EXPECT_TRUE(ignores({"dist"}, path)) << path;
  }
  for (const char* path : {"dist", "a/dist"}) {
    EXPECT_FALSE(ignores({"dist/"}, path)) << "a file of that name: " << path;
    EXPECT_TRUE(ignores({"dist"}, path)) << path;
  }
  for (const char* path : {"distant/a", "a/my-dist/b", "Dist/a", "a"}) {
    EXPECT_FALSE(ignores({"dist/", "dist"}, path)) << path;
  }
  EXPECT_TRUE(ignores({"x", "dist/"}, "dist/a")) << "any of them";
  EXPECT_FALSE(ignores({}, "dist/a"));
}

TEST(HookIgnore, WithASlashItIsFromTheRoot) {
  for (const char* pattern : {"/out", "/out/"}) {
    EXPECT_TRUE(ignores({pattern}, "out/a")) << pattern;
    EXPECT_FALSE(ignores({pattern}, "a/out/b")) << pattern;
  }
  EXPECT_TRUE(ignores({"/out"}, "out"));
  EXPECT_FALSE(ignores({"/out/"}, "out"));
  EXPECT_TRUE(ignores({"a/b"}, "a/b"));
  EXPECT_TRUE(ignores({"a/b"}, "a/b/c/d"));
  EXPECT_TRUE(ignores({"a/b/"}, "a/b/c"));
  for (const char* path : {"x/a/b", "a", "a/bc", "a/x/b"}) {
    EXPECT_FALSE(ignores({"a/b", "a/b/"}, path)) << path;
  }
}

TEST(HookIgnore, StarsStayWithinAName) {
  EXPECT_TRUE(ignores({"*.min.js"}, "web/a.min.js"));
  EXPECT_TRUE(ignores({"docs/*.md"}, "docs/a.md"));
  EXPECT_FALSE(ignores({"docs/*.md"}, "docs/a/b.md"));
  EXPECT_FALSE(ignores({"a*b/"}, "a/b/c"));
  EXPECT_TRUE(ignores({"v?"}, "v1/x"));
  EXPECT_FALSE(ignores({"v?"}, "v10/x"));
  EXPECT_TRUE(ignores({"[slug]"}, "app/[slug]/page.tsx")) << "brackets are themselves";
  EXPECT_TRUE(ignores({"*"}, "a"));
}

// Such a path may lead anywhere: to ignore it would let an edit of a held file pass.
TEST(HookIgnore, APathThatIsNotCleanIsNotIgnored) {
  for (const char* path : {"dist/../src/a.py", "../dist/a", "/dist/a", "./dist/a", "", ".", "/"}) {
    EXPECT_FALSE(ignores({"dist/", "*"}, path)) << path;
  }
}

TEST(HookIgnore, APatternThatMeansSomethingElseInGitignoreIsRefused) {
  for (const char* good : {"a", "a/", "/a", "a/b", "/a/b/", "*", "?", ".git/", "[x]", "#a", "é"}) {
    EXPECT_TRUE(is_ignore_pattern(good)) << good;
  }
  for (const char* bad : {"", "/", "//", "a//b", "//a", "..", "a/../b", "./a", ".", "**", "a/**",
                          "**/a", "!a", "a\\b", "a\nb", "a\u202e", "\xff"}) {
    EXPECT_FALSE(is_ignore_pattern(bad)) << bad;
  }
  EXPECT_TRUE(is_ignore_pattern(std::string(kHookIgnoreBytesMax, 'a')));
  EXPECT_FALSE(is_ignore_pattern(std::string(kHookIgnoreBytesMax + 1, 'a')));
}

TEST_F(HookSettings, ABadIgnorePatternIsNamed) {
  EXPECT_THAT(bad("[hook]\nignore = [\n\"dist/\",\n\"a/**\"]\n").message,
              HasSubstr("lockkeeper.toml:4: hook.ignore is \"a/**\", expected names"));
  std::string many = "hook.ignore = [";
  for (int i = 0; i < 65; ++i) many += "\"p" + std::to_string(i) + "\",";
  EXPECT_THAT(bad(many + "]\n").message, HasSubstr("65 entries"));
}

TEST_F(HookSettings, WorktreesHaveTheSamePatterns) {
  const Settings defaults = loaded();
  EXPECT_TRUE(matches_ignore_patterns(defaults.worktrees_copy.value, "web/.env.local"));
  EXPECT_TRUE(defaults.worktrees_link.value.empty());
  shared("[worktrees]\ncopy = []\nlink = [\"node_modules/\", \"/.venv\"]\n");
  const Settings settings = loaded();
  EXPECT_TRUE(settings.worktrees_copy.value.empty());
  EXPECT_TRUE(matches_ignore_patterns(settings.worktrees_link.value, "web/node_modules/"));
  EXPECT_FALSE(matches_ignore_patterns(settings.worktrees_link.value, "web/.venv/"));
  EXPECT_THAT(bad("[worktrees]\ncopy = [\"../secrets\"]\n").message,
              HasSubstr("lockkeeper.toml:2: worktrees.copy is \"../secrets\", expected names"));
  EXPECT_THAT(bad("[worktrees]\nlinks = []\n").hint, HasSubstr("link"));
}

}  // namespace
}  // namespace lockkeeper::realm
