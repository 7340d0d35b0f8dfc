// What Gemini CLI's hooks do. gemini.mjs [SCENE…]
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { agents, recorderLine, write } from "./agents.mjs";
import { call, calls, say } from "../model.mjs";
import { kCommon, outcomes } from "./outcomes.mjs";
import { recordsOf, sleep } from "./run.mjs";
import { play, scene } from "./scenes.mjs";

const f = ({ repo }, name) => join(repo, name);
const put = (s, name) => call("write_file", { file_path: f(s, name), content: "new\n" });
const edit = (s, name, from = "int x;", to = "int y;") =>
  call("replace", { file_path: f(s, name), instruction: "i", old_string: from, new_string: to });
const shell = (command, more = {}) =>
  call("run_shell_command", { command, description: "d", ...more });

scene("tools", {
  scripts: (s) => ({
    main: [
      calls(call("read_file", { file_path: f(s, "a.c") })),
      calls(edit(s, "a.c")),
      calls(put(s, "new.c")),
      calls(call("write_file", { file_path: "relative.c", content: "r\n" })),
      calls(
        shell("echo hi > sh.txt; env | grep -E '^GEMINI|AGENT|CLAUDE' | grep -v KEY > env.txt"),
      ),
      calls(shell("exit 3")),
      calls(shell("rm b.c")),
      calls(call("mcp_lock_lock_echo", { resources: ["a.c"] })),
      say("done"),
    ],
  }),
});

// All events but those around each request to the model, which only cost time.
const quiet = {
  only: /^(SessionStart|SessionEnd|BeforeAgent|AfterAgent|BeforeTool|AfterTool|Notification)$/,
};

scene("failing", {
  ...quiet,
  scripts: (s) => ({
    main: [
      calls(edit(s, "a.c", "absent")),
      calls(edit(s, "none.c")),
      calls(put(s, "a.c/below.c")),
      calls(put(s, "../outside.c")),
      calls(put(s, "b.c")),
      calls(call("write_file", { content: "no path" })),
      say("done"),
    ],
  }),
});
scene("denied", {
  ...quiet,
  words: [],
  scripts: (s) => ({
    main: [
      calls(edit(s, "a.c")),
      calls(put(s, "new.c")),
      calls(shell("touch x.txt")),
      calls(call("mcp_lock_lock_echo", {})),
      say("done"),
    ],
  }),
});
scene("denied_plan", {
  ...quiet,
  words: ["--approval-mode", "plan"],
  scripts: (s) => ({ main: [calls(edit(s, "a.c")), say("done")] }),
});
scene("parallel", {
  ...quiet,
  answers: [
    {
      name: "deny",
      label: "BeforeTool",
      match: "c.c",
      json: { decision: "deny", reason: "TEXT-held" },
    },
  ],
  scripts: (s) => ({
    main: [
      calls(edit(s, "a.c"), edit(s, "b.c")),
      calls(edit(s, "c.c"), edit(s, "d.c")),
      calls(shell("sleep 0.4; echo 1"), shell("sleep 0.4; echo 2"), put(s, "p.x")),
      say("done"),
    ],
  }),
});
scene("background", {
  ...quiet,
  settle: 3500,
  scripts: () => ({
    main: [calls(shell("sleep 3; echo late > late.txt", { is_background: true })), say("done")],
  }),
});
scene("subagent", {
  ...quiet,
  scripts: (s) => ({
    main: [
      calls(call("invoke_agent", { agent_name: "generalist", prompt: "SCRIPT=sub go" })),
      say("done"),
    ],
    sub: [
      calls(edit(s, "a.c")),
      calls(call("mcp_lock_lock_echo", { resources: ["b.c"] })),
      calls(call("complete_task", { response: "sub done", result: "sub done" })),
      say("sub done"),
    ],
  }),
});

const special = (hookEventName, more) => ({
  json: { hookSpecificOutput: { hookEventName, ...more } },
});
const pre = (more) => special("BeforeTool", more);
const kPre = {
  ...kCommon,
  claude_deny: special("PreToolUse", {
    permissionDecision: "deny",
    permissionDecisionReason: "TEXT-claude",
  }),
  deny_no_reason: { json: { decision: "deny" } },
  deny_unknown: { json: { decision: "deny", reason: "TEXT-du", extra: 1 } },
  context: pre({ additionalContext: "TEXT-context" }),
  exit2_json: { exit: 2, stderr: "TEXT-both", json: { decision: "deny", reason: "TEXT-json" } },
  exit1_json: { exit: 1, stderr: "TEXT-both", json: { decision: "deny", reason: "TEXT-json" } },
  slow: { sleep: 6000 },
};
scene("ask", {
  ...quiet,
  patience: 30_000,
  ...outcomes("BeforeTool", put, {
    ask: { json: { decision: "ask", reason: "TEXT-ask" } },
    empty: {},
  }),
});
const { context, exit2_json, exit1_json, slow } = kPre;
scene("outcomes_more", {
  ...quiet,
  ...outcomes(
    "BeforeTool",
    put,
    { context, exit2_json, exit1_json, slow },
    { hookMore: { timeout: 2000 } },
  ),
});
scene("outcomes", {
  ...quiet,
  ...outcomes("BeforeTool", put, kPre, { hookMore: { timeout: 2000 } }),
});

