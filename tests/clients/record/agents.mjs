// How each client is told of the recording hook, of the model and of the MCP server, and run once.
// An agent has: events, command(), prepare(scene), words(scene), env(scene).
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

export const kFolder = process.env.LOCKKEEPER_MCP_CLIENTS ?? "";
const kModules = join(kFolder, "node_modules");
const kArchitecture = process.arch === "arm64" ? "arm64" : "x64";
const kHere = import.meta.dirname ?? dirname(new URL(import.meta.url).pathname);
const kRecorder = join(kHere, "record.mjs");
const kServer = join(kHere, "mcp_server.mjs");

export function write(file, text) {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, typeof text === "string" ? text : JSON.stringify(text, null, 2));
}

const mapped = (events, make, only = /./) =>
  Object.fromEntries(events.filter((each) => only.test(each)).map((event) => [event, make(event)]));
export const recorderWords = (scene, label) => [kRecorder, scene.records, label];
export const recorderLine = (scene, label) =>
  [process.execPath, ...recorderWords(scene, label)].join(" ");

export const agents = {
  claude: {
    events: [
      "PreToolUse",
      "PostToolUse",
      "PostToolUseFailure",
      "PostToolBatch",
      "Notification",
      "UserPromptSubmit",
      "UserPromptExpansion",
      "SessionStart",
      "SessionEnd",
      "Stop",
      "StopFailure",
      "SubagentStart",
      "SubagentStop",
      "PreCompact",
      "PostCompact",
      "PreModelSwitch",
      "PostModelSwitch",
      "PermissionRequest",
      "PermissionDenied",
      "Setup",
      "TeammateIdle",
      "TaskCreated",
      "TaskCompleted",
      "Elicitation",
      "ElicitationResult",
      "ConfigChange",
      "WorktreeRemove",
      "InstructionsLoaded",
      "CwdChanged",
      "FileChanged",
      "DirectoryAdded",
      "MessageDisplay",
    ],
    command: () => [join(kModules, `@anthropic-ai/claude-code-linux-${kArchitecture}/claude`)],
    hooks(scene, more = {}, label = (event) => event) {
      return mapped(this.events, (event) => [
        {
          hooks: [
            {
              type: "command",
              command: process.execPath,
              args: recorderWords(scene, label(event)),
              ...more,
            },
          ],
        },
      ]);
    },
    prepare(scene) {
      const { hookMore = {}, settings = {} } = scene.options;
      write(join(scene.home, "mcp.json"), {
        mcpServers: {
          lock: { type: "stdio", command: process.execPath, args: [kServer, scene.records] },
        },
      });
      write(join(scene.repo, ".claude/settings.local.json"), {
        hooks: this.hooks(scene, hookMore),
        ...settings,
      });
      // Nobody answers what it asks at its first start in a terminal.
      if (scene.options.terminal)
        write(join(scene.home, ".claude.json"), {
          hasCompletedOnboarding: true,
          theme: "dark",
          customApiKeyResponses: { approved: ["dummy"], rejected: [] },
          projects: {
            [scene.repo]: { hasTrustDialogAccepted: true, hasCompletedProjectOnboarding: true },
          },
        });
    },
    words: ({ home, options }) => [
      ...(options.terminal ? [] : ["-p"]),
      options.prompt ?? "go",
      ...(options.terminal ? [] : ["--output-format", "stream-json", "--verbose"]),
      "--mcp-config",
      join(home, "mcp.json"),
      "--strict-mcp-config",
      ...(options.words ?? [
        "--permission-mode",
        "acceptEdits",
        "--allowedTools",
        "mcp__lock",
        "Bash",
        "ToolSearch",
        "NotebookEdit",
      ]),
    ],
    env: ({ url }) => ({
      ANTHROPIC_BASE_URL: url,
      ANTHROPIC_API_KEY: "dummy",
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
    }),
  },

  codex: {
    events: [
      "PreToolUse",
      "PermissionRequest",
      "PostToolUse",
      "PreCompact",
      "PostCompact",
      "SessionStart",
      "SessionEnd",
      "UserPromptSubmit",
      "SubagentStart",
      "SubagentStop",
      "Stop",
    ],
    command: () => [process.execPath, join(kModules, "@openai/codex/bin/codex.js")],
    hooks(scene, more = {}) {
      return mapped(this.events, (event) => [
        {
          hooks: [
            {
              type: "command",
              command: recorderLine(scene, event),
              ...more,
            },
          ],
        },
      ]);
    },
    prepare(scene) {
      const {
        hookMore = {},
        sandbox = "danger-full-access",
        approval = "never",
        config = "",
      } = scene.options;
      write(
        join(scene.home, ".codex/config.toml"),
        `
model_provider = "fake"
${approval && `approval_policy = "${approval}"`}
${sandbox && `sandbox_mode = "${sandbox}"`}
${config}
[model_providers.fake]
name = "fake"
base_url = "${scene.url}/v1"
wire_api = "responses"
env_key = "FAKE_KEY"
[projects."${scene.repo}"]
trust_level = "trusted"
[mcp_servers.lock]
command = "${process.execPath}"
args = ["${kServer}", "${scene.records}"]
`,
      );
      write(join(scene.home, ".codex/hooks.json"), { hooks: this.hooks(scene, hookMore) });
    },
    words: ({ repo, options }) => [
      "exec",
      "--json",
      "-m",
      "gpt-5.5",
      "-C",
      repo,
      ...(options.words ?? ["--dangerously-bypass-hook-trust"]),
      options.prompt ?? "go",
    ],
    env: () => ({ FAKE_KEY: "dummy" }),
  },

  gemini: {
    events: [
      "SessionStart",
      "SessionEnd",
      "BeforeAgent",
      "AfterAgent",
      "BeforeModel",
      "AfterModel",
      "BeforeToolSelection",
      "BeforeTool",
      "AfterTool",
      "PreCompress",
      "Notification",
    ],
    command: () => [process.execPath, join(kModules, "@google/gemini-cli/bundle/gemini.js")],
    hooks(scene, more = {}) {
      return mapped(
        this.events,
        (event) => [
          {
            hooks: [
              {
                type: "command",
                name: "record",
                command: recorderLine(scene, event),
                ...more,
              },
            ],
          },
        ],
        scene.options.only,
      );
    },
    prepare(scene) {
      const { hookMore = {}, settings = {} } = scene.options;
      write(join(scene.home, ".gemini/settings.json"), {
        security: { auth: { selectedType: "gemini-api-key" } },
        mcpServers: {
          lock: { command: process.execPath, args: [kServer, scene.records], trust: true },
        },
        hooks: this.hooks(scene, hookMore),
        ...settings,
      });
    },
    words: ({ options }) => [
      "-m",
      "gemini-2.5-flash",
      ...(options.trusted ? [] : ["--skip-trust"]),
      "--output-format",
      "stream-json",
      ...(options.words ?? ["--approval-mode", "yolo"]),
      "-p",
      options.prompt ?? "go",
    ],
    env: ({ url }) => ({ GEMINI_API_KEY: "dummy", GOOGLE_GEMINI_BASE_URL: url }),
  },

  copilot: {
    events: [
      "sessionStart",
      "sessionEnd",
      "userPromptSubmitted",
      "preToolUse",
      "postToolUse",
      "postToolUseFailure",
      "agentStop",
      "subagentStart",
      "subagentStop",
      "permissionRequest",
      "notification",
      "errorOccurred",
      "preCompact",
    ],
    command: () => [join(kModules, `@github/copilot-linux-${kArchitecture}/copilot`)],
    hooks(scene, more = {}) {
      return mapped(this.events, (event) => [
        { type: "command", bash: recorderLine(scene, event), ...more },
      ]);
    },
    prepare(scene) {
      const { hookMore = {} } = scene.options;
      const lock = {
        type: "local",
        command: process.execPath,
        args: [kServer, scene.records],
        tools: ["*"],
      };
      write(join(scene.home, ".copilot/mcp-config.json"), { mcpServers: { lock } });
      write(join(scene.home, ".copilot/hooks/record.json"), {
        version: 1,
        hooks: this.hooks(scene, hookMore),
      });
    },
    words: ({ options }) => [
      "-p",
      options.prompt ?? "go",
      ...(options.words ?? ["--allow-all-tools"]),
    ],
    env: ({ url }) => ({
      COPILOT_PROVIDER_BASE_URL: url,
      COPILOT_PROVIDER_TYPE: "anthropic",
      COPILOT_PROVIDER_API_KEY: "dummy",
      COPILOT_MODEL: "claude-sonnet-4",
    }),
  },

  opencode: {
    events: [],
    command: () => [join(kModules, `opencode-linux-${kArchitecture}/bin/opencode`)],
    prepare(scene) {
      const { settings = {} } = scene.options;
      write(join(scene.home, ".config/opencode/opencode.json"), {
        provider: { anthropic: { options: { baseURL: `${scene.url}/v1`, apiKey: "dummy" } } },
        model: "anthropic/claude-sonnet-4-5",
        mcp: {
          lock: {
            type: "local",
            command: [process.execPath, kServer, scene.records],
            enabled: true,
          },
        },
        autoupdate: false,
        ...(typeof settings === "function" ? settings(scene) : settings),
      });
    },
    words: ({ options }) => ["run", ...(options.words ?? []), options.prompt ?? "go"],
    env: ({ records }) => ({
      OPENCODE_DISABLE_AUTOUPDATE: "1",
      OPENCODE_DISABLE_MODELS_FETCH: "1",
      OPENCODE_DISABLE_LSP_DOWNLOAD: "1",
      RECORDS: records,
    }),
  },
};
