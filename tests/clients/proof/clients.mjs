// What a person has set up of each client before lockkeeper comes, the permissions each is run
// with, and how its model asks for an edit. Nothing here knows our hooks: `lockkeeper install`
// does.
//
// `permits` has the words for each need. Without a terminal nobody can be asked, so most clients
// refuse edits unless a flag permits them. "edit" is the smallest one that does. "shell" is the
// smallest one that permits shell commands as well, "all" our MCP tools, too. "none" is the
// default.
import { existsSync, mkdirSync, readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { kFolder, write } from "../record/agents.mjs";
import { listHooks, trustHooks } from "../record/codex_hooks.mjs";
import { call, callText } from "../model.mjs";

const patchText = (...lines) => ["*** Begin Patch", ...lines, "*** End Patch", ""].join("\n");
const updated = (file, from, to) => [`*** Update File: ${file}`, "@@", `-${from}`, `+${to}`];
const patched = (files) => patchText(...files.flatMap((each) => updated(each, "int x;", "int y;")));

// Settings of the user's own that our installation must keep: odd spaces and all.
const own = (stage, file, text) => {
  if (!existsSync(stage.at(file))) write(stage.at(file), text);
};

const claude = {
  agent: "claude-code",
  tellsOfBackground: true,
  // What it asks at its first start in a terminal, answered.
  onboard(stage) {
    const file = join(stage.home, ".claude.json");
    const known = JSON.parse(readFileSync(file, "utf8"));
    const trusted = { hasTrustDialogAccepted: true, hasCompletedProjectOnboarding: true };
    write(file, {
      ...known,
      hasCompletedOnboarding: true,
      theme: "dark",
      customApiKeyResponses: { approved: ["dummy"], rejected: [] },
      projects: { [stage.repo]: { ...known.projects[stage.repo], ...trusted } },
    });
  },
  settings(stage) {
    own(stage, ".claude/settings.local.json", '{ "permissions" : {"deny":[ "Read(./secret)" ]} }');
  },
  // `-p` alone refuses every edit: acceptEdits is what a person chooses who wants edits unasked.
  permits: {
    none: [],
    edit: ["--permission-mode", "acceptEdits"],
    shell: ["--permission-mode", "acceptEdits", "--allowedTools", "Bash"],
    all: ["--permission-mode", "acceptEdits", "--allowedTools", "Bash", "mcp__lockkeeper"],
  },
  words: ({ options }) => [
    ...(options.terminal ? [] : ["-p", "--output-format", "stream-json", "--verbose"]),
    ...(options.words ?? claude.permits[options.permits]),
    "--",
    options.prompt ?? "go",
  ],
  edit: (stage, file, from = "int x;", to = "int y;") =>
    call("Edit", { file_path: stage.at(file), old_string: from, new_string: to }),
  shell: (command) => call("Bash", { command, description: "d" }),
  background: (command) => call("Bash", { command, description: "d", run_in_background: true }),
  subagent: (name) =>
    call("Agent", {
      description: name,
      prompt: `SCRIPT=${name} go`,
      subagent_type: "general-purpose",
      run_in_background: false,
    }),
};

// `codex exec` in a trusted project may edit inside of it: the default is enough for everything.
const codex = {
  agent: "codex",
  settings(stage, url) {
    const file = join(stage.home, ".codex/config.toml");
    const text = `# my own
model_provider = "fake"   # of the test
[model_providers.fake]
name = "fake"
base_url = "URL/v1"
wire_api = "responses"
env_key = "FAKE_KEY"
[projects."${stage.repo}"]
trust_level = "trusted"
`;
    if (!existsSync(file)) write(file, text.replace("URL", url));
    else stage.rewrite(file, /base_url = ".*"/, `base_url = "${url}/v1"`);
    own(stage, ".codex/config.toml", "# the project's\n");
  },
  // What /hooks does: without it Codex skips them.
  async trust(stage) {
    trustHooks(stage, await listHooks(stage));
  },
  permits: {
    none: ["--sandbox", "read-only"],
    edit: [],
    shell: [],
    // Its sandbox keeps commands from the lock table, and it asks about each tool of a server.
    all: ["--dangerously-bypass-approvals-and-sandbox"],
  },
  words: ({ repo, options }) => [
    ...["exec", "--json", "-m", "gpt-5.5", "-C", repo],
    ...codex.permits[options.permits],
    options.prompt ?? "go",
  ],
  isLaunched: (words) => /codex$/.test(words[0]) && words.includes("exec"),
  edit: (_, file, from = "int x;", to = "int y;") =>
    callText("apply_patch", patchText(...updated(file, from, to))),
  patch: (files) => callText("apply_patch", patched(files)),
  shell: (cmd) => call("exec_command", { cmd, yield_time_ms: 30_000 }),
  background: (cmd) => call("exec_command", { cmd, yield_time_ms: 300 }),
  subagent: (name) =>
    call("spawn_agent", { message: `SCRIPT=${name} go`, task_name: name, agent_type: "default" }),
};

const gemini = {
  agent: "gemini",
  asksBeforeHook: true,
  settings(stage) {
    const file = join(stage.home, ".gemini/settings.json");
    const auth = { selectedType: "gemini-api-key" };
    if (!existsSync(file)) write(file, { security: { auth } });
    own(stage, ".gemini/settings.json", '{ // mine\n "ui" : {"hideTips":true} }');
  },
  // What its dialog writes: otherwise it skips the hooks of a repository.
  trust(stage) {
    write(join(stage.home, ".gemini/trustedFolders.json"), { [stage.repo]: "TRUST_FOLDER" });
  },
  // Without a flag `-p` offers no tool that edits or runs anything.
  permits: {
    none: [],
    edit: ["--approval-mode", "auto_edit"],
    shell: ["--approval-mode", "yolo"],
    all: ["--approval-mode", "yolo"],
  },
  words: ({ options }) => [
    ...["-m", "gemini-2.5-flash", "--output-format", "stream-json"],
    ...gemini.permits[options.permits],
    "-p",
    options.prompt ?? "go",
  ],
  isLaunched: (words) => words.some((each) => each.endsWith("gemini.js")),
  edit: (stage, file, from = "int x;", to = "int y;") =>
    call("replace", {
      file_path: stage.at(file),
      instruction: "i",
      old_string: from,
      new_string: to,
    }),
  shell: (command) => call("run_shell_command", { command, description: "d" }),
  background: (command) =>
    call("run_shell_command", { command, description: "d", is_background: true }),
  child: (name) => call("invoke_agent", { agent_name: "generalist", prompt: `SCRIPT=${name} go` }),
};

const copilot = {
  agent: "copilot",
  hasTools: false, // it has no MCP server for one repository
  settings(stage) {
    own(stage, ".github/hooks/mine.json", '{"version":1, "hooks":{}}');
  },
  // What it writes when a person trusts the folder: otherwise it skips the hooks of a repository.
  trust(stage) {
    write(join(stage.home, ".copilot/config.json"), { trustedFolders: [stage.repo] });
  },
  // `-p` alone refuses every edit.
  permits: {
    none: [],
    edit: ["--allow-tool", "write"],
    shell: ["--allow-tool", "write", "--allow-tool", "shell"],
    all: ["--allow-tool", "write", "--allow-tool", "shell"],
  },
  words: ({ options }) => ["-p", options.prompt ?? "go", ...copilot.permits[options.permits]],
  edit: (stage, file, from = "int x;", to = "int y;") =>
    call("edit", { path: stage.at(file), old_str: from, new_str: to }),
  shell: (command) => call("bash", { command, description: "d" }),
  background: (command) => call("bash", { command, description: "d", mode: "async" }),
  subagent: (name) =>
    call("task", {
      description: name,
      prompt: `SCRIPT=${name} go`,
      agent_type: "general-purpose",
      name,
      mode: "sync",
    }),
};

// Edits and shells are permitted by default.
const opencode = {
  agent: "opencode",
  settings(stage, url) {
    const file = join(stage.home, ".config/opencode/opencode.json");
    const known = existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : {};
    const options = { baseURL: `${url}/v1`, apiKey: "dummy" };
    write(file, {
      ...known,
      provider: { anthropic: { options }, openai: { options } },
      autoupdate: false,
      ...(stage.options.permits === "none" && { permission: { edit: "ask" } }),
    });
    // It installs packages into .opencode at its first start: the same ones in every scene.
    const packages = join(stage.home, ".npm");
    mkdirSync(join(kFolder, "npm-cache"), { recursive: true });
    if (!existsSync(packages)) symlinkSync(join(kFolder, "npm-cache"), packages);
    write(join(stage.home, ".npmrc"), "prefer-offline=true\n");
    // It would add the schema by itself.
    const schema = '"$schema": "https://opencode.ai/config.json"';
    own(stage, ".opencode/opencode.json", `{ // mine\n ${schema}, "username" : "u" }`);
  },
  permits: { none: [], edit: [], shell: [], all: [] },
  words: ({ options }) => [
    "run",
    ...["-m", options.gpt ? "openai/gpt-5.3-codex" : "anthropic/claude-sonnet-4-5"],
    options.prompt ?? "go",
  ],
  edit: (stage, file, from = "int x;", to = "int y;") =>
    call("edit", { filePath: stage.at(file), oldString: from, newString: to }),
  patch: (files) => call("apply_patch", { patchText: patched(files) }),
  patchOptions: { gpt: true },
  shell: (command) => call("bash", { command, description: "d" }),
  background: (command) =>
    call("bash", { command: `(${command}) >/dev/null 2>&1 &`, description: "d" }),
  subagent: (name) =>
    call("task", { description: name, prompt: `SCRIPT=${name} go`, subagent_type: "general" }),
};

export const clients = { claude, codex, gemini, copilot, opencode };
