// What Copilot CLI's hooks do. copilot.mjs [SCENE…]
import { join } from "node:path";
import { agents, recorderLine, recorderWords, write } from "./agents.mjs";
import { call, calls, say } from "../model.mjs";
import { kCommon, outcomes } from "./outcomes.mjs";
import { recordsOf, sleep } from "./run.mjs";
import { play, scene } from "./scenes.mjs";

const f = ({ repo }, name) => join(repo, name);
const put = (s, name) => call("create", { path: f(s, name), file_text: "new\n" });
const edit = (s, name, from = "int x;", to = "int y;") =>
  call("edit", { path: f(s, name), old_str: from, new_str: to });
const shell = (command, more = {}) => call("bash", { command, description: "d", ...more });

scene("tools", {
  scripts: (s) => ({
    main: [
      calls(call("view", { path: f(s, "a.c") })),
      calls(edit(s, "a.c")),
      calls(put(s, "new.c")),
      calls(
        shell("echo hi > sh.txt; env | grep -E '^COPILOT|AGENT|CLAUDE' | grep -v KEY > env.txt"),
      ),
      calls(shell("exit 3")),
      calls(shell("rm b.c")),
      calls(call("lock-lock_echo", { resources: ["a.c"] })),
      say("done"),
    ],
  }),
});

scene("failing", {
  scripts: (s) => ({
    main: [
      calls(edit(s, "a.c", "absent")),
      calls(edit(s, "none.c")),
      calls(put(s, "b.c")),
      calls(put(s, "a.c/below.c")),
      calls(call("create", { file_text: "no path" })),
      say("done"),
    ],
  }),
});
scene("denied", {
  words: [],
  scripts: (s) => ({
    main: [
      calls(edit(s, "a.c")),
      calls(put(s, "new.c")),
      calls(shell("touch x.txt")),
      calls(call("lock-lock_echo", {})),
      say("done"),
    ],
  }),
});
scene("parallel", {
  answers: [
    {
      name: "deny",
      label: "preToolUse",
      match: "c.c",
      json: { permissionDecision: "deny", permissionDecisionReason: "TEXT-held" },
    },
  ],
  scripts: (s) => ({
    main: [
      calls(edit(s, "a.c"), edit(s, "b.c")),
      calls(edit(s, "c.c"), edit(s, "d.c")),
      calls(shell("sleep 0.6; echo 1"), shell("sleep 0.6; echo 2"), put(s, "p.x")),
      say("done"),
    ],
  }),
});
scene("background", {
  settle: 3500,
  scripts: () => ({
    main: [calls(shell("sleep 3; echo late > late.txt", { mode: "async" })), say("done")],
  }),
});
scene("background_detached", {
  settle: 3500,
  scripts: () => ({
    main: [
      calls(shell("sleep 3; echo late > late.txt", { mode: "async", detach: true })),
      say("done"),
    ],
  }),
});
scene("subagent", {
  scripts: (s) => ({
    main: [
      calls(
        call("task", {
          description: "d",
          prompt: "SCRIPT=sub go",
          agent_type: "general-purpose",
          name: "sub",
          mode: "sync",
        }),
      ),
      say("done"),
    ],
    sub: [
      calls(edit(s, "a.c")),
      calls(shell("env | grep -E '^COPILOT|AGENT' | grep -v KEY > env.txt")),
      calls(call("lock-lock_echo", { resources: ["b.c"] })),
      say("sub done"),
    ],
  }),
});
scene("subagent_background", {
  scripts: (s) => ({
    main: [
      calls(
        call("task", {
          description: "d",
          prompt: "SCRIPT=sub go",
          agent_type: "general-purpose",
          name: "sub",
          mode: "background",
        }),
      ),
      calls(shell("sleep 2")),
      say("done"),
    ],
    sub: [calls(edit(s, "a.c")), calls(shell("sleep 3; echo x > late.txt")), say("sub done")],
  }),
});

