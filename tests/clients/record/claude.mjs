// What Claude Code's hooks do. claude.mjs [SCENE…]; results go to $HOOK_RUNS, payloads to $HOOK_PAYLOADS.
import { chmodSync, existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { call, calls, say } from "../model.mjs";
import { kCommon, outcomes } from "./outcomes.mjs";
import { agents, recorderLine, recorderWords, write } from "./agents.mjs";
import { recordsOf, sleep } from "./run.mjs";
import { play, scene } from "./scenes.mjs";

const f = ({ repo }, name) => join(repo, name);
const read = (s, name) => call("Read", { file_path: f(s, name) });
const edit = (s, name, from = "int x;", to = "int y;") =>
  call("Edit", { file_path: f(s, name), old_string: from, new_string: to });
const put = (s, name, content = "new\n") => call("Write", { file_path: f(s, name), content });
const bash = (command, more = {}) => call("Bash", { command, description: "d", ...more });

scene("tools", {
  scripts: (s) => ({
    main: [
      calls(read(s, "a.c")),
      calls(edit(s, "a.c")),
      calls(put(s, "new.c")),
      calls(read(s, "n.ipynb")),
      calls(
        call("NotebookEdit", {
          notebook_path: f(s, "n.ipynb"),
          cell_id: "c1",
          new_source: "x = 2",
        }),
      ),
      calls(bash("echo hi > sh.txt")),
      calls(bash("exit 3")),
      calls(bash("rm b.c")),
      calls(call("lock_echo", { resources: ["a.c"] })),
      calls(call("MultiEdit", { file_path: f(s, "c.c"), edits: [] })),
      say("done"),
    ],
  }),
});

scene("failing", {
  scripts: (s) => ({
    main: [
      calls(edit(s, "a.c")), // never read
      calls(read(s, "a.c")),
      calls(edit(s, "a.c", "absent")), // not found
      calls(bash("echo 'int z;' >> a.c")),
      calls(edit(s, "a.c")), // stale? (own shell changed it)
      calls(put(s, "b.c")), // whole write, never read
      calls(edit(s, "none.c")), // no such file
      calls(put(s, "a.c/below.c")), // cannot be made
      say("done"),
    ],
  }),
});

scene("denied", {
  words: [],
  scripts: (s) => ({
    main: [
      calls(read(s, "a.c")),
      calls(edit(s, "a.c")),
      calls(put(s, "new.c")),
      calls(bash("touch x.txt")),
      calls(call("lock_echo", {})),
      calls(edit(s, "a.c"), put(s, "n2.c")),
      say("done"),
    ],
  }),
});

scene("denied_by_rule", {
  settings: { permissions: { deny: ["Edit(./a.c)", "Bash(touch *)"] } },
  scripts: (s) => ({
    main: [
      calls(read(s, "a.c"), read(s, "b.c")),
      calls(edit(s, "a.c"), edit(s, "b.c")),
      calls(bash("touch x.txt")),
      say("done"),
    ],
  }),
});

scene("parallel", {
  answers: [
    { name: "deny", label: "PreToolUse", id: "toolu_main_2_0", exit: 2, stderr: "no: held" },
  ],
  scripts: (s) => ({
    main: [
      calls(read(s, "a.c"), read(s, "b.c"), read(s, "c.c"), read(s, "d.c")),
      calls(edit(s, "a.c"), edit(s, "b.c")),
      calls(edit(s, "c.c"), edit(s, "d.c")),
      calls(bash("sleep 0.3; echo 1"), bash("sleep 0.3; echo 2"), put(s, "p.c")),
      say("done"),
    ],
  }),
});

scene("background", {
  settle: 3000,
  scripts: (s) => ({
    main: [calls(bash("sleep 3; echo late > late.txt", { run_in_background: true })), say("done")],
  }),
});

scene("subagent", {
  scripts: (s) => ({
    main: [
      calls(
        call("Agent", {
          description: "d",
          prompt: "SCRIPT=sub go",
          subagent_type: "general-purpose",
        }),
      ),
      say("done"),
    ],
    sub: [
      calls(read(s, "a.c")),
      calls(edit(s, "a.c")),
      calls(bash("env | grep -i -E '^(CLAUDE|AI_AGENT)' | grep -v -i -E 'token|socket' > env.txt")),
      calls(call("lock_echo", { resources: ["b.c"] })),
      say("sub done"),
    ],
  }),
});

scene("subagents_two", {
  scripts: (s) => ({
    main: [
      calls(
        call("Agent", {
          description: "one",
          prompt: "SCRIPT=one go",
          subagent_type: "general-purpose",
          run_in_background: false,
        }),
        call("Agent", {
          description: "two",
          prompt: "SCRIPT=two go",
          subagent_type: "general-purpose",
          run_in_background: false,
        }),
      ),
      calls(read(s, "c.c")),
      calls(edit(s, "c.c")),
      say("done"),
    ],
    one: [calls(read(s, "a.c")), calls(edit(s, "a.c")), say("one done")],
    two: [calls(read(s, "b.c")), calls(edit(s, "b.c")), say("two done")],
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
  ask: pre({ permissionDecision: "ask", permissionDecisionReason: "TEXT-ask" }),
  context: pre({ additionalContext: "TEXT-context" }),
  nothing_special: pre({}),
  wrong_event: special("PostToolUse", {
    permissionDecision: "deny",
    permissionDecisionReason: "TEXT-wrong",
  }),
  slow: { sleep: 6000 },
};
scene("outcomes", outcomes("PreToolUse", put, kPre, { hookMore: { timeout: 2 } }));
scene(
  "outcomes_closed",
  outcomes("PreToolUse", put, kPre, { hookMore: { timeout: 2, onFailure: "block" } }),
);

// Text for the model, from every event that has a chance.
const kAll = [
  "SessionStart",
  "UserPromptSubmit",
  "PreToolUse",
  "PostToolUse",
  "PostToolUseFailure",
  "PostToolBatch",
  "SubagentStart",
  "SubagentStop",
  "Stop",
  "PermissionRequest",
];
const talk = (s) => ({
  main: [
    calls(put(s, "new.c")),
    calls(bash("exit 3")),
    calls(
      call("Agent", {
        description: "d",
        prompt: "SCRIPT=sub go",
        subagent_type: "general-purpose",
        run_in_background: false,
      }),
    ),
    say("done"),
  ],
  sub: [calls(put(s, "sub.c")), say("sub done")],
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
  answers: kAll
    .filter((event) => !/UserPrompt|SessionStart|PreToolUse|PostToolBatch/.test(event))
    .map((event) => ({ name: event, label: event, once: event, exit: 2, stderr: `TEXT-${event}` })),
});
scene("context_block", {
  odd: true,
  scripts: talk,
  answers: ["PostToolUse", "PostToolUseFailure", "SubagentStop", "Stop"].map((event) => ({
    name: event,
    label: event,
    once: event,
    json: { decision: "block", reason: `TEXT-${event}` },
  })),
});
scene("batch_exit2", {
  odd: true,
  scripts: talk,
  answers: [{ label: "PostToolBatch", exit: 2, stderr: "TEXT-batch" }],
});
scene("batch_block", {
  odd: true,
  scripts: talk,
  answers: [{ label: "PostToolBatch", json: { decision: "block", reason: "TEXT-batch" } }],
});
scene("batch_failures", {
  odd: true,
  scripts: talk,
  hookMore: { onFailure: "block", timeout: 1 },
  answers: [
    { label: "PostToolBatch", once: "a", exit: 1, stderr: "TEXT-exit1" },
    { label: "PostToolBatch", once: "b", sleep: 3000 },
  ],
});
scene("stop_failures", {
  odd: true,
  hookMore: { onFailure: "block", timeout: 1 },
  scripts: (s) => ({ main: [calls(put(s, "new.c")), say("done")] }),
  answers: [
    { label: "Stop", once: "a", exit: 1, stderr: "TEXT-exit1" },
    { label: "UserPromptSubmit", once: "b", exit: 1, stderr: "TEXT-prompt" },
    { label: "PostToolUse", once: "b", exit: 1, stderr: "TEXT-post" },
  ],
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
      ...pre({ updatedInput: { resources: ["a.c"], owner: "claude/s1" } }),
    },
    {
      label: "PreToolUse",
      tool: "Bash",
      ...pre({ updatedInput: { command: "echo rewritten", description: "d" } }),
    },
  ],
  scripts: () => ({
    main: [
      calls(call("lock_echo", { resources: ["a.c"] })),
      calls(bash("echo original")),
      say("done"),
    ],
  }),
});
scene("rewrite_default_permissions", {
  odd: true,
  words: [],
  answers: [
    {
      label: "PreToolUse",
      tool: "mcp__lock__lock_echo",
      ...pre({ updatedInput: { resources: ["a.c"], owner: "claude/s1" } }),
    },
  ],
  scripts: () => ({ main: [calls(call("lock_echo", { resources: ["a.c"] })), say("done")] }),
});

// The same command in three files runs once; what differs runs each time.
scene("places", {
  odd: true,
  arrange(s) {
    const hooks = agents.claude.hooks(s);
    write(join(s.home, ".claude/settings.json"), {
      hooks: {
        ...hooks,
        PreToolUse: [
          ...hooks.PreToolUse,
          ...agents.claude.hooks(s, {}, (e) => `${e}-user`).PreToolUse,
        ],
      },
    });
    write(join(s.repo, ".claude/settings.json"), {
      hooks: {
        ...hooks,
        PreToolUse: [
          ...hooks.PreToolUse,
          ...agents.claude.hooks(s, {}, (e) => `${e}-project`).PreToolUse,
          {
            matcher: "Write|Edit",
            hooks: [{ type: "command", command: recorderLine(s, "PreToolUse-shell") }],
          },
        ],
      },
    });
  },
  scripts: (s) => ({ main: [calls(put(s, "new.c")), say("done")] }),
});

// A program that needs no words: is an empty list of them still the form without a shell?
scene("no_args", {
  odd: true,
  arrange(s) {
    const program = join(s.folder, "program");
    write(program, `#!/bin/sh\nexec ${recorderLine(s, "PreToolUse")} "$@"\n`);
    chmodSync(program, 0o755);
    write(join(s.repo, ".claude/settings.local.json"), {
      hooks: { PreToolUse: [{ hooks: [{ type: "command", command: program, args: [] }] }] },
    });
  },
  scripts: (s) => ({ main: [calls(put(s, "new.c")), say("done")] }),
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
    child.kill(signal);
  },
});
const longBash = () => bash("sleep 4; echo late > late.txt");
scene("kill_in_bash", interrupted("SIGKILL", longBash));
scene("term_in_bash", interrupted("SIGTERM", longBash));
scene("int_in_bash", interrupted("SIGINT", longBash));
scene(
  "kill_in_hook",
  interrupted("SIGKILL", (s) => put(s, "new2.c"), {
    settle: 5000,
    answers: [{ label: "PreToolUse", match: "new2.c", sleep: 4000 }],
  }),
);

scene("rewake_alone", {
  odd: true,
  settle: 1000,
  arrange(s) {
    const hooks = agents.claude.hooks(s);
    hooks.PostToolUse.push({
      matcher: "Write",
      hooks: [
        {
          type: "command",
          command: process.execPath,
          args: recorderWords(s, "rewake"),
          asyncRewake: true,
        },
      ],
    });
    hooks.Stop.push({
      hooks: [
        {
          type: "command",
          command: process.execPath,
          args: recorderWords(s, "rewake-stop"),
          asyncRewake: true,
        },
      ],
    });
    write(join(s.repo, ".claude/settings.local.json"), { hooks });
  },
  answers: [
    { label: "rewake", sleep: 2500, exit: 2, stderr: "TEXT-rewake" },
    { label: "rewake-stop", sleep: 4000, once: "r", exit: 2, stderr: "TEXT-stop-rewake" },
  ],
  scripts: (s) => ({ main: [calls(put(s, "new.c")), calls(bash("sleep 4")), say("done")] }),
});
const rewaking = (event, more, ms, shell) => ({
  odd: true,
  settle: 1000,
  arrange(s) {
    const hooks = agents.claude.hooks(s);
    const how = shell
      ? { command: recorderLine(s, "rewake") }
      : { command: process.execPath, args: recorderWords(s, "rewake") };
    hooks[event].push({ hooks: [{ type: "command", ...how, ...more }] });
    write(join(s.repo, ".claude/settings.local.json"), { hooks });
  },
  answers: [{ label: "rewake", sleep: ms, once: "r", exit: 2, stderr: "TEXT-rewake" }],
  scripts: (s) => ({ main: [calls(put(s, "new.c")), calls(bash("sleep 3")), say("done")] }),
});
scene("rewake_in_turn", rewaking("PostToolUse", { async: true, asyncRewake: true }, 1000));
scene("rewake_shell", rewaking("PostToolUse", { asyncRewake: true }, 6000, true));
scene("rewake_shell_both", rewaking("PostToolUse", { async: true, asyncRewake: true }, 6000, true));
scene("rewake_stop", rewaking("Stop", { async: true, asyncRewake: true }, 3000));
scene("rewake", {
  odd: true,
  settle: 1000,
  arrange(s) {
    const hooks = agents.claude.hooks(s);
    hooks.PostToolUse.push({
      matcher: "Write",
      hooks: [
        {
          type: "command",
          command: process.execPath,
          args: recorderWords(s, "rewake"),
          async: true,
          asyncRewake: true,
        },
      ],
    });
    write(join(s.repo, ".claude/settings.local.json"), { hooks });
  },
  answers: [{ label: "rewake", sleep: 2500, exit: 2, stderr: "TEXT-rewake" }],
  scripts: (s) => ({ main: [calls(put(s, "new.c")), say("done")] }),
});
scene("async", {
  odd: true,
  settle: 1000,
  arrange(s) {
    const hooks = agents.claude.hooks(s);
    hooks.PostToolUse.push({
      matcher: "Write",
      hooks: [
        {
          type: "command",
          command: process.execPath,
          args: recorderWords(s, "async"),
          async: true,
        },
      ],
    });
    write(join(s.repo, ".claude/settings.local.json"), { hooks });
  },
  answers: [
    { label: "async", sleep: 1000, ...special("PostToolUse", { additionalContext: "TEXT-async" }) },
  ],
  scripts: (s) => ({ main: [calls(put(s, "new.c")), calls(bash("sleep 2")), say("done")] }),
});

// In a terminal: a permission prompt that nobody answers for a while, then Esc; Esc during a Bash; end
// by Ctrl-C twice.
const kEsc = "\u001b";
const sessions = (s) => {
  const folder = join(s.home, ".claude/sessions");
  return existsSync(folder)
    ? readdirSync(folder)
        .filter((each) => each.endsWith(".json"))
        .map((each) => JSON.parse(readFileSync(join(folder, each), "utf8")))
        .map(({ status, waitingFor, pid }) => JSON.stringify({ status, waitingFor, pid }))
    : [];
};
const typed = (plan, more = {}) => ({
  terminal: true,
  patience: 60_000,
  env: { TERM: "xterm-256color" },
  ...more,
  input: () => {},
  async during({ scene: s, child, out }) {
    const labels = () => recordsOf(s).map((each) => each.label);
    const until = async (label, count = 1) => {
      const end = Date.now() + 20_000;
      while (labels().filter((each) => each === label).length < count && Date.now() < end)
        await sleep(100);
    };
    const press = async (keys, wait = 1000) => (child.stdin.write(keys), sleep(wait));
    await plan({ s, until, press, out, note: (what) => console.log(what, sessions(s).join(" ")) });
    await press("\u0003", 400);
    await press("\u0003", 400);
    await press("\u0004", 2000);
  },
});
scene(
  "terminal_prompt_esc",
  typed(
    async ({ until, press, note }) => {
      await until("PermissionRequest");
      await sleep(9000);
      note("at the prompt:");
      await press(kEsc, 3000);
      note("after Esc:");
    },
    {
      words: ["--permission-mode", "default"],
      scripts: (s) => ({ main: [calls(edit(s, "a.c")), say("done")] }),
    },
  ),
);
scene(
  "terminal_bash_esc",
  typed(
    async ({ until, press, note }) => {
      await until("PreToolUse");
      await sleep(1500);
      note("in Bash:");
      await press(kEsc, 4000);
      note("after Esc:");
    },
    { scripts: () => ({ main: [calls(bash("sleep 20")), say("done")] }) },
  ),
);
scene(
  "terminal_rewake",
  typed(
    async ({ s, until, note }) => {
      await until("Stop");
      note("idle:");
      await sleep(6000);
    },
    {
      arrange: rewaking("PostToolUse", { async: true, asyncRewake: true }, 5000).arrange,
      answers: [{ label: "rewake", sleep: 5000, once: "r", exit: 2, stderr: "TEXT-rewake" }],
      scripts: (s) => ({ main: [calls(put(s, "new.c")), say("done")] }),
    },
  ),
);

await play("claude");
