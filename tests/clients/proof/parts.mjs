// What runs beside the main conversation: subagents and background shells.
import assert from "node:assert/strict";
import { existsSync, rmSync } from "node:fs";
import { after, call, calls, say } from "../model.mjs";
import { sleep } from "../record/run.mjs";
import { endOf, kDone, timeOf } from "./edits.mjs";
import { kText, look, promised, until } from "./stage.mjs";

// Kept in any case, so that a scene that goes wrong ends.
const kLongestMs = 30_000;
const soon = ({ promise }) => Promise.race([promise, sleep(kLongestMs)]);

// Gemini CLI does not say which of its agents makes a call.
const kTellSubagents = ["claude", "codex", "copilot", "opencode"];

// Two subagents of one session want the same file while both are at work.
async function subagents(stage) {
  const { client } = stage;
  const first = promised();
  const second = promised();
  let claims;
  const { asked } = await stage.play({
    main: [calls(client.subagent("one"), client.subagent("two")), () => after(soon(second), kDone)],
    one: [
      calls(client.edit(stage, "a.c")),
      () => {
        first.keep((claims = stage.claims()));
        return after(soon(second), say("one done"));
      },
    ],
    two: [
      () =>
        after(
          soon(first),
          calls(client.edit(stage, "a.c", "int y;", "int z;"), client.edit(stage, "b.c")),
        ),
      look(second.keep, say("two done")),
    ],
  });
  assert.deepEqual(
    claims?.map(({ file, confirmed }) => ({ file, confirmed })),
    [{ file: "a.c", confirmed: true }],
  );
  const refused = asked.find((each) => each.script === "two" && each.turn === 1);
  assert.match(refused?.news ?? "", /lockkeeper: a\.c is being edited by/);
  assert.equal(stage.text("a.c"), "int y;\n");
  assert.equal(stage.text("b.c"), "int y;\n");
  for (const file of ["a.c", "b.c"]) endOf(stage, file);
}

// A subagent works on what its parent has claimed. When it has ended, what it has claimed is its
// parent's: the next subagent may go on with it, and strangers may not.
async function family(stage) {
  const { client } = stage;
  const again = promised();
  const isParents = (claim) => claim.file === "a.c" && !claim.session.includes("/");
  const passedOn = () => until("passed on", () => stage.claims().some(isParents), kLongestMs);
  let strangers;
  const { asked } = await stage.play({
    main: [
      calls(client.edit(stage, "c.c")),
      calls(client.subagent("one")),
      () => after(passedOn(), calls(client.subagent("next"))),
      () => after(soon(again), kDone),
    ],
    one: [
      calls(client.edit(stage, "a.c"), client.edit(stage, "c.c", "int y;", "int z;")),
      say("one done"),
    ],
    next: [
      () => {
        strangers = stage.run("check", "a.c", "--agent", "ann").status;
        return calls(client.edit(stage, "a.c", "int y;", "int z;"));
      },
      look(again.keep, say("next done")),
    ],
  });
  assert.equal(strangers, 75);
  for (const file of ["a.c", "c.c"]) {
    assert.equal(stage.text(file), "int z;\n", JSON.stringify(asked.at(-1)));
    endOf(stage, file);
  }
}

// A subagent that looks like its parent is guarded against others as its parent is.
async function child(stage) {
  const { client } = stage;
  stage.hold("b.c");
  let claimed;
  const { asked } = await stage.play(
    {
      main: [calls(client.child("sub")), kDone],
      sub: [
        calls(client.edit(stage, "a.c")),
        calls(client.edit(stage, "b.c")),
        look(() => (claimed = stage.claimed()), say("sub done")),
      ],
    },
    { permits: "shell" },
  );
  assert.deepEqual(claimed, ["a.c"]);
  const refused = asked.find((each) => each.script === "sub" && each.turn === 2);
  assert.match(refused?.news ?? "", /lockkeeper: b\.c is held by ann/);
  assert.equal(stage.text("b.c"), kText);
  endOf(stage, "a.c");
}

// An edit, then a shell that is still at work when the model has nothing more to say.
async function background(stage) {
  const { client } = stage;
  const late = "while [ -e go ]; do sleep 0.1; done; echo late > late.txt";
  const { asked } = await stage.play(
    {
      main: [
        calls(client.edit(stage, "a.c")),
        calls(client.background(late)),
        look(() => sleep(3000).then(() => rmSync(stage.at("go"), { force: true })), kDone),
      ],
    },
    { permits: "shell" },
  );
  assert.equal(stage.text("a.c"), "int y;\n", asked.at(-1).news);
  assert.equal(endOf(stage, "a.c"), "released turn_over");
  if (!client.tellsOfBackground) return;
  await until("the shell has ended", () => existsSync(stage.at("late.txt")));
  const released = stage.log("a.c").at(-1);
  assert.ok(timeOf(released) >= stage.changedAt("late.txt"), "kept while the shell was at work");
}

// What the model has locked by a command or by our MCP tool is its own: its edit is not refused.
async function owner(stage) {
  const { client } = stage;
  const byTool = client.hasTools !== false;
  const lock = call("lock_acquire", { resources: ["b.c"], reason: "by tool" });
  let leases;
  const { asked } = await stage.play(
    {
      main: [
        calls(client.shell(`${stage.installed} acquire a.c --reason 'by command'`)),
        calls(client.edit(stage, "a.c")),
        ...(byTool ? [calls(lock), calls(client.edit(stage, "b.c"))] : []),
        look(() => ({ leases } = JSON.parse(stage.ok("list", "--json"))), kDone),
      ],
    },
    { permits: "all" },
  );
  const told = asked.map((each) => each.news).join("\n");
  assert.equal(stage.text("a.c"), "int y;\n", told);
  if (byTool) assert.equal(stage.text("b.c"), "int y;\n", told);
  assert.equal(leases.length, byTool ? 4 : 2);
  const owners = new Set(leases.map(({ agent, session }) => `${agent} ${session}`));
  assert.equal(owners.size, 1, [...owners].join(", "));
}

export const parts = {
  owner,
  subagents: { play: subagents, only: kTellSubagents },
  family: { play: family, only: kTellSubagents },
  child: { play: child, only: ["gemini"] },
  background,
};
