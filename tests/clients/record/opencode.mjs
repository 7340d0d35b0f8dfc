// What opencode's plugin hooks do. opencode.mjs [SCENE…]
import { copyFileSync, mkdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { call, calls, say } from "../model.mjs";
import { recordsOf, sleep } from "./run.mjs";
import { play, scene } from "./scenes.mjs";

const kHere = import.meta.dirname ?? dirname(new URL(import.meta.url).pathname);
const f = ({ repo }, name) => join(repo, name);
const read = (s, name) => call("read", { filePath: f(s, name) });
const put = (s, name) => call("write", { filePath: f(s, name), content: "new\n" });
const edit = (s, name, from = "int x;", to = "int y;") =>
  call("edit", { filePath: f(s, name), oldString: from, newString: to });
const shell = (command, more = {}) => call("bash", { command, description: "d", ...more });
const plugged = (where) => (s) => {
  const target = join(s.repo, where, "recorder.js");
  mkdirSync(dirname(target), { recursive: true });
  copyFileSync(join(kHere, "opencode_plugin.js"), target);
};
const project = { arrange: plugged(".opencode/plugins") };

scene("tools", {
  ...project,
  scripts: (s) => ({
    main: [
      calls(read(s, "a.c")),
      calls(edit(s, "a.c")),
      calls(put(s, "new.c")),
      calls(call("write", { filePath: "relative.c", content: "r\n" })),
      calls(shell("echo hi > sh.txt; env | grep -iE '^OPENCODE|AGENT|SESSION' > env.txt")),
      calls(shell("exit 3")),
      calls(shell("rm b.c")),
      calls(call("lock_lock_echo", { resources: ["a.c"] })),
      say("done"),
    ],
  }),
});
scene("failing", {
  ...project,
  scripts: (s) => ({
    main: [
      calls(edit(s, "c.c")),
      calls(read(s, "a.c")),
      calls(edit(s, "a.c", "absent")),
      calls(edit(s, "none.c")),
      calls(put(s, "b.c")),
      calls(put(s, "a.c/below.c")),
      say("done"),
    ],
  }),
});

scene("denied", {
  ...project,
  settings: { permission: { edit: "ask", bash: "deny" } },
  scripts: (s) => ({
    main: [calls(read(s, "a.c")), calls(edit(s, "a.c")), calls(shell("touch x.txt")), say("done")],
  }),
});
scene("outside", {
  ...project,
  scripts: (s) => ({ main: [calls(put(s, "../outside.c")), say("done")] }),
});
scene("refused", {
  ...project,
  odd: true,
  answers: [
    { hook: "tool.execute.before", match: "new.c", throw: "TEXT-held" },
    { hook: "tool.execute.before", match: "slow.c", sleep: 3000 },
    { hook: "tool.execute.before", match: "lock_lock_echo", args: { owner: "opencode/s1" } },
    { hook: "tool.execute.after", match: "after.c", append: "\nTEXT-appended" },
    { hook: "tool.execute.after", match: "broken.c", throw: "TEXT-after-threw" },
    { hook: "shell.env", match: "", env: { LOCKKEEPER_TEST: "from-plugin" } },
    { hook: "chat.message", match: "", push: "TEXT-chat" },
  ],
  scripts: (s) => ({
    main: [
      calls(put(s, "new.c")),
      calls(put(s, "slow.c")),
      calls(call("lock_lock_echo", { resources: ["a.c"] })),
      calls(put(s, "after.c")),
      calls(put(s, "broken.c")),
      calls(shell("echo $LOCKKEEPER_TEST")),
      say("done"),
    ],
  }),
});
scene("parallel", {
  ...project,
  answers: [{ hook: "tool.execute.before", match: "c.c", throw: "TEXT-held" }],
  scripts: (s) => ({
    main: [
      calls(read(s, "a.c"), read(s, "b.c")),
      calls(edit(s, "a.c"), edit(s, "b.c")),
      calls(put(s, "c.c"), put(s, "e.c")),
      calls(shell("sleep 0.5; echo 1"), shell("sleep 0.5; echo 2"), put(s, "p.c")),
      say("done"),
    ],
  }),
});
scene("subagent", {
  ...project,
  scripts: (s) => ({
    main: [
      calls(call("task", { description: "d", prompt: "SCRIPT=sub go", subagent_type: "general" })),
      say("done"),
    ],
    sub: [
      calls(put(s, "sub.c")),
      calls(call("lock_lock_echo", { resources: ["b.c"] })),
      say("sub done"),
    ],
  }),
});
// GPT models are given apply_patch instead of edit and write.
scene("patch", {
  ...project,
  settings: ({ url }) => ({
    provider: { openai: { options: { baseURL: `${url}/v1`, apiKey: "dummy" } } },
    model: "openai/gpt-5.3-codex",
  }),
  scripts: () => ({
    main: [
      calls(
        call("apply_patch", {
          patchText:
            "*** Begin Patch\n*** Update File: a.c\n@@\n-int x;\n+int y;\n*** Add File: new.c\n+x\n*** Delete File: b.c\n*** Update File: d.c\n*** Move to: moved.c\n@@\n-int x;\n+int z;\n*** End Patch",
        }),
      ),
      say("done"),
    ],
  }),
});

const interrupted = (signal) => ({
  ...project,
  odd: true,
  settle: 5000,
  scripts: (s) => ({
    main: [calls(put(s, "new.c")), calls(shell("sleep 4; echo late > late.txt")), say("done")],
  }),
  async during({ scene: s, child }) {
    const has = () =>
      recordsOf(s).filter((each) => each.label === "tool.execute.before").length > 1;
    while (!has() && child.exitCode === null) await sleep(50);
    await sleep(1000);
    child.kill(signal);
  },
});
scene("kill_in_bash", interrupted("SIGKILL"));
scene("term_in_bash", interrupted("SIGTERM"));
scene("int_in_bash", interrupted("SIGINT"));
scene("home", {
  odd: true,
  arrange(s) {
    const target = join(s.home, ".config/opencode/plugins/recorder.js");
    mkdirSync(dirname(target), { recursive: true });
    copyFileSync(join(kHere, "opencode_plugin.js"), target);
    const single = join(s.repo, ".opencode/plugin/recorder.js");
    mkdirSync(dirname(single), { recursive: true });
    copyFileSync(join(kHere, "opencode_plugin.js"), single);
  },
  scripts: (s) => ({ main: [calls(put(s, "new.c")), say("done")] }),
});

await play("opencode");