const kPre = {
  ...kCommon,
  flat_deny_no_reason: { json: { permissionDecision: "deny" } },
  flat_deny_unknown: {
    json: { permissionDecision: "deny", permissionDecisionReason: "TEXT-du", extra: 1 },
  },
  flat_ask: { json: { permissionDecision: "ask", permissionDecisionReason: "TEXT-ask" } },
  nested_deny: {
    json: {
      hookSpecificOutput: {
        hookEventName: "PreToolUse",
        permissionDecision: "deny",
        permissionDecisionReason: "TEXT-nested",
      },
    },
  },
  context: { json: { additionalContext: "TEXT-context" } },
  exit2_json: {
    exit: 2,
    stderr: "TEXT-both",
    json: { permissionDecision: "deny", permissionDecisionReason: "TEXT-json" },
  },
  exit1_json: {
    exit: 1,
    stderr: "TEXT-both",
    json: { permissionDecision: "deny", permissionDecisionReason: "TEXT-json" },
  },
  slow: { sleep: 6000 },
};
scene("outcomes", outcomes("preToolUse", put, kPre, { hookMore: { timeoutSec: 2 } }));
scene(
  "outcomes_closed",
  outcomes(
    "preToolUse",
    put,
    { slow: { sleep: 6000 }, segv: kPre.segv, garbage: kPre.garbage, empty: {} },
    { hookMore: { timeoutSec: 2, onFailure: "block", failClosed: true } },
  ),
);

const kAll = [
  "sessionStart",
  "userPromptSubmitted",
  "preToolUse",
  "postToolUse",
  "postToolUseFailure",
  "agentStop",
];
const talk = (s) => ({
  main: [calls(put(s, "new.c")), calls(edit(s, "a.c", "absent")), say("done")],
});
scene("context", {
  odd: true,
  scripts: talk,
  answers: kAll.map((event) => ({
    name: event,
    label: event,
    once: event,
    json: { additionalContext: `TEXT-${event}` },
  })),
});
scene("context_plain", {
  odd: true,
  scripts: talk,
  answers: kAll.map((event) => ({
    name: event,
    label: event,
    once: event,
    stdout: `TEXT-${event}`,
  })),
});
scene("context_block", {
  odd: true,
  scripts: talk,
  answers: ["postToolUse", "postToolUseFailure", "agentStop"].map((event) => ({
    name: event,
    label: event,
    once: event,
    json: { decision: "block", reason: `TEXT-${event}` },
  })),
});
scene("context_exit2", {
  odd: true,
  scripts: talk,
  answers: ["postToolUse", "postToolUseFailure", "agentStop"].map((event) => ({
    name: event,
    label: event,
    once: event,
    exit: 2,
    stderr: `TEXT-${event}`,
  })),
});
scene("rewrite", {
  odd: true,
  answers: [
    {
      label: "preToolUse",
      tool: "lock-lock_echo",
      json: { modifiedArgs: { resources: ["a.c"], owner: "copilot/s1" } },
    },
  ],
  scripts: () => ({ main: [calls(call("lock-lock_echo", { resources: ["a.c"] })), say("done")] }),
});
scene("rewrite_denied", {
  odd: true,
  words: [],
  answers: [
    {
      label: "preToolUse",
      tool: "lock-lock_echo",
      json: { modifiedArgs: { resources: ["a.c"], owner: "copilot/s1" } },
    },
  ],
  scripts: () => ({ main: [calls(call("lock-lock_echo", { resources: ["a.c"] })), say("done")] }),
});

