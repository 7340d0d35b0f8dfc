#include "install/plan.h"

#include <nlohmann/json.hpp>

#include "install/entry.h"
#include "install/install_testing.h"
#include "install/toml_edit.h"

namespace lockkeeper::install {
namespace {

constexpr Scope kAllScopes[] = {Scope::kUser, Scope::kProject, Scope::kShared};

std::vector<Client> everybody() {
  std::vector<Client> clients;
  for (const ClientFacts& facts : all_clients()) clients.push_back(facts.client);
  return clients;
}

class Installed : public InstallTest {
 protected:
  Json json(const std::string& name) const {
    const auto document = Jsonc::parse(read(name), name);
    EXPECT_TRUE(document) << document.error().message;
    return document ? document->value(document->root()) : Json();
  }
};

TEST_F(Installed, UninstallLeavesNoTrace) {
  const auto before = everything();
  for (const Scope scope : kAllScopes) {
    for (const Client client : everybody()) {
      install(request({client}, scope));
      EXPECT_NE(everything(), before);
      uninstall(request({client}, scope));
      EXPECT_EQ(everything(), before) << facts_of(client).name << " " << scope_name(scope);
    }
    install(request(everybody(), scope));
    uninstall(request(everybody(), scope));
    EXPECT_EQ(everything(), before) << "all " << scope_name(scope);
  }
}

TEST_F(Installed, UninstallRestoresEveryByteOfWhatWasThere) {
  const std::string settings =
      "\xEF\xBB\xBF// mine\r\n{\r\n\t\"model\": \"x\", // why\r\n\t\"hooks\": {\r\n\t\t\"Stop\": [ "
      "{\"hooks\": [{\"type\": \"command\", \"command\": \"say done\"}]}, ],\r\n\t},\r\n}";
  write("home/.claude/settings.json", settings);
  write("repo/.claude/settings.local.json", settings);
  write("home/.claude.json", "{\"numStartups\":3,\"projects\":{}}");
  write("home/.codex/hooks.json", "{ \"hooks\": { } }");
  write("home/.codex/config.toml", "model = \"x\" # mine\n[mcp_servers.other]\ncommand = 'c'");
  write("home/.gemini/settings.json", "");
  write("home/.copilot/mcp-config.json", "{\n    \"mcpServers\": {}\n}\n");
  write("home/.config/opencode/opencode.jsonc", "{\n  // mine\n}\n");
  write("home/.cursor/hooks.json", "{\"version\": 1, \"hooks\": {}}\n");
  write("repo/.git/info/exclude", "*.o");
  const auto before = everything();
  for (const Scope scope : kAllScopes) {
    install(request(everybody(), scope));
    uninstall(request(everybody(), scope));
    EXPECT_EQ(everything(), before) << scope_name(scope);
  }
  // One after the other, and out again in another order.
  for (const Client client : everybody()) install(request({client}, Scope::kProject));
  for (const Client client : everybody()) uninstall(request({client}, Scope::kProject));
  EXPECT_EQ(everything(), before);
}

TEST_F(Installed, OfAFileThatHasChangedOnlyOurEntriesAreRemoved) {
  write("home/.claude/settings.json", "{\n  \"hooks\": {}\n}\n");
  install(request({Client::kClaude}, Scope::kUser));
  Jsonc document = *Jsonc::parse(read("home/.claude/settings.json"), "");
  ASSERT_TRUE(document.set({"model"}, "opus"));
  ASSERT_TRUE(document.append({"hooks", "Stop"}, {{"hooks", {{{"command", "mine"}}}}}));
  ASSERT_TRUE(document.append({"hooks", "PreToolUse", std::size_t{0}, "hooks"},
                              {{"type", "command"}, {"command", "also mine"}}));
  write("home/.claude/settings.json", document.text());
  uninstall(request({Client::kClaude}, Scope::kUser));
  const Json left = json("home/.claude/settings.json");
  EXPECT_EQ(left["model"], "opus");
  EXPECT_EQ(left["hooks"].size(), 2U) << left;
  EXPECT_EQ(left["hooks"]["Stop"][0]["hooks"][0]["command"], "mine");
  EXPECT_EQ(left["hooks"]["PreToolUse"][0]["hooks"].size(), 1U);
  EXPECT_FALSE(read("home/.claude/settings.json").contains("lockkeeper"));
}

TEST_F(Installed, WhatWasEmptyBeforeUsStaysEmpty) {
  write("home/.gemini/settings.json", "{\n  \"hooks\": {},\n  \"ui\": 1\n}\n");
  install(request({Client::kGemini}, Scope::kUser));
  Jsonc document = *Jsonc::parse(read("home/.gemini/settings.json"), "");
  ASSERT_TRUE(document.set({"ui"}, 2));
  write("home/.gemini/settings.json", document.text());
  uninstall(request({Client::kGemini}, Scope::kUser));
  EXPECT_EQ(read("home/.gemini/settings.json"), "{\n  \"hooks\": {},\n  \"ui\": 2\n}\n");
}

TEST_F(Installed, AnOlderEntryIsReplacedAndNeverDoubled) {
  for (const Scope scope : {Scope::kUser, Scope::kProject}) {
    install({everybody(), scope, "/old/lockkeeper"});
    const auto old = everything();
    install(request(everybody(), scope));
    for (const auto& [name, text] : everything()) {
      if (name.contains("/backups/")) continue;
      EXPECT_FALSE(text.contains("/old/")) << name << "\n" << text;
    }
    uninstall(request(everybody(), scope));
    for (const auto& [name, text] : everything()) {
      EXPECT_FALSE(text.contains("lockkeeper")) << name << "\n" << text;
    }
  }
}

TEST_F(Installed, HooksOfEventsThatAreNotNeededAnyMoreGo) {
  const std::string ours = R"({"type":"command","command":"/old/lockkeeper hook claude"})";
  write("home/.claude/settings.json", R"({"hooks":{"FileChanged":[{"hooks":[)" + ours +
                                          R"(]}],"Stop":[{"hooks":[)" + ours +
                                          R"(,{"type":"command","command":"mine"},)" + ours +
                                          R"(]},{"hooks":[)" + ours + R"(]}]}})");
  install(request({Client::kClaude}, Scope::kUser));
  const Json hooks = json("home/.claude/settings.json")["hooks"];
  EXPECT_FALSE(hooks.contains("FileChanged"));
  ASSERT_EQ(hooks["Stop"].size(), 3U) << hooks["Stop"];
  EXPECT_EQ(hooks["Stop"][0]["hooks"], Json::parse(R"([{"type":"command","command":"mine"}])"));
  EXPECT_EQ(hooks["Stop"][1]["hooks"][0]["command"], program_);
}

TEST_F(Installed, ClaudeHasItsHooksAndItsServer) {
  install(request({Client::kClaude}, Scope::kUser));
  const Json hook = json("home/.claude/settings.json")["hooks"]["PreToolUse"][0]["hooks"][0];
  EXPECT_EQ(hook["command"], program_);
  EXPECT_EQ(hook["args"], Json({"hook", "claude"}));
  EXPECT_EQ(hook["onFailure"], "block");
  EXPECT_FALSE(
      json("home/.claude/settings.json")["hooks"]["Stop"][0]["hooks"][0].contains("onFailure"))
      << "a failure elsewhere must not end the turn";
  EXPECT_EQ(json("home/.claude.json")["mcpServers"]["lockkeeper"]["command"], program_);
  EXPECT_EQ(mode("home/.claude/settings.json"), 0600U);
  EXPECT_EQ(mode("home/.claude"), 0700U);

  install(request({Client::kClaude}, Scope::kProject));
  const Json local = json("repo/.claude/settings.local.json")["hooks"]["PreToolUse"][0]["hooks"][0];
  EXPECT_EQ(local["command"], program_ + " hook claude") << "Copilot reads this file without args";
  EXPECT_FALSE(local.contains("args"));
  const Json project = json("home/.claude.json")["projects"][at("repo")];
  EXPECT_EQ(project["mcpServers"]["lockkeeper"]["args"], Json({"mcp"}));

  install(request({Client::kClaude}, Scope::kShared));
  EXPECT_FALSE(read("repo/.claude/settings.json").contains("/lockkeeper"))
      << "no path of a machine";
  EXPECT_FALSE(read("repo/.mcp.json").contains("/lockkeeper"));
  EXPECT_EQ(mode("repo/.mcp.json"), 0644U);
}

TEST_F(Installed, TheServerOfEachProjectIsItsOwn) {
  install(request({Client::kClaude}, Scope::kUser));
  install(request({Client::kClaude}, Scope::kProject));
  write("home/.claude.json", read("home/.claude.json") + "\n");  // Claude Code has written it
  uninstall(request({Client::kClaude}, Scope::kUser));
  const Json left = json("home/.claude.json");
  EXPECT_FALSE(left.contains("mcpServers")) << left;
  EXPECT_TRUE(left["projects"][at("repo")]["mcpServers"].contains("lockkeeper")) << left;
  uninstall(request({Client::kClaude}, Scope::kProject));
  EXPECT_FALSE(read("home/.claude.json").contains("lockkeeper"));
}

TEST_F(Installed, AServerUnderAnotherNameIsNotDoubled) {
  const std::string text = R"({"mcpServers":{"lock":{"command":"lockkeeper","args":["mcp"]}}})";
  write("home/.claude.json", text);
  const Plan plan = planned(request({Client::kClaude}, Scope::kUser));
  ASSERT_EQ(plan.notes.size(), 1U);
  EXPECT_EQ(plan.notes[0],
            at("home/.claude.json") +
                " starts Lockkeeper's MCP server already, as lock; it was left as it "
                "is");
  install(request({Client::kClaude}, Scope::kUser));
  EXPECT_EQ(read("home/.claude.json"), text);

  write("home/.cursor/mcp.json", R"({"mcpServers":{"lockkeeper":{"url":"https://x"}}})");
  install(request({Client::kCursor}, Scope::kUser));
  EXPECT_EQ(read("home/.cursor/mcp.json"), R"({"mcpServers":{"lockkeeper":{"url":"https://x"}}})");
}

TEST_F(Installed, WhatTheUserAddedToOurServerStays) {
  install({{Client::kGemini, Client::kCodex}, Scope::kUser, "/old/lockkeeper"});
  Jsonc document = *Jsonc::parse(read("home/.gemini/settings.json"), "");
  ASSERT_TRUE(document.set({"mcpServers", "lockkeeper", "trust"}, true));
  ASSERT_TRUE(document.append({"mcpServers", "lockkeeper", "args"}, "--agent=me"));
  write("home/.gemini/settings.json", document.text());
  write("home/.codex/config.toml", read("home/.codex/config.toml") + "startup_timeout_sec = 9\n");
  install(request({Client::kGemini, Client::kCodex}, Scope::kUser));
  const Json server = json("home/.gemini/settings.json")["mcpServers"]["lockkeeper"];
  EXPECT_EQ(server["trust"], true);
  EXPECT_EQ(server["args"], Json({"mcp", "--agent=me"}));
  EXPECT_EQ(server["command"], program_);
  const Json toml = *toml_as_json(read("home/.codex/config.toml"), "");
  EXPECT_EQ(toml["mcp_servers"]["lockkeeper"]["startup_timeout_sec"], 9);
  EXPECT_EQ(toml["mcp_servers"]["lockkeeper"]["command"], program_);
}

TEST_F(Installed, LocalFilesAreHiddenFromGit) {
  install(request({Client::kGemini}, Scope::kProject));
  install(request({Client::kCursor}, Scope::kProject));
  EXPECT_TRUE(read("repo/.git/info/exclude")
                  .ends_with("/.gemini/settings.json\n/.cursor/hooks.json\n/.cursor/mcp.json\n"));
  place_.git("repo", "add -A");
  place_.git("repo", "diff --cached --quiet");  // nothing was added
  uninstall(request({Client::kGemini}, Scope::kProject));
  EXPECT_TRUE(read("repo/.git/info/exclude").ends_with("/.cursor/hooks.json\n/.cursor/mcp.json\n"));
  EXPECT_FALSE(read("repo/.git/info/exclude").contains(".gemini"));
}

TEST_F(Installed, ALineThatIsIgnoredAlreadyIsNotAddedOrRemoved) {
  write("repo/.gitignore", ".gemini/\n");
  const std::string before = read("repo/.git/info/exclude");
  install(request({Client::kGemini}, Scope::kProject));
  EXPECT_EQ(read("repo/.git/info/exclude"), before);
}

TEST_F(Installed, AWorktreeUsesTheExcludeFileOfItsRepository) {
  place_.git("repo", "worktree add ../tree -b tree");
  const auto there = look_at_machine(
      realm::environment_of({{"HOME", at("home")}, {"PATH", "/usr/bin:/bin"}}), at("tree"));
  ASSERT_TRUE(there) << there.error().message;
  const auto plan = plan_install(*there, request({Client::kCodex}, Scope::kProject));
  ASSERT_TRUE(plan) << plan.error().message;
  ASSERT_TRUE(carry_out(*there, *plan));
  EXPECT_TRUE(read("repo/.git/info/exclude").contains("/.codex/hooks.json\n"));
  place_.git("tree", "add -A");
  place_.git("tree", "diff --cached --quiet");
}

TEST_F(Installed, APathOfThisMachineIsNotPutIntoACommittedFile) {
  write("repo/.gemini/settings.json", "{}\n");
  place_.git("repo", "add -A");
  EXPECT_EQ(
      refused(request({Client::kGemini}, Scope::kProject)),
      at("repo/.gemini/settings.json") + " is committed, and would name a program of this machine");
  EXPECT_EQ(refused(request({Client::kGemini}, Scope::kShared)), "planned");
}

TEST_F(Installed, ASymlinkIsFollowedInsideTheHomeFolderOnly) {
  write("home/dotfiles/claude.json", "{\n  \"model\": \"x\"\n}\n");
  place_.link("../dotfiles/claude.json", "home/.claude/settings.json");
  const auto before = everything();
  install(request({Client::kClaude}, Scope::kUser));
  EXPECT_TRUE(std::filesystem::is_symlink(at("home/.claude/settings.json")));
  EXPECT_TRUE(read("home/dotfiles/claude.json").contains("lockkeeper"));
  uninstall(request({Client::kClaude}, Scope::kUser));
  EXPECT_EQ(everything(), before);

  write("elsewhere/hooks.json", "{}");
  place_.link(at("elsewhere/hooks.json"), "home/.cursor/hooks.json");
  EXPECT_EQ(refused(request({Client::kCursor}, Scope::kUser)),
            at("home/.cursor/hooks.json") + " leads by a symlink to " + at("elsewhere/hooks.json") +
                ", outside of the home folder and the repository");
  place_.link(at("elsewhere"), "repo/.codex");
  EXPECT_TRUE(refused(request({Client::kCodex}, Scope::kShared)).contains("leads by a symlink"));
  place_.link("nowhere", "home/.gemini/settings.json");
  EXPECT_EQ(refused(request({Client::kGemini}, Scope::kUser)),
            at("home/.gemini/settings.json") + " is a symlink that leads nowhere");
}

TEST_F(Installed, AnEnabledPluginIsEnough) {
  write("repo/.claude/settings.json", R"({"enabledPlugins":{"lockkeeper@shop":true,"x@y":true}})");
  const auto plan = plan_install(machine(), request({Client::kClaude}, Scope::kUser));
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().code, Code::kOperationNotPermitted);
  EXPECT_EQ(plan.error().hint,
            "keep the plugin, or disable it first: claude plugin disable lockkeeper@shop");
  write("repo/.claude/settings.json", R"({"enabledPlugins":{"lockkeeper@shop":false}})");
  EXPECT_EQ(refused(request({Client::kClaude}, Scope::kUser)), "planned");
}

TEST_F(Installed, AFileThatCannotBeReadIsNotChanged) {
  write("home/.claude/settings.json", "{\n  \"hooks\": [\n}\n");
  const auto before = everything();
  EXPECT_EQ(refused(request(everybody(), Scope::kUser)),
            at("home/.claude/settings.json") + ":3:1: not JSON: not a value");
  write("home/.claude/settings.json", "{\n  \"hooks\": []\n}\n");
  EXPECT_EQ(refused(request(everybody(), Scope::kUser)),
            at("home/.claude/settings.json") + ":2:12: hooks is not an object");
  write("home/.config/opencode/plugins/lockkeeper.js", "// somebody's\n");
  EXPECT_EQ(refused(request({Client::kOpencode}, Scope::kUser)),
            at("home/.config/opencode/plugins/lockkeeper.js") +
                " is there, and was not written by Lockkeeper");
}

TEST_F(Installed, IfOneFileFailsThoseBeforeItAreRestored) {
  write("home/.claude/settings.json", "{}");
  write("home/.copilot/hooks", "a file where a folder must be");
  const auto before = everything();
  const auto done = carry_out(
      machine(),
      planned(request({Client::kClaude, Client::kCodex, Client::kCopilot}, Scope::kUser)));
  ASSERT_FALSE(done);
  EXPECT_TRUE(done.error().message.ends_with("; every file is as it was")) << done.error().message;
  auto after = everything();
  std::erase_if(after, [](const auto& each) {
    return each.first.starts_with("home/.local/state/lockkeeper");
  });
  EXPECT_EQ(after, before);
}

TEST_F(Installed, AFileThatChangedSinceThePlanIsNotOverwritten) {
  const Plan plan = planned(request({Client::kGemini}, Scope::kUser));
  write("home/.gemini/settings.json", "{\"theme\": 1}");
  const auto done = carry_out(machine(), plan);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().message, at("home/.gemini/settings.json") + " has changed meanwhile");
  EXPECT_EQ(read("home/.gemini/settings.json"), "{\"theme\": 1}");
}

TEST_F(Installed, ModesStayAndBackupsArePrivate) {
  write("home/.gemini/settings.json", "{}");
  ASSERT_EQ(::chmod(at("home/.gemini/settings.json").c_str(), 0640), 0);
  const auto done = carry_out(machine(), planned(request({Client::kGemini}, Scope::kUser)));
  ASSERT_TRUE(done);
  EXPECT_EQ(mode("home/.gemini/settings.json"), 0640U);
  ASSERT_EQ(done->backups.size(), 1U);
  struct stat info{};
  ASSERT_EQ(::stat(done->backups[0].c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777U, 0600U);
  EXPECT_EQ(mode("home/.local/state/lockkeeper/backups"), 0700U);
  EXPECT_EQ(mode("home/.local/state/lockkeeper/installed.json"), 0600U);
}

TEST_F(Installed, WithoutItsRecordAnUninstallStillRemovesOurEntries) {
  write("home/.cursor/hooks.json", "{\"version\": 1}\n");
  install(request({Client::kCursor}, Scope::kUser));
  std::filesystem::remove_all(at("home/.local/state/lockkeeper"));
  uninstall(request({Client::kCursor}, Scope::kUser));
  EXPECT_EQ(json("home/.cursor/hooks.json"), Json({{"version", 1}}));
}

TEST_F(Installed, ADamagedRecordIsSaid) {
  write("home/.local/state/lockkeeper/installed.json", "{\"files\": [1]}");
  EXPECT_EQ(refused(request({Client::kCursor}, Scope::kUser)),
            at("home/.local/state/lockkeeper/installed.json") + ": damaged");
}

TEST_F(Installed, AFileThatIsGoneIsForgotten) {
  install(request({Client::kOpencode}, Scope::kUser));
  std::filesystem::remove_all(at("home/.config"));
  uninstall(request({Client::kOpencode}, Scope::kUser));
  EXPECT_FALSE(std::filesystem::exists(at("home/.local/state/lockkeeper")));
}

TEST_F(Installed, ClientsMayLiveElsewhere) {
  place_.folder("elsewhere");
  const std::map<std::string, std::string> env = {{"CLAUDE_CONFIG_DIR", at("elsewhere/c")},
                                                  {"CODEX_HOME", at("elsewhere/x")},
                                                  {"COPILOT_HOME", at("elsewhere/p")},
                                                  {"GEMINI_CLI_HOME", at("elsewhere/m")},
                                                  {"XDG_CONFIG_HOME", at("elsewhere/g")}};
  const auto plan = plan_install(machine(env), request(everybody(), Scope::kUser));
  ASSERT_TRUE(plan) << plan.error().message;
  std::vector<std::string> files;
  for (const Change& change : plan->changes) files.push_back(change.file);
  const std::vector<std::string> wanted = {at("elsewhere/c/settings.json"),
                                           at("elsewhere/c/.claude.json"),
                                           at("elsewhere/x/hooks.json"),
                                           at("elsewhere/x/config.toml"),
                                           at("elsewhere/m/.gemini/settings.json"),
                                           at("elsewhere/p/hooks/lockkeeper.json"),
                                           at("elsewhere/p/mcp-config.json"),
                                           at("elsewhere/g/opencode/plugins/lockkeeper.js"),
                                           at("elsewhere/g/opencode/opencode.json"),
                                           at("home/.cursor/hooks.json"),
                                           at("home/.cursor/mcp.json")};
  EXPECT_EQ(files, wanted);
}

TEST_F(Installed, TheProgramMustBeOneThatHooksCanStart) {
  Request wanted = request({Client::kClaude}, Scope::kUser);
  for (const char* const program : {"", "lockkeeper", "/a\xff/lockkeeper", "/a\n/lockkeeper"}) {
    wanted.program = program;
    EXPECT_TRUE(refused(wanted).contains("is not an absolute path in UTF-8")) << program;
  }
  wanted.scope = Scope::kShared;
  wanted.program = "/usr/bin/lockkeeper";
  EXPECT_TRUE(refused(wanted).contains("is not a name that is looked up in PATH"));
}

TEST_F(Installed, ShellsReadTheCommandAsItWasMeant) {
  const std::string folder = "odd 'folder' \"$HOME\" `x`;";
  write(folder + "/lockkeeper", "#!/bin/sh\nprintf '%s|' \"$0\" \"$@\"\nexit ${STATUS:-0}\n");
  const std::string program = at(folder + "/lockkeeper");
  std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  install({{Client::kCodex, Client::kCopilot}, Scope::kUser, program});
  const auto run = [&](const std::string& line, const std::string& status) {
    const std::string all = "STATUS=" + status + "; export STATUS; " + line;
    const std::string shell = "sh -c " + shell_quote(all) + " >" + at("out") + " 2>" + at("err");
    return WEXITSTATUS(std::system(shell.c_str()));
  };
  const std::string codex =
      json("home/.codex/hooks.json")["hooks"]["PreToolUse"][0]["hooks"][0]["command"];
  EXPECT_EQ(run(codex, "0"), 0);
  EXPECT_EQ(read("out"), program + "|hook|codex|");
  EXPECT_EQ(run(codex, "2"), 2);
  EXPECT_EQ(read("err"), "") << "it has said why by itself";
  EXPECT_EQ(run(codex, "139"), 2);
  EXPECT_EQ(read("err"), "lockkeeper: the hook failed. Run: lockkeeper doctor\n");
  const std::string copilot =
      json("home/.copilot/hooks/lockkeeper.json")["hooks"]["preToolUse"][0]["bash"];
  EXPECT_EQ(run(copilot, "0"), 0);
  EXPECT_EQ(read("out"), program + "|hook|copilot|");
  EXPECT_TRUE(planned({{Client::kCodex}, Scope::kUser, program}).changes.empty());
}

TEST(Entry, FirstWordsAreReadAsAShellReadsThem) {
  using Words = std::vector<std::string>;
  EXPECT_EQ(first_shell_words("a 'b c'\"d\\\"e\" f\\ g h", 3), (Words{"a", "b cd\"e", "f g"}));
  EXPECT_EQ(first_shell_words("a $b c", 3), (Words{"a"}));
  EXPECT_EQ(first_shell_words("a | b", 3), (Words{"a"}));
  EXPECT_EQ(first_shell_words("a 'b", 3), (Words{"a"}));
  EXPECT_EQ(first_shell_words(" a  '' ", 3), (Words{"a", ""}));
  EXPECT_EQ(first_shell_words("a \"$b\"", 3), (Words{"a"}));
}

TEST(Diff, ShowsWhatChangesAndThreeLinesAround) {
  Change change;
  change.file = "/home/x/a.json";
  change.before = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n13\n14\n15\n16";
  change.after = "1\n2\n3\n4\nfive\n6\n7\n8\n9\n10\n11\n12\n13\n14\n15\n16\n17\n";
  EXPECT_EQ(
      diff_of(change),
      "--- /home/x/a.json\n+++ /home/x/a.json\n@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n"
      "@@ -13,4 +13,5 @@\n 13\n 14\n 15\n-16\n\\ No newline at end of file\n+16\n+17\n");
  change.before.reset();
  change.after = "a\tb\x1b[2J\r\n";
  EXPECT_EQ(diff_of(change), "--- /dev/null\n+++ /home/x/a.json\n@@ -0,0 +1,1 @@\n+a\tb\\x1b[2J\n");
  change.before = "x\n";
  change.after.reset();
  EXPECT_EQ(diff_of(change), "--- /home/x/a.json\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-x\n");
}

}  // namespace
}  // namespace lockkeeper::install