const kAll = ["SessionStart", "BeforeAgent", "BeforeTool", "AfterTool", "AfterAgent"];
const talk = (s) => ({ main: [calls(put(s, "new.c")), calls(shell("exit 3")), say("done")] });
scene("context", {
  ...quiet,
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
  ...quiet,
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
  ...quiet,
  odd: true,
  scripts: talk,
  answers: ["AfterTool", "AfterAgent"].map((event) => ({
    name: event,
    label: event,
    once: event,
    json: { decision: "deny", reason: `TEXT-${event}` },
  })),
});
scene("context_exit2", {
  ...quiet,
  odd: true,
  scripts: talk,
  answers: ["AfterTool", "AfterAgent"].map((event) => ({
    name: event,
    label: event,
    once: event,
    exit: 2,
    stderr: `TEXT-${event}`,
  })),
});

scene("rewrite", {
  ...quiet,
  odd: true,
  answers: [
    {
      label: "BeforeTool",
      tool: "mcp_lock_lock_echo",
      ...pre({ tool_input: { resources: ["a.c"], owner: "gemini/s1" } }),
    },
  ],
  scripts: () => ({
    main: [calls(call("mcp_lock_lock_echo", { resources: ["a.c"] })), say("done")],
  }),
});

scene("places", {
  ...quiet,
  odd: true,
  arrange(s) {
    const one = (label, matcher) => ({
      matcher,
      hooks: [{ type: "command", name: label, command: recorderLine(s, label) }],
    });
    write(join(s.repo, ".gemini/settings.json"), {
      hooks: {
        BeforeTool: [
          one("BeforeTool"),
          one("project", "write_file|replace"),
          one("claude", "Write|Edit"),
        ],
      },
    });
  },
  scripts: (s) => ({ main: [calls(put(s, "new.c")), say("done")] }),
});

// The folder on the user's own list of trusted ones, instead of --skip-trust.
scene("places_trusted", {
  ...quiet,
  odd: true,
  trusted: true,
  arrange(s) {
    const one = (label, matcher) => ({
      matcher,
      hooks: [{ type: "command", name: label, command: recorderLine(s, label) }],
    });
    write(join(s.home, ".gemini/trustedFolders.json"), { [s.repo]: "TRUST_FOLDER" });
    write(join(s.repo, ".gemini/settings.json"), {
      hooks: {
        BeforeTool: [
          one("BeforeTool"),
          one("project", "write_file|replace"),
          one("claude", "Write|Edit"),
        ],
      },
    });
  },
  scripts: (s) => ({ main: [calls(put(s, "new.c")), say("done")] }),
});
scene("crash_guard", {
  ...quiet,
  odd: true,
  arrange(s) {
    const command = `${recorderLine(s, "guarded")} || { echo "TEXT-crashed ($?)" >&2; exit 2; }`;
    const file = join(s.home, ".gemini/settings.json");
    const settings = JSON.parse(readFileSync(file, "utf8"));
    write(file, {
      ...settings,
      hooks: { BeforeTool: [{ hooks: [{ type: "command", command }] }] },
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

const interrupted = (signal, step, more = {}) => ({
  ...quiet,
  odd: true,
  settle: 5000,
  ...more,
  scripts: (s) => ({ main: [calls(put(s, "new.c")), calls(step(s)), say("done")] }),
  async during({ scene: s, child }) {
    const has = () => recordsOf(s).filter((each) => each.label === "BeforeTool").length > 1;
    while (!has() && child.exitCode === null) await sleep(50);
    await sleep(1200);
    process.kill(
      more.all
        ? child.pid
        : recordsOf(s)[0].ancestors.find((each) => each.exe.endsWith("/node")).pid,
      signal,
    );
  },
});
scene(
  "kill_in_bash",
  interrupted("SIGKILL", () => shell("sleep 4; echo late > late.txt")),
);
scene(
  "kill_launcher",
  interrupted("SIGKILL", () => shell("sleep 4; echo late > late.txt"), { all: true }),
);
scene(
  "term_in_bash",
  interrupted("SIGTERM", () => shell("sleep 4; echo late > late.txt"), { all: true }),
);
scene(
  "int_in_bash",
  interrupted("SIGINT", () => shell("sleep 4; echo late > late.txt"), { all: true }),
);

await play("gemini");
