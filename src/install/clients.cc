#include "install/clients.h"

#include <algorithm>
#include <array>

namespace lockkeeper::install {
namespace {

using Base = SettingsFile::Base;
using Shape = HookFormat::Shape;

// Reading needs no lock, and a process for each read would cost more than the read.
constexpr auto kClaudeEvents = std::to_array<HookEvent>({
    {.name = "PreToolUse",
     .matcher = "^(Write|Edit|NotebookEdit|Bash|Monitor|mcp__.*)$",
     .guard = true},
    {.name = "PostToolBatch"},
    {.name = "SessionStart"},
    {.name = "UserPromptSubmit"},
    {.name = "SubagentStart"},
    {.name = "SubagentStop"},
    {.name = "Notification"},
    {.name = "Stop"},
    {.name = "Stop", .timeout_s = 620, .wake = true},
    {.name = "StopFailure"},
    {.name = "SessionEnd"},
});

constexpr auto kCodexEvents = std::to_array<HookEvent>({
    {.name = "PreToolUse", .guard = true},
    {.name = "PostToolUse"},
    {.name = "SessionStart"},
    {.name = "UserPromptSubmit"},
    {.name = "SubagentStart"},
    {.name = "SubagentStop"},
    {.name = "Stop"},
    {.name = "SessionEnd", .timeout_s = 3},  // Codex cuts it there
});

constexpr std::string_view kGeminiTools = "write_file|replace|run_shell_command|mcp_.*";
constexpr auto kGeminiEvents = std::to_array<HookEvent>({
    {.name = "BeforeTool", .matcher = kGeminiTools, .guard = true},
    {.name = "AfterTool", .matcher = kGeminiTools},
    {.name = "SessionStart"},
    {.name = "BeforeAgent"},
    {.name = "AfterAgent"},
    {.name = "SessionEnd"},
});

constexpr auto kCopilotEvents = std::to_array<HookEvent>({
    {.name = "preToolUse", .guard = true},
    {.name = "postToolUse"},
    {.name = "postToolUseFailure"},
    {.name = "sessionStart"},
    {.name = "userPromptSubmitted"},
    {.name = "subagentStart"},
    {.name = "subagentStop"},
    {.name = "agentStop"},
    {.name = "sessionEnd"},
});

constexpr auto kCursorEvents = std::to_array<HookEvent>({
    {.name = "preToolUse", .guard = true},
    {.name = "postToolUse"},
    {.name = "postToolUseFailure"},
    {.name = "sessionStart"},
    {.name = "beforeSubmitPrompt"},
    {.name = "subagentStart"},
    {.name = "subagentStop"},
    {.name = "stop"},
    {.name = "sessionEnd"},
});

constexpr std::array<ClientFacts, kClients> kFacts = {{
    {.client = Client::kClaude,
     .name = "claude",
     .title = "Claude Code",
     .program = "claude",
     .home_variable = "CLAUDE_CONFIG_DIR",
     .home_folder = ".claude",
     .runs_copies = false,
     .hooks = {.exec = true, .guard_field = "onFailure", .guard_value = "block"},
     .events = kClaudeEvents,
     .hook_files = {{Base::kHome, ".claude", "settings.json"},
                    {Base::kRepository, ".claude", "settings.local.json"},
                    {Base::kRepository, ".claude", "settings.json"}},
     .server = {.type = "stdio"},
     // A server of this project alone is in the user's file, under the project's path.
     .server_files = {{Base::kHome, "", ".claude.json"},
                      {Base::kHome, "", ".claude.json"},
                      {Base::kRepository, "", ".mcp.json"}}},
    {.client = Client::kCodex,
     .name = "codex",
     .title = "Codex",
     .program = "codex",
     .home_variable = "CODEX_HOME",
     .home_folder = ".codex",
     .sets_environment = true,
     .trust_step = "Codex runs new or changed hooks only after you have trusted them: start codex "
                   "and open /hooks. Until then it skips them without a word.",
     .repository_step = "Codex reads the hooks of a repository only if it is a trusted project.",
     .hooks = {.shell_guard = true},
     .events = kCodexEvents,
     .hook_files = {{Base::kHome, ".codex", "hooks.json"},
                    {Base::kRepository, ".codex", "hooks.json"},
                    {Base::kRepository, ".codex", "hooks.json"}},
     .server = {.kind = ServerFormat::Kind::kToml, .member = "mcp_servers"},
     .server_files = {{Base::kHome, ".codex", "config.toml"},
                      {Base::kRepository, ".codex", "config.toml"},
                      {Base::kRepository, ".codex", "config.toml"}}},
    {.client = Client::kGemini,
     .name = "gemini",
     .title = "Gemini CLI",
     .program = "gemini",
     .home_variable = "GEMINI_CLI_HOME",
     .variable_is_home = true,
     .home_folder = ".gemini",
     .repository_step = "Gemini CLI runs the hooks of a repository only in a trusted folder: start "
                        "gemini there and trust it.",
     .hooks = {.named = true, .timeout_unit = 1000, .shell_guard = true},
     .events = kGeminiEvents,
     .hook_files = {{Base::kHome, ".gemini", "settings.json"},
                    {Base::kRepository, ".gemini", "settings.json"},
                    {Base::kRepository, ".gemini", "settings.json"}},
     .server = {},
     .server_files = {{Base::kHome, ".gemini", "settings.json"},
                      {Base::kRepository, ".gemini", "settings.json"},
                      {Base::kRepository, ".gemini", "settings.json"}}},
    {.client = Client::kCopilot,
     .name = "copilot",
     .title = "GitHub Copilot CLI",
     .program = "copilot",
     .home_variable = "COPILOT_HOME",
     .home_folder = ".copilot",
     .repository_step = "Copilot runs the hooks of a repository only in a trusted folder: start "
                        "copilot there once and trust it.",
     .hooks = {.shape = Shape::kFlat,
               .versioned = true,
               .command_field = "bash",
               .timeout_field = "timeoutSec"},
     .events = kCopilotEvents,
     .hook_files = {{Base::kHome, ".copilot/hooks", "lockkeeper.json"},
                    {Base::kRepository, ".github/hooks", "lockkeeper.local.json"},
                    {Base::kRepository, ".github/hooks", "lockkeeper.json"}},
     .server = {.type = "local", .all_tools = true},
     .server_files = {{Base::kHome, ".copilot", "mcp-config.json"}, {}, {}}},
    {.client = Client::kOpencode,
     .name = "opencode",
     .title = "opencode",
     .program = "opencode",
     .home_variable = "",
     .home_folder = "",
     .repository_step =
         "opencode prepares the folder .opencode at its next start. Without a network "
         "that takes up to a minute.",
     .hooks = {.shape = Shape::kPlugin},
     .events = {},
     .hook_files = {{Base::kConfigHome, "opencode/plugins", "lockkeeper.js"},
                    {Base::kRepository, ".opencode/plugins", "lockkeeper.js"},
                    {Base::kRepository, ".opencode/plugins", "lockkeeper.js"}},
     .server = {.member = "mcp", .type = "local", .one_list = true},
     .server_files = {{Base::kConfigHome, "opencode", "opencode.json", "opencode.jsonc"},
                      {Base::kRepository, ".opencode", "opencode.json", "opencode.jsonc"},
                      {Base::kRepository, "", "opencode.json", "opencode.jsonc"}}},
    {.client = Client::kCursor,
     .name = "cursor",
     .title = "Cursor",
     .program = "cursor-agent",
     .home_variable = "",
     .home_folder = ".cursor",
     .experimental = true,
     .trust_step = "Cursor's hooks are experimental here: they follow its documentation and were "
                   "not tried with Cursor itself.",
     .hooks =
         {.shape = Shape::kFlat, .versioned = true, .typed = false, .guard_field = "failClosed"},
     .events = kCursorEvents,
     .hook_files = {{Base::kHome, ".cursor", "hooks.json"},
                    {Base::kRepository, ".cursor", "hooks.json"},
                    {Base::kRepository, ".cursor", "hooks.json"}},
     .server = {},
     .server_files = {{Base::kHome, ".cursor", "mcp.json"},
                      {Base::kRepository, ".cursor", "mcp.json"},
                      {Base::kRepository, ".cursor", "mcp.json"}}},
}};

}  // namespace

std::string_view scope_name(Scope scope) {
  constexpr std::array<std::string_view, kScopes> kNames = {"user", "project", "shared"};
  return kNames[static_cast<std::size_t>(scope)];
}

const ClientFacts& facts_of(Client client) {
  return kFacts[static_cast<std::size_t>(client)];
}

std::span<const ClientFacts> all_clients() {
  return kFacts;
}

std::optional<Client> client_named(std::string_view name) {
  const auto found = std::ranges::find(kFacts, name, &ClientFacts::name);
  return found == kFacts.end() ? std::nullopt : std::optional(found->client);
}

}  // namespace lockkeeper::install
