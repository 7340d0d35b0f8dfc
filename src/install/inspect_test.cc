#include "install/inspect.h"

#include <nlohmann/json.hpp>

#include "install/codex_trust.h"
#include "install/install_testing.h"
#include "install/plugin.h"

namespace lockkeeper::install {
namespace {

class Inspect : public InstallTest {
 protected:
  Inspect() { write_program(); }
  void write_program() const {
    write("home/.local/share/lockkeeper/bin/lockkeeper", "#!/bin/sh\n");
    std::filesystem::permissions(program_, std::filesystem::perms::owner_all);
  }
  ClientStatus status(Client client) const { return inspect(machine(), client); }
  ScopeStatus one(Client client) const {
    const ClientStatus found = status(client);
    EXPECT_EQ(found.scopes.size(), 1U);
    return found.scopes.empty() ? ScopeStatus{} : found.scopes[0];
  }
  void change(const std::string& file, const JsoncPath& path, const Json& value) const {
    Jsonc document = *Jsonc::parse(read(file) == "(none)" ? "{}" : read(file), file);
    ASSERT_TRUE(document.set(path, value));
    write(file, document.text());
  }
};

TEST_F(Inspect, WhatIsInstalledIsPresentInEveryScope) {
  for (const ClientFacts& facts : all_clients()) {
    EXPECT_FALSE(status(facts.client).is_installed()) << facts.name;
    for (const Scope scope : {Scope::kUser, Scope::kProject}) {
      write_program();
      install(request({facts.client}, scope));
      const ScopeStatus found = one(facts.client);
      EXPECT_EQ(found.scope, scope) << facts.name;
      EXPECT_EQ(found.hook, HookState::kPresent) << facts.name;
      EXPECT_EQ(found.program, program_) << facts.name;
      EXPECT_TRUE(found.program_ok) << facts.name;
      EXPECT_EQ(found.server, !found.server_file.empty()) << facts.name;
      uninstall(request({facts.client}, scope));
    }
    install(request({facts.client}, Scope::kShared));
    const ScopeStatus found = one(facts.client);
    EXPECT_EQ(found.scope, Scope::kShared) << facts.name;
    EXPECT_FALSE(found.program_ok) << "it is not on PATH";
    uninstall(request({facts.client}, Scope::kShared));
  }
}

TEST_F(Inspect, AChangedHookIsSeen) {
  install(request({Client::kClaude}, Scope::kUser));
  change("home/.claude/settings.json", {"hooks", "Stop"}, Json::array());
  const ScopeStatus found = one(Client::kClaude);
  EXPECT_EQ(found.hook, HookState::kChanged);
  ASSERT_EQ(found.problems.size(), 1U);
  EXPECT_TRUE(found.problems[0].message.ends_with("our hook is missing or changed for Stop"));
  EXPECT_EQ(found.problems[0].hint, "run `lockkeeper install claude --user`");
}

TEST_F(Inspect, AHookThatRunsTwiceIsSeen) {
  install(request({Client::kCodex}, Scope::kUser));
  install(request({Client::kCodex}, Scope::kProject));
  const ClientStatus both = status(Client::kCodex);
  ASSERT_EQ(both.scopes.size(), 2U);
  EXPECT_EQ(both.scopes[0].hook, HookState::kPresent);
  EXPECT_EQ(both.scopes[1].hook, HookState::kDoubled);
  install(request({Client::kCursor}, Scope::kUser));
  Jsonc document = *Jsonc::parse(read("home/.cursor/hooks.json"), "");
  ASSERT_TRUE(document.append({"hooks", "stop"}, {{"command", "/x/lockkeeper hook cursor"}}));
  write("home/.cursor/hooks.json", document.text());
  EXPECT_EQ(one(Client::kCursor).hook, HookState::kDoubled);
}

TEST_F(Inspect, ASettingThatDisablesHooksIsSeen) {
  install(request({Client::kClaude, Client::kGemini, Client::kCodex}, Scope::kUser));
  change("repo/.claude/settings.json", {"disableAllHooks"}, true);
  EXPECT_EQ(one(Client::kClaude).hook, HookState::kDisabled);
  change("home/.gemini/settings.json", {"hooksConfig", "enabled"}, false);
  EXPECT_EQ(one(Client::kGemini).hook, HookState::kDisabled);
  change("home/.gemini/settings.json", {"hooksConfig"}, {{"disabled", {"lockkeeper"}}});
  EXPECT_EQ(one(Client::kGemini).hook, HookState::kDisabled);
  change("home/.gemini/settings.json", {"hooksConfig"}, {{"disabled", {"other"}}});
  EXPECT_EQ(one(Client::kGemini).hook, HookState::kPresent);
  write("home/.codex/config.toml", read("home/.codex/config.toml") + "[features]\nhooks = false\n");
  EXPECT_EQ(one(Client::kCodex).hook, HookState::kDisabled);
}

TEST_F(Inspect, AProgramThatIsGoneIsSeen) {
  install(request({Client::kOpencode}, Scope::kUser));
  std::filesystem::remove(program_);
  const ScopeStatus found = one(Client::kOpencode);
  EXPECT_FALSE(found.program_ok);
  ASSERT_EQ(found.problems.size(), 1U);
  EXPECT_TRUE(found.problems[0].message.ends_with("which is not a program"));
}

TEST_F(Inspect, CodexTrustsExactlyWhatItsUserTrusted) {
  install(request({Client::kCodex}, Scope::kUser));
  EXPECT_EQ(one(Client::kCodex).trust, Trust::kUntrusted);
  const std::string file = at("home/.codex/hooks.json");
  const Jsonc hooks = *Jsonc::parse(read("home/.codex/hooks.json"), file);
  const std::string before = read("home/.codex/config.toml");
  std::string trusted = before;
  std::string other = before;
  for (const FoundHook& hook : find_hooks(hooks, facts_of(Client::kCodex), Scope::kUser)) {
    const std::string table = "[hooks.state.\"" + codex_trust_key(file, hook) + "\"]\n";
    for (const HookEvent& event : facts_of(Client::kCodex).events) {
      if (event.name != hook.event) continue;
      trusted += table + "trusted_hash = \"" + codex_trust_hash(program_, event) + "\"\n";
      other += table + "trusted_hash = \"sha256:0\"\n";
    }
  }
  write("home/.codex/config.toml", trusted);
  EXPECT_EQ(one(Client::kCodex).trust, Trust::kTrusted);
  write("home/.codex/config.toml", other);
  EXPECT_EQ(one(Client::kCodex).trust, Trust::kUnknown);
}

// What `hooks/list` of Codex 0.166.0 answered for these hooks.
TEST(CodexTrust, HashesAreThoseOfCodex) {
  const HookEvent session_end{.name = "SessionEnd", .timeout_s = 3};
  EXPECT_EQ(codex_trust_hash("/abs/lockkeeper", session_end),
            "sha256:c9b9a2c3e874e9b715b067f8de9a6bc17cafafceb84b01cc0202720d4293d342");
  EXPECT_EQ(codex_trust_hash("/abs/lockkeeper", {.name = "Stop"}),
            "sha256:21b5a51fcef20998bc087f2c335915131932f16188158290fa1e624eaf8adbe7");
  EXPECT_EQ(codex_trust_hash("/abs/lockkeeper", {.name = "PreToolUse"}),
            "sha256:2140a9f439e2b8b73a3a71187a96e61e55fc4a12b582891217a1cb725f690e92");
  EXPECT_EQ(codex_trust_key("/h/.codex/hooks.json", {"PreToolUse", 1, 2, "", true}),
            "/h/.codex/hooks.json:pre_tool_use:1:2");
}

TEST_F(Inspect, FoldersAreTrustedByCopilotAndGemini) {
  for (const Client client : {Client::kCopilot, Client::kGemini}) {
    install(request({client}, Scope::kProject));
    EXPECT_EQ(one(client).trust, Trust::kUntrusted) << facts_of(client).name;
    EXPECT_FALSE(one(client).problems.empty());
  }
  write("home/.copilot/config.json", Json({{"trustedFolders", {at("repo")}}}).dump());
  EXPECT_EQ(one(Client::kCopilot).trust, Trust::kTrusted);
  write("home/.gemini/trustedFolders.json", Json({{at("repo"), "TRUST_FOLDER"}}).dump());
  EXPECT_EQ(one(Client::kGemini).trust, Trust::kTrusted);
  write("home/.gemini/trustedFolders.json", Json({{at("repo"), "DO_NOT_TRUST"}}).dump());
  EXPECT_EQ(one(Client::kGemini).trust, Trust::kUntrusted);
}

TEST_F(Inspect, ABrokenFileIsAProblemOfItsScope) {
  write("home/.gemini/settings.json", "{");
  const ScopeStatus found = one(Client::kGemini);
  EXPECT_EQ(found.hook, HookState::kMissing);
  ASSERT_FALSE(found.problems.empty());
  EXPECT_EQ(found.problems[0].code, Code::kInvalidConfig);
}

TEST_F(Inspect, AClientIsSeenByItsFolderOrItsProgram) {
  EXPECT_FALSE(status(Client::kCopilot).seen);
  place_.folder("home/.copilot");
  EXPECT_TRUE(status(Client::kCopilot).seen);
  write("bin/opencode", "#!/bin/sh\n");
  std::filesystem::permissions(at("bin/opencode"), std::filesystem::perms::owner_all);
  EXPECT_FALSE(status(Client::kOpencode).seen);
  EXPECT_TRUE(inspect(machine({{"PATH", "/bin:" + at("bin")}}), Client::kOpencode).seen);
}

TEST(Plugin, KnowsItsProgram) {
  const std::string program = "/a \"b\"\\/lockkeeper";
  EXPECT_EQ(program_of_plugin(plugin_text(program)), program);
  EXPECT_TRUE(is_our_plugin(plugin_text("x")));
  const std::string text = plugin_text("x");
  EXPECT_EQ(text.find("Object.assign"), text.rfind("Object.assign"));
  EXPECT_FALSE(is_our_plugin("export const X = 1\n"));
  EXPECT_EQ(program_of_plugin("// mine\n"), std::nullopt);
}

}  // namespace
}  // namespace lockkeeper::install