// Every place it may read, each with a label of its own; `trusted` puts the folder on its list.
const places = (trusted, args) => ({
  odd: true,
  arrange(s) {
    const entry = (label) => ({ type: "command", bash: recorderLine(s, label), timeoutSec: 10 });
    const own = (label) => ({ version: 1, hooks: { preToolUse: [entry(label)] } });
    const claude = (label) => ({
      hooks: {
        PreToolUse: [
          {
            matcher: "Write|Edit",
            hooks: [
              {
                type: "command",
                ...(args
                  ? { command: process.execPath, args: recorderWords(s, label) }
                  : { command: recorderLine(s, label) }),
                timeout: 10,
                onFailure: "block",
              },
            ],
          },
        ],
        Stop: [{ hooks: [{ type: "command", command: recorderLine(s, `${label}-stop`) }] }],
      },
    }); // (other events of Claude's likewise)
    write(join(s.home, ".copilot/hooks/pascal.json"), {
      version: 1,
      hooks: { PreToolUse: [entry("user-Pascal")], PostToolUse: [entry("user-PascalPost")] },
    });
    write(join(s.home, ".copilot/hooks/args.json"), {
      version: 1,
      hooks: {
        preToolUse: [
          { type: "command", command: recorderLine(s, "user-command") },
          { type: "command", bash: recorderLine(s, "user-matcher"), matcher: "create|edit" },
          { type: "command", bash: recorderLine(s, "user-matcher-no"), matcher: "bash" },
        ],
      },
    });
    write(join(s.home, ".copilot/settings.json"), own("user-settings"));
    write(join(s.repo, ".github/hooks/a.json"), own("repo-github"));
    write(join(s.repo, ".github/copilot/settings.json"), own("repo-settings"));
    write(join(s.repo, ".github/copilot/settings.local.json"), own("repo-settings-local"));
    write(join(s.repo, ".claude/settings.json"), claude("repo-claude"));
    write(join(s.repo, ".claude/settings.local.json"), claude("repo-claude-local"));
    write(join(s.home, ".claude/settings.json"), claude("user-claude"));
    if (trusted) write(join(s.home, ".copilot/config.json"), { trustedFolders: [s.repo] });
  },
  scripts: (s) => ({ main: [calls(put(s, "new.c")), say("done")] }),
});
scene("places", places(true));
scene("places_untrusted", places(false));
scene("places_args", places(true, true)); // Claude's exec form, as it would be installed for Claude

// Claude's hooks in the repository, run by Copilot: which dialect does it want back?
const kClaude = {
  empty: {},
  nested_deny: kPre.nested_deny,
  flat_deny: kPre.flat_deny,
  decision_block: kPre.decision_block,
  exit2: kPre.exit2,
  exit2_both: { exit: 2, stderr: "TEXT-stderr", json: kPre.nested_deny.json },
  nested_and_flat: {
    json: {
      ...kPre.nested_deny.json,
      permissionDecision: "deny",
      permissionDecisionReason: "TEXT-flat",
    },
  },
  nested_ask: {
    json: {
      hookSpecificOutput: {
        hookEventName: "PreToolUse",
        permissionDecision: "ask",
        permissionDecisionReason: "TEXT-ask",
      },
    },
  },
  nested_context: {
    json: {
      hookSpecificOutput: { hookEventName: "PreToolUse", additionalContext: "TEXT-context" },
    },
  },
  exit1: kPre.exit1,
};
scene(
  "outcomes_claude",
  outcomes("claude", put, kClaude, {
    arrange(s) {
      write(join(s.home, ".copilot/hooks/record.json"), { version: 1, hooks: {} });
      write(join(s.home, ".copilot/config.json"), { trustedFolders: [s.repo] });
      const events = [
        "PreToolUse",
        "PostToolUse",
        "PostToolUseFailure",
        "PostToolBatch",
        "Stop",
        "SessionStart",
        "SessionEnd",
        "UserPromptSubmit",
        "SubagentStart",
        "SubagentStop",
        "Notification",
        "PermissionRequest",
      ];
      const hooks = Object.fromEntries(
        events.map((event) => [
          event,
          [
            {
              hooks: [
                {
                  type: "command",
                  command: recorderLine(s, event === "PreToolUse" ? "claude" : `claude${event}`),
                  onFailure: "block",
                },
              ],
            },
          ],
        ]),
      );
      write(join(s.repo, ".claude/settings.json"), { hooks });
    },
  }),
);

const interrupted = (signal, step, more = {}) => ({
  odd: true,
  settle: 5000,
  ...more,
  scripts: (s) => ({ main: [calls(put(s, "new.c")), calls(step(s)), say("done")] }),
  async during({ scene: s, child }) {
    const has = () => recordsOf(s).filter((each) => each.label === "preToolUse").length > 1;
    while (!has() && child.exitCode === null) await sleep(50);
    await sleep(1200);
    child.kill(signal);
  },
});
scene(
  "kill_in_bash",
  interrupted("SIGKILL", () => shell("sleep 4; echo late > late.txt")),
);
scene(
  "term_in_bash",
  interrupted("SIGTERM", () => shell("sleep 4; echo late > late.txt")),
);
scene(
  "int_in_bash",
  interrupted("SIGINT", () => shell("sleep 4; echo late > late.txt")),
);

await play("copilot");
