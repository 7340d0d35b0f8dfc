// What becomes of an edit: refused, done, denied, failed, interrupted; of a patch over two files;
// of the claims of a client that is killed; and of everything when lockkeeper is uninstalled.
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { calls, say } from "../model.mjs";
import { sleep } from "../record/run.mjs";
import { isGone, kText, look, treeOf, until } from "./stage.mjs";

export const kDone = say("done");
// A loop that ends with the scene, also if its client is long gone.
export const kLong = "touch started; while [ -e go ]; do sleep 0.1; done";

// A file's time comes from a clock that is a few milliseconds late.
const kClockMs = 20;
export const timeOf = (event) => Date.parse(event.at);

// How the last claim of the file ended; undefined if there was none.
export function endOf(stage, file) {
  assert.equal(stage.claimed().includes(file), false, `${file} is still claimed`);
  const last = stage.log(file).at(-1);
  return last && `${last.event} ${last.cause}`;
}

async function held(stage) {
  const { client } = stage;
  stage.hold("a.c");
  let claimed;
  const { asked } = await stage.play({
    main: [calls(client.edit(stage, "a.c")), look(() => (claimed = stage.claimed()), kDone)],
  });
  assert.equal(stage.text("a.c"), kText);
  assert.match(asked[1].news, /lockkeeper: a\.c is held by ann/);
  assert.match(asked[1].news, /parser rewrite/);
  assert.match(asked[1].news, /The file was not changed/);
  assert.deepEqual(claimed, []);
}

async function free(stage) {
  const { client } = stage;
  let claims;
  let others;
  const see = () => {
    claims = stage.claims();
    others = stage.run("check", "a.c", "--agent", "ann").status;
  };
  const { status, out, asked } = await stage.play({
    main: [calls(client.edit(stage, "a.c")), look(see, kDone)],
  });
  assert.equal(status, 0, out);
  assert.equal(stage.text("a.c"), "int y;\n", asked.at(-1).news);
  assert.doesNotMatch(asked[1].news, /lockkeeper/, "nothing is said of a free file");
  assert.equal(claims.length, 1);
  const [{ file, agent, session, confirmed }] = claims;
  assert.deepEqual(
    { file, agent, confirmed },
    { file: "a.c", agent: client.agent, confirmed: true },
  );
  assert.ok(session);
  assert.equal(others, 75, "kept from others");
  const [granted] = stage.log("a.c");
  assert.equal(granted.event, "granted");
  assert.ok(timeOf(granted) <= stage.changedAt("a.c") + kClockMs, "claimed before it was changed");
  assert.equal(endOf(stage, "a.c"), "released turn_over");
}

// Two edits in one answer of the model.
async function two(stage) {
  const { client } = stage;
  let claims;
  const { asked } = await stage.play({
    main: [
      calls(client.edit(stage, "a.c"), client.edit(stage, "b.c")),
      look(() => (claims = stage.claims()), kDone),
    ],
  });
  for (const file of ["a.c", "b.c"]) {
    assert.equal(stage.text(file), "int y;\n", asked.at(-1).news);
    assert.ok(
      claims.some((each) => each.file === file && each.confirmed),
      `${file} is not claimed`,
    );
    assert.equal(endOf(stage, file), "released turn_over");
  }
}

async function denied(stage) {
  const { client } = stage;
  await stage.play(
    { main: [calls(client.edit(stage, "a.c")), calls(client.edit(stage, "b.c")), kDone] },
    { permits: "none" },
  );
  for (const file of ["a.c", "b.c"]) {
    assert.equal(stage.text(file), kText);
    assert.equal(stage.claimed().includes(file), false);
  }
  // Not only because the client has ended since. Gemini CLI does not even ask its hook.
  assert.match(endOf(stage, "a.c") ?? "", client.asksBeforeHook ? /^$/ : /undone|turn_over/);
}

async function failed(stage) {
  const { client } = stage;
  let claimed;
  const { asked } = await stage.play({
    main: [
      calls(client.edit(stage, "a.c", "absent")),
      calls(client.edit(stage, "b.c")),
      look(() => (claimed = stage.claimed()), kDone),
    ],
  });
  assert.equal(stage.text("a.c"), kText);
  assert.equal(stage.text("b.c"), "int y;\n", asked.at(-1).news);
  // The next edit has shown that the first one is over.
  assert.deepEqual(claimed, ["b.c"]);
}

// Edits a.c, then is stopped by a signal in the middle of a shell command.
async function stopped(stage, signal) {
  const { client } = stage;
  let claimed;
  const after = {};
  await stage.play(
    {
      main: [
        calls(client.edit(stage, "a.c")),
        look(() => (claimed = stage.claimed()), calls(client.shell(kLong))),
        kDone,
      ],
    },
    {
      permits: "shell",
      async during({ child }) {
        await until("a shell command", () => existsSync(stage.at("started")));
        const pid = stage.clientPid(child.pid);
        process.kill(pid, signal);
        after.pid = pid;
        if (signal === "SIGKILL") {
          await until("the client is gone", () => isGone(pid));
          after.taken = stage.run("acquire", "a.c", "--agent", "ann", "--json");
        }
      },
    },
  );
  assert.deepEqual(claimed, ["a.c"]);
  assert.equal(stage.text("a.c"), "int y;\n");
  return after;
}

