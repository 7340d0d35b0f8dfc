// Payloads that are worth having beside the first of their kind: from runs/ into payloads/.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const { HOOK_RUNS: runs, HOOK_PAYLOADS: payloads } = process.env;
const has = (text) => (each) => JSON.stringify(each.payload).includes(text);
const kPicked = [
  ["claude", "subagent", "PreToolUse", has('"tool_name":"Edit"'), "PreToolUse-Edit.subagent"],
  ["claude", "subagent", "PostToolBatch", has("agent_id"), "PostToolBatch.subagent"],
  ["claude", "subagent", "Stop", has('"type":"subagent"'), "Stop.subagent_running"],
  [
    "claude",
    "subagent",
    "UserPromptSubmit",
    has("task-notification"),
    "UserPromptSubmit.subagent_done",
  ],
  ["claude", "background", "Stop", has('"type":"shell"'), "Stop.shell_running"],
  [
    "claude",
    "background",
    "UserPromptSubmit",
    has("task-notification"),
    "UserPromptSubmit.shell_done",
  ],
  ["claude", "denied", "PostToolBatch", has("n2.c"), "PostToolBatch.denied_two"],
  ["claude", "failing", "PostToolBatch", has("not found in file"), "PostToolBatch.failed"],
  ["claude", "parallel", "PostToolBatch", has("no: held"), "PostToolBatch.refused_and_done"],
  ["codex", "tools", "PreToolUse", has("Move to"), "PreToolUse-apply_patch.many"],
  ["codex", "tools", "PreToolUse", has("viashell.c"), "PreToolUse-Bash.apply_patch"],
  ["codex", "subagent", "PreToolUse", has("agent_id"), "PreToolUse-apply_patch.subagent"],
  ["codex", "subagent", "UserPromptSubmit", has("agent_id"), "UserPromptSubmit.subagent"],
  ["gemini", "failing", "AfterTool", has("file_not_found"), "AfterTool-replace.failed"],
  ["gemini", "tools", "BeforeTool", has('"relative.c"'), "BeforeTool-write_file.relative"],
  ["gemini", "ask", "Notification", () => true, "Notification"],
  ["copilot", "subagent", "preToolUse", has("agentId"), "preToolUse-edit.subagent"],
  ["copilot", "subagent", "agentStop", has("agentId"), "agentStop.subagent"],
  ["copilot", "places", "user-Pascal", () => true, "PreToolUse-Write.claude_format"],
  ["copilot", "places", "user-PascalPost", () => true, "PostToolUse-Write.claude_format"],
  ["copilot", "places", "repo-claude-stop", () => true, "Stop.claude_format"],
  ["copilot", "background", "notification", () => true, "notification.shell_completed"],
  ["copilot", "denied", "notification", () => true, "notification.permission_prompt"],
  [
    "opencode",
    "subagent",
    "event-session.created",
    has("parentID"),
    "event-session.created.subagent",
  ],
  [
    "opencode",
    "failing",
    "event-message.part.updated",
    has('"status":"error"'),
    "event-message.part.updated.failed",
  ],
  [
    "opencode",
    "tools",
    "tool.execute.before",
    has('"relative.c"'),
    "tool.execute.before-write.relative",
  ],
];

for (const [client, run, label, fits, name] of kPicked) {
  const { timeline } = JSON.parse(readFileSync(join(runs, client, `${run}.json`), "utf8"));
  const found = timeline.find((each) => each.kind === "hook" && each.label === label && fits(each));
  if (!found) console.log(`not in ${client}/${run}: ${name}`);
  else
    writeFileSync(
      join(payloads, client, `${name}.json`),
      `${JSON.stringify(found.payload, null, 2)}\n`,
    );
}
