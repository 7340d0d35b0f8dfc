// Payloads as the clients sent them (Claude Code 2.1.325, Codex 0.166.0, Gemini CLI 0.61.0, Copilot
// 1.0.102), with other paths and ids. Cursor's are from its documentation.
#pragma once

namespace lockkeeper::enforce::payloads {

inline constexpr auto kClaudeEdit = R"({
  "session_id": "s-1", "transcript_path": "/home/u/.claude/projects/repo/s-1.jsonl",
  "cwd": "/repo", "prompt_id": "p-1", "permission_mode": "acceptEdits",
  "effort": {"level": "medium"}, "hook_event_name": "PreToolUse", "tool_name": "Edit",
  "tool_input": {"file_path": "/repo/a.c", "old_string": "x", "new_string": "y",
                 "replace_all": false},
  "tool_use_id": "toolu_1"})";

inline constexpr auto kClaudeSubagentWrite = R"({
  "session_id": "s-1", "transcript_path": "/home/u/.claude/projects/repo/s-1.jsonl",
  "cwd": "/repo", "prompt_id": "p-1", "permission_mode": "acceptEdits",
  "agent_id": "a25090baaffdc4891", "agent_type": "general-purpose",
  "hook_event_name": "PostToolUse", "tool_name": "Write",
  "tool_input": {"file_path": "/repo/new.c", "content": "new\n"},
  "tool_response": {"type": "create", "filePath": "/repo/new.c", "originalFile": null},
  "tool_use_id": "toolu_2", "duration_ms": 10})";

inline constexpr auto kClaudeFailure = R"({
  "session_id": "s-1", "cwd": "/repo", "hook_event_name": "PostToolUseFailure",
  "tool_name": "Bash", "tool_input": {"command": "exit 3"}, "tool_use_id": "toolu_3",
  "error": "Exit code 3", "is_interrupt": false, "duration_ms": 7})";

inline constexpr auto kClaudeBatch = R"({
  "session_id": "s-1", "cwd": "/repo", "hook_event_name": "PostToolBatch", "tool_calls": [
    {"tool_name": "Read", "tool_input": {"file_path": "/repo/a.c"}, "tool_use_id": "t0",
     "tool_response": "1\tint x;\n"},
    {"tool_name": "Edit", "tool_input": {"file_path": "/repo/a.c"}, "tool_use_id": "t1",
     "tool_response": "<tool_use_error>String to replace not found in file.</tool_use_error>"},
    {"tool_name": "Edit", "tool_input": {"file_path": "/repo/b.c"}, "tool_use_id": "t2",
     "tool_response": "Claude requested permissions to write to /repo/b.c, but you haven't"},
    {"tool_name": "Edit", "tool_input": {"file_path": "/repo/c.c"}, "tool_use_id": "t3"}]})";

inline constexpr auto kClaudeStop = R"({
  "session_id": "s-1", "cwd": "/repo", "hook_event_name": "Stop", "stop_hook_active": false,
  "last_assistant_message": "done", "background_tasks": [], "session_crons": []})";

inline constexpr auto kClaudeSubagentStop = R"({
  "session_id": "s-1", "cwd": "/repo", "agent_id": "a25090baaffdc4891",
  "agent_type": "general-purpose", "hook_event_name": "SubagentStop", "stop_hook_active": false,
  "background_tasks": [{"id": "a25090baaffdc4891", "type": "subagent", "status": "running"}]})";

inline constexpr auto kCodexPatch = R"({
  "session_id": "01a1", "turn_id": "01a2", "transcript_path": "/home/u/.codex/sessions/r.jsonl",
  "cwd": "/repo", "hook_event_name": "PreToolUse", "model": "gpt-5.5",
  "permission_mode": "bypassPermissions", "tool_name": "apply_patch",
  "tool_input": {"command":
    "*** Begin Patch\n*** Update File: a.c\n@@\n-int x;\n+int y;\n*** End Patch\n"},
  "tool_use_id": "call_main_0_0"})";

inline constexpr auto kGeminiReplace = R"({
  "session_id": "g-1", "transcript_path": "/home/u/.gemini/tmp/repo/chats/g-1.jsonl",
  "cwd": "/repo", "hook_event_name": "BeforeTool", "timestamp": "2026-11-17T09:02:41.697Z",
  "tool_name": "replace", "tool_input": {"file_path": "/repo/a.c", "instruction": "i",
  "old_string": "int x;", "new_string": "int y;"}})";

inline constexpr auto kGeminiReplaced = R"({
  "session_id": "g-1", "transcript_path": "/home/u/.gemini/tmp/repo/chats/g-1.jsonl",
  "cwd": "/repo", "hook_event_name": "AfterTool", "timestamp": "2026-11-17T09:02:41.769Z",
  "tool_name": "replace", "tool_input": {"file_path": "/repo/a.c", "instruction": "i",
  "old_string": "int x;", "new_string": "int y;"},
  "tool_response": {"llmContent": "Successfully modified file", "returnDisplay": {}}})";

inline constexpr auto kCopilotEdit = R"({
  "sessionId": "c-1", "timestamp": 1794702744674, "cwd": "/repo", "toolName": "edit",
  "toolArgs": {"path": "/repo/a.c", "old_str": "x", "new_str": "y"}})";

inline constexpr auto kCopilotEdited = R"({
  "sessionId": "c-1", "timestamp": 1794702744999, "cwd": "/repo", "toolName": "edit",
  "toolArgs": {"path": "/repo/a.c", "old_str": "x", "new_str": "y"},
  "toolResult": {"resultType": "success", "textResultForLlm": "ok"}})";

// What Copilot sends to Claude Code's hooks: Claude Code's words, but its own arguments.
inline constexpr auto kCopilotAsClaude = R"({
  "hook_event_name": "PreToolUse", "session_id": "c-1", "timestamp": "2026-11-17T09:02:41.769Z",
  "cwd": "/repo", "tool_name": "Edit",
  "tool_input": {"path": "/repo/a.c", "old_str": "x", "new_str": "y"}})";

inline constexpr auto kOpencodeWrite = R"({
  "event": "tool.execute.before", "sessionID": "ses_2", "parentID": "ses_1", "callID": "call_1",
  "directory": "/repo", "tool": "write", "args": {"filePath": "a.c", "content": "x"}})";

inline constexpr auto kCursorDelete = R"({
  "conversation_id": "cv-1", "generation_id": "g", "model": "m", "cursor_version": "3.9.16",
  "workspace_roots": ["/repo"], "hook_event_name": "preToolUse", "tool_name": "Delete",
  "tool_input": {"path": "/repo/a.c"}, "tool_use_id": "tu-1", "cwd": ""})";

}  // namespace lockkeeper::enforce::payloads
