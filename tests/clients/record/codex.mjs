// What Codex's hooks do. codex.mjs [SCENE…]
import { join } from "node:path";
import { agents, recorderLine, write } from "./agents.mjs";
import { call, calls, callText, say } from "../model.mjs";
import { kCommon, outcomes } from "./outcomes.mjs";
import { recordsOf, sleep } from "./run.mjs";
import { play, scene } from "./scenes.mjs";

const patch = (...lines) =>
  callText("apply_patch", ["*** Begin Patch", ...lines, "*** End Patch", ""].join("\n"));
const add = (name) => [`*** Add File: ${name}`, "+new"];
const update = (name, from = "int x;", to = "int y;") => [
  `*** Update File: ${name}`,
  "@@",
  `-${from}`,
  `+${to}`,
];
const put = (_, name) => patch(...add(name));
const shell = (cmd, more = {}) => call("exec_command", { cmd, ...more });

scene("tools", {
  scripts: () => ({
    main: [
      calls(patch(...update("a.c"))),
      calls(patch(...add("new.c"))),
      calls(
        patch(
          ...update("b.c"),
          "*** Delete File: c.c",
          "*** Update File: d.c",
          "*** Move to: moved.c",
          "@@",
          "-int x;",
          "+int z;",
        ),
      ),
      calls(shell("echo hi > sh.txt; env | grep -E 'CODEX|AGENT|THREAD' > env.txt")),
      calls(shell("exit 3")),
      calls(
        shell(
          "apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: viashell.c\n+x\n*** End Patch\nEOF",
        ),
      ),
      calls(call("lock_echo", { resources: ["a.c"] })),
      say("done"),
    ],
  }),
});

scene("failing", {
  scripts: () => ({
    main: [
      calls(patch(...update("a.c", "absent"))), // context not found
      calls(patch(...update("none.c"))), // no such file
      calls(patch(...add("ok.c"), ...update("b.c", "absent"))), // half of it would work
      calls(callText("apply_patch", "garbage")),
      calls(patch(...add("a.c"))), // Add File over an existing one
      say("done"),
    ],
  }),
});

// exec's own defaults: no policy, no sandbox setting.
scene("denied", {
  sandbox: "",
  approval: "",
  scripts: () => ({
    main: [
      calls(patch(...update("a.c"))),
      calls(shell("touch x.txt")),
      calls(call("lock_echo", {})),
      say("done"),
    ],
  }),
});
scene("denied_readonly", {
  sandbox: "read-only",
  approval: "",
  scripts: () => ({
    main: [calls(patch(...update("a.c"))), calls(shell("touch x.txt")), say("done")],
  }),
});
scene("workspace_write", {
  sandbox: "workspace-write",
  approval: "",
  scripts: (s) => ({
    main: [
      calls(patch(...update("a.c"))),
      calls(shell("touch x.txt; touch .git/y; ls -la .git | head -3")),
      calls(patch(`*** Add File: ${s.folder}/outside.c`, "+x")),
      say("done"),
    ],
  }),
});

scene("parallel", {
  answers: [
    { name: "deny", label: "PreToolUse", id: "call_main_1_0", exit: 2, stderr: "no: held" },
  ],
  scripts: () => ({
    main: [
      calls(patch(...update("a.c")), patch(...update("b.c"))),
      calls(patch(...update("c.c")), patch(...update("d.c"))),
      calls(shell("sleep 0.4; echo 1"), shell("sleep 0.4; echo 2"), patch(...add("p.c"))),
      say("done"),
    ],
  }),
});

scene("background", {
  settle: 3500,
  scripts: () => ({
    main: [calls(shell("sleep 3; echo late > late.txt", { yield_time_ms: 300 })), say("done")],
  }),
});
let running = 0;
scene("background_read", {
  settle: 500,
  scripts: () => ({
    main: [
      calls(shell("sleep 2; echo late > late.txt", { yield_time_ms: 300 })),
      (news) => {
        running = Number(/session ID (\d+)/.exec(news)[1]);
        return calls(call("write_stdin", { session_id: running, chars: "", yield_time_ms: 300 }));
      },
      () => calls(call("write_stdin", { session_id: running, chars: "", yield_time_ms: 8000 })),
      say("done"),
    ],
  }),
});
scene("background_polled", {
  settle: 500,
  scripts: () => ({
    main: [
      calls(shell("sleep 1; echo late > late.txt", { yield_time_ms: 300 })),
      calls(shell("sleep 2")),
      say("done"),
    ],
  }),
});

const sub = (name) =>
  call("spawn_agent", { message: `SCRIPT=${name} go`, task_name: name, agent_type: "default" });
scene("subagent", {
  scripts: () => ({
    main: [
      calls(sub("sub")),
      calls(call("wait_agent", { ids: ["?"], timeout_ms: 8000 })),
      calls(shell("sleep 3")),
      say("done"),
    ],
    sub: [
      calls(patch(...update("a.c"))),
      calls(shell("env | grep -E 'CODEX_(SESSION|THREAD|TOOL)' > env.txt")),
      calls(call("lock_echo", { resources: ["b.c"] })),
      say("sub done"),
    ],
  }),
});

