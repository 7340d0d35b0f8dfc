#include "enforce/tool_table.h"

#include <algorithm>
#include <array>
#include <span>

namespace lockkeeper::enforce {
namespace {

using enum Does;

constexpr auto kClaudesTools = std::to_array<KnownTool>({
    {"Write", kReplace, "file_path"},
    {"Edit", kEdit, "file_path"},
    {"MultiEdit", kEdit, "file_path"},
    {"NotebookEdit", kEdit, "notebook_path"},
    {"Bash", kShell, "command"},
    {"PowerShell", kShell, "command"},
    {"Monitor", kShell, "command"},
    {"BashOutput", kShell, ""},
    {"KillShell", kShell, ""},
    {"KillBash", kShell, ""},
    {"TaskOutput", kShell, ""},
    {"TaskStop", kShell, ""},
});
constexpr std::string_view kClaudesHarmless =
    "Agent AskUserQuestion CronCreate CronDelete CronList EnterPlanMode EnterWorktree "
    "ExitPlanMode ExitWorktree Glob Grep ListMcpResourcesTool LS LSP NotebookRead Read "
    "ReadMcpResourceTool ScheduleWakeup SendMessage Skill SlashCommand StructuredOutput "
    "Task TaskCreate TaskGet TaskList TaskUpdate TodoRead TodoWrite ToolSearch WebFetch "
    "WebSearch";

constexpr auto kCodexTools = std::to_array<KnownTool>({
    {"apply_patch", kPatch, "command|input|patch"},
    {"Bash", kShell, "command"},
    {"container.exec", kShell, "command|cmd"},
    {"exec", kShell, "command|cmd"},
    {"exec_command", kShell, "command|cmd"},
    {"local_shell", kShell, "command"},
    {"shell", kShell, "command"},
    {"shell_command", kShell, "command"},
    {"unified_exec", kShell, "command|cmd"},
    {"write_stdin", kShell, ""},
});
constexpr std::string_view kCodexHarmless =
    "close_agent grep_files interrupt_agent list_agents list_dir "
    "list_mcp_resource_templates list_mcp_resources read_file read_mcp_resource "
    "request_permissions request_user_input send_input spawn_agent tool_search update_plan "
    "view_image wait web_search";

constexpr auto kGeminisTools = std::to_array<KnownTool>({
    {"write_file", kReplace, "file_path"},
    {"replace", kEdit, "file_path"},
    {"run_shell_command", kShell, "command"},
});
constexpr std::string_view kGeminisHarmless =
    "activate_skill ask_user complete_task enter_plan_mode exit_plan_mode get_internal_docs "
    "glob google_web_search grep_search invoke_agent list_directory list_mcp_resources "
    "read_file read_many_files read_mcp_resource search_file_content take_snapshot "
    "tracker_add_dependency tracker_create_task tracker_get_task tracker_list_tasks "
    "tracker_update_task tracker_visualize update_topic web_fetch write_todos";

// The command line, then the editor, then what both call by Claude Code's names when they run its
// hooks.
constexpr auto kCopilotsTools = std::to_array<KnownTool>({
    {"create", kReplace, "path"},
    {"edit", kEdit, "path"},
    {"str_replace", kEdit, "path"},
    {"insert", kEdit, "path"},
    {"str_replace_editor", kByCommand, "path"},
    {"apply_patch", kPatch, "input|patch|command"},
    {"bash", kShell, "command"},
    {"powershell", kShell, "command"},
    {"write_bash", kShell, "input"},
    {"write_powershell", kShell, "input"},
    {"read_bash", kShell, ""},
    {"read_powershell", kShell, ""},
    {"stop_bash", kShell, ""},
    {"stop_powershell", kShell, ""},
    {"create_file", kReplace, "filePath"},
    {"create_directory", kEdit, "dirPath"},
    {"editFiles", kEdit, "files"},
    {"edit_notebook_file", kEdit, "filePath"},
    {"insert_edit_into_file", kEdit, "filePath"},
    {"multi_replace_string_in_file", kEdit, "replacements.filePath"},
    {"replace_string_in_file", kEdit, "filePath"},
    {"run_in_terminal", kShell, "command"},
    {"Write", kReplace, "path|file_path|filePath"},
    {"Edit", kEditOrPatch, "path|file_path|filePath"},
    {"Bash", kShell, "command"},
});
constexpr std::string_view kCopilotsHarmless =
    "Agent ask_user AskUserQuestion exit_plan_mode fetch_copilot_cli_documentation Glob "
    "glob grep Grep list_agents list_bash Read read_agent read_file report_intent rg "
    "show_file skill sql store_memory task Task task_complete TodoWrite update_todo view "
    "web_fetch web_search WebFetch WebSearch write_agent";

constexpr auto kOpencodesTools = std::to_array<KnownTool>({
    {"write", kReplace, "filePath"},
    {"edit", kEdit, "filePath"},
    {"multiedit", kEdit, "filePath"},
    {"patch", kPatch, "patchText"},
    {"apply_patch", kPatch, "patchText"},
    {"batch", kBatch, "tool_calls"},
    {"bash", kShell, "command"},
});
constexpr std::string_view kOpencodesHarmless =
    "codesearch glob grep invalid list lsp plan_enter plan_exit question read skill task "
    "todoread todowrite webfetch websearch";

constexpr std::string_view kCursorsPath = "file_path|path|target_file|filePath";

constexpr auto kCursorsTools = std::to_array<KnownTool>({
    {"Write", kReplace, kCursorsPath},
    {"Delete", kEdit, kCursorsPath},
    {"StrReplace", kEdit, kCursorsPath},
    {"Edit", kEditOrPatch, kCursorsPath},
    {"MultiEdit", kEdit, kCursorsPath},
    {"TabWrite", kEdit, kCursorsPath},
    {"EditNotebook", kEdit, "target_notebook|notebook_path|file_path|path"},
    {"NotebookEdit", kEdit, "notebook_path|target_notebook|file_path|path"},
    {"ApplyPatch", kPatch, "patch|input|command|patchText"},
    {"apply_patch", kPatch, "patch|input|command|patchText"},
    {"Shell", kShell, "command"},
    {"Bash", kShell, "command"},
});
constexpr std::string_view kCursorsHarmless =
    "AskQuestion Glob Grep LS Read ReadLints SemanticSearch SwitchMode TabRead Task "
    "TodoWrite UpdateCurrentStep WebFetch WebSearch";

constexpr auto kFilesystemTools = std::to_array<KnownTool>({
    {"write_file", kReplace, "path"},
    {"edit_file", kEdit, "path"},
    {"move_file", kMove, "source destination"},
    {"create_directory", kEdit, "path"},
});
constexpr std::string_view kFilesystemHarmless =
    "directory_tree get_file_info list_allowed_directories list_directory "
    "list_directory_with_sizes read_file read_media_file read_multiple_files read_text_file "
    "search_files";

struct ToolTable {
  std::span<const KnownTool> tools;
  std::string_view harmless;  // words: tools that change no file
};

ToolTable table_of(Client client) {
  switch (client) {
    case Client::kClaude:
      return {kClaudesTools, kClaudesHarmless};
    case Client::kCodex:
      return {kCodexTools, kCodexHarmless};
    case Client::kGemini:
      return {kGeminisTools, kGeminisHarmless};
    case Client::kCopilot:
      return {kCopilotsTools, kCopilotsHarmless};
    case Client::kOpencode:
      return {kOpencodesTools, kOpencodesHarmless};
    case Client::kCursor:
      return {kCursorsTools, kCursorsHarmless};
  }
  return {};
}

bool is_word_of(std::string_view words, std::string_view name) {
  for (std::size_t at = 0; at < words.size();) {
    const std::size_t end = std::min(words.find(' ', at), words.size());
    if (words.substr(at, end - at) == name) return true;
    at = end + 1;
  }
  return false;
}

const KnownTool* find_tool(const ToolTable& table, std::string_view name) {
  static constexpr KnownTool kHarmless{"", Does::kNothing};
  const auto found = std::ranges::find(table.tools, name, &KnownTool::tool);
  if (found != table.tools.end()) return &*found;
  return is_word_of(table.harmless, name) ? &kHarmless : nullptr;
}

}  // namespace

const KnownTool* known_tool(Client client, std::string_view tool) {
  return find_tool(table_of(client), tool);
}

const KnownTool* filesystem_tool(std::string_view tool) {
  return find_tool({kFilesystemTools, kFilesystemHarmless}, tool);
}

}  // namespace lockkeeper::enforce