async function interrupted(stage) {
  await stopped(stage, "SIGINT");
  endOf(stage, "a.c");
}

async function killed(stage) {
  const { taken } = await stopped(stage, "SIGKILL");
  assert.equal(taken.status, 0, taken.stdout);
  assert.deepEqual(stage.claimed(), []);
}

async function patch(stage) {
  const { client } = stage;
  stage.hold("b.c");
  const both = ["a.c", "b.c"];
  let before;
  let after;
  const { asked } = await stage.play(
    {
      main: [
        calls(client.patch(both)),
        look(
          () => ((before = stage.claimed()), stage.ok("release", "b.c", "--agent", "ann")),
          calls(client.patch(both)),
        ),
        look(() => (after = stage.claimed()), kDone),
      ],
    },
    client.patchOptions,
  );
  assert.match(asked[1].news, /lockkeeper: b\.c is held by ann/);
  assert.deepEqual(before, []);
  assert.deepEqual(after, both);
  for (const file of both) assert.equal(stage.text(file), "int y;\n");
  // Nothing was written at the first attempt: the claim of the second came before.
  for (const file of both) {
    const [granted] = stage.log(file).filter((each) => each.event === "granted");
    assert.ok(timeOf(granted) <= stage.changedAt(file) + kClockMs, file);
  }
}

// Esc at a permission prompt: no hook tells of it; the next prompt does.
async function escaped(stage) {
  const { client } = stage;
  client.onboard(stage);
  let asking;
  let next;
  await stage.play(
    {
      main: [calls(client.edit(stage, "a.c")), kDone],
      next: [look(() => (next = stage.claimed()), kDone)],
    },
    {
      terminal: true,
      input: true,
      words: ["--permission-mode", "default"],
      env: { TERM: "xterm-256color" },
      async during({ child, model, out }) {
        const press = async (keys, ms = 700) => (child.stdin.write(keys), sleep(ms));
        await until("a claim", () => stage.claimed().includes("a.c"));
        await until("a prompt", () => /Do you want|❯.*Yes/.test(out()));
        await sleep(1000);
        asking = stage.claims();
        await press("\u001b", 1500);
        await press("SCRIPT=next go");
        await press("\r");
        await until("the next prompt", () => model.seen.some((each) => each.script === "next"));
        for (const keys of ["\u0003", "\u0003", "\u0004"]) await press(keys, 500);
      },
    },
  );
  assert.equal(asking.length, 1);
  assert.equal(asking[0].confirmed, false);
  assert.deepEqual(next, []);
  assert.equal(stage.text("a.c"), kText);
}

async function uninstall(stage) {
  const { client } = stage;
  const trees = () => [treeOf(stage.home), treeOf(stage.repo)];
  const before = trees();
  stage.ok("install", stage.name);
  assert.ok(existsSync(stage.installed));
  assert.notDeepEqual(trees(), before);
  stage.ok("install", stage.name, "--uninstall");
  assert.deepEqual(trees(), before);
  // Once more, with a client at work in between: its own notes may stay, our program is in none of
  // its settings, and nobody refuses any more.
  await stage.install();
  stage.hold("a.c");
  await stage.play({ main: [calls(client.edit(stage, "a.c")), kDone] });
  assert.equal(stage.text("a.c"), kText);
  stage.ok("install", stage.name, "--uninstall");
  const [home, repo] = trees();
  for (const [path, text] of Object.entries({ ...home, ...repo })) {
    assert.ok(!isSettings(path) || !text.includes(stage.installed), `${path} names our program`);
  }
  for (const [path, text] of Object.entries(before[1])) {
    if (!/^(\.git\/|go$)/.test(path)) assert.equal(repo[path], text, path);
  }
  assert.ok(!existsSync(stage.installed));
  await stage.play({ main: [calls(client.edit(stage, "a.c")), kDone] });
  assert.equal(stage.text("a.c"), "int y;\n");
}

// For every repository, and in files to commit.
async function scopes(stage) {
  const { client } = stage;
  stage.hold("a.c");
  for (const scope of ["--user", "--shared"]) {
    await stage.install(scope);
    const { asked } = await stage.play({ main: [calls(client.edit(stage, "a.c")), kDone] });
    assert.match(asked[1].news, /lockkeeper: a\.c is held by ann/, scope);
    assert.equal(stage.text("a.c"), kText, scope);
    stage.ok("install", stage.name, scope, "--uninstall");
  }
}

// What clients are told, not what they remember by themselves.
const kRemembered = /node_modules|\.gemini\/trusted_hooks\.json/;
const isSettings = (path) => /\.(json|jsonc|toml|js)$/.test(path) && !kRemembered.test(path);

export const edits = {
  held,
  free,
  two,
  denied,
  failed,
  interrupted,
  killed,
  patch: { play: patch, only: ["codex", "opencode"] },
  escaped: { play: escaped, only: ["claude"] },
  uninstall: { play: uninstall, bare: true },
  scopes: { play: scopes, bare: true },
};