const special = (hookEventName, more) => ({
  json: { hookSpecificOutput: { hookEventName, ...more } },
});
const pre = (more) => special("PreToolUse", more);
const kPre = {
  ...kCommon,
  deny: pre({ permissionDecision: "deny", permissionDecisionReason: "TEXT-deny" }),
  deny_context: pre({
    permissionDecision: "deny",
    permissionDecisionReason: "TEXT-deny",
    additionalContext: "TEXT-context",
  }),
  deny_no_reason: pre({ permissionDecision: "deny" }),
  ask: pre({ permissionDecision: "ask", permissionDecisionReason: "TEXT-ask" }),
  context: pre({ additionalContext: "TEXT-context" }),
  nothing_special: pre({}),
  deny_unknown: {
    json: {
      hookSpecificOutput: {
        hookEventName: "PreToolUse",
        permissionDecision: "deny",
        permissionDecisionReason: "TEXT-du",
      },
      extra: 1,
    },
  },
  block_exit2: { exit: 2, stderr: "TEXT-both", json: { decision: "block", reason: "TEXT-json" } },
  continue_false: { json: { continue: false, stopReason: "TEXT-stop" } },
  slow: { sleep: 6000 },
};
scene("outcomes", outcomes("PreToolUse", put, kPre, { hookMore: { timeout: 2 } }));
scene(
  "outcomes_closed",
  outcomes(
    "PreToolUse",
    put,
    { exit1: kPre.exit1, segv: kPre.segv, slow: kPre.slow, empty: {} },
    { hookMore: { timeout: 2, onFailure: "block", failClosed: true } },
  ),
);

const kAll = [
  "SessionStart",
  "UserPromptSubmit",
  "PreToolUse",
  "PostToolUse",
  "SubagentStart",
  "SubagentStop",
  "Stop",
];
const talk = (s) => ({
  main: [calls(put(s, "new.c")), calls(shell("exit 3")), say("done")],
});
scene("context", {
  odd: true,
  scripts: talk,
  answers: kAll.map((event) => ({
    name: event,
    label: event,
    once: event,
    ...special(event, { additionalContext: `TEXT-${event}` }),
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
scene("context_exit2", {
  odd: true,
  scripts: talk,
  answers: ["PostToolUse", "Stop", "SessionEnd"].map((event) => ({
    name: event,
    label: event,
    once: event,
    exit: 2,
    stderr: `TEXT-${event}`,
  })),
});
scene("context_block", {
  odd: true,
  scripts: talk,
  answers: ["PostToolUse", "Stop"].map((event) => ({
    name: event,
    label: event,
    once: event,
    json: { decision: "block", reason: `TEXT-${event}` },
  })),
});
scene("context_system", {
  odd: true,
  scripts: talk,
  answers: kAll.map((event) => ({
    name: event,
    label: event,
    once: event,
    json: { systemMessage: `TEXT-${event}` },
  })),
});

scene("rewrite", {
  odd: true,
  answers: [
    {
      label: "PreToolUse",
      tool: "mcp__lock__lock_echo",
      ...pre({ updatedInput: { resources: ["a.c"], owner: "codex/s1" } }),
    },
  ],
  scripts: () => ({ main: [calls(call("lock_echo", { resources: ["a.c"] })), say("done")] }),
});
scene("rewrite_allow", {
  odd: true,
  answers: [
    {
      label: "PreToolUse",
      tool: "mcp__lock__lock_echo",
      ...pre({
        permissionDecision: "allow",
        updatedInput: { resources: ["a.c"], owner: "codex/s1" },
      }),
    },
  ],
  scripts: () => ({ main: [calls(call("lock_echo", { resources: ["a.c"] })), say("done")] }),
});

// The shell that Codex starts can turn a crash into a refusal.
scene("crash_guard", {
  odd: true,
  arrange(s) {
    const command = `${recorderLine(s, "guarded")} || { echo "TEXT-crashed ($?)" >&2; exit 2; }`;
    write(join(s.home, ".codex/hooks.json"), {
      hooks: { PreToolUse: [{ hooks: [{ type: "command", command }] }] },
    });
  },
  answers: [
    { match: "segv.c", signal: "SIGSEGV" },
    { match: "exit1.c", exit: 1, stderr: "own words\n" },
  ],
  scripts: (s) => ({
    main: [calls(put(s, "segv.c")), calls(put(s, "exit1.c")), calls(put(s, "fine.c")), say("done")],
  }),
});
scene("untrusted", {
  odd: true,
  words: [],
  scripts: (s) => ({ main: [calls(put(s, "new.c")), say("done")] }),
});
// The same line in user and project files; a matcher of Claude's; words as args.
scene("places", {
  odd: true,
  arrange(s) {
    const hooks = agents.codex.hooks(s);
    const one = (label, matcher, more = {}) => ({
      matcher,
      hooks: [{ type: "command", command: recorderLine(s, label), ...more }],
    });
    write(join(s.repo, ".codex/hooks.json"), {
      hooks: {
        PreToolUse: [
          ...hooks.PreToolUse,
          one("project", "Write|Edit"),
          one("regex", "^apply_patch$"),
          one("bash", "Bash"),
          one("multi", "Edit|Write|Bash"),
          {
            hooks: [
              {
                type: "command",
                command: process.execPath,
                args: recorderLine(s, "args").split(" ").slice(1),
              },
            ],
          },
        ],
      },
    });
  },
  scripts: (s) => ({ main: [calls(put(s, "new.c")), calls(shell("true")), say("done")] }),
});

const interrupted = (signal, step, more = {}) => ({
  odd: true,
  settle: 5000,
  ...more,
  scripts: (s) => ({ main: [calls(put(s, "new.c")), calls(step(s)), say("done")] }),
  async during({ scene: s, child }) {
    const has = () => recordsOf(s).filter((each) => each.label === "PreToolUse").length > 1;
    while (!has() && child.exitCode === null) await sleep(50);
    await sleep(700);
    // The native program, not the node that started it.
    const native = recordsOf(s)[0].ancestors[0].pid;
    process.kill(native, signal);
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
scene(
  "kill_in_hook",
  interrupted("SIGKILL", (s) => put(s, "new2.c"), {
    answers: [{ label: "PreToolUse", match: "new2.c", sleep: 4000 }],
  }),
);

await play("codex");
