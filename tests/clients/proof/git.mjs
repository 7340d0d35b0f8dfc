// Git and the real clients: what another agent has not committed is neither committed (G1) nor lost
// (G2).
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { kDone } from "./edits.mjs";
import { calls } from "../model.mjs";

const kOption = { permits: "all" };  // Codex' sandbox keeps commands from .git

const git = (stage, ...words) =>
  execFileSync("git", words, { cwd: stage.repo, encoding: "utf8" }).trim();

function introduce(stage) {
  for (const [name, value] of [["user.name", "u"], ["user.email", "u@u"]]) {
    git(stage, "config", name, value);
  }
}

// A session of the same client that has ended, and whose work is not committed.
async function workOfAnother(stage) {
  introduce(stage);
  await stage.play({ main: [calls(stage.client.edit(stage, "a.c")), kDone] }, kOption);
  assert.equal(stage.text("a.c"), "int y;\n");
}

// The same of a session that has only ended its turn, as its hooks tell it.
function workOfALivingOther(stage) {
  introduce(stage);
  const file = join(stage.repo, "a.c");
  const call = {
    session_id: "another", transcript_path: "/t", cwd: stage.repo, tool_name: "Edit",
    tool_use_id: "t1", tool_input: { file_path: file, old_string: "x", new_string: "y" },
  };
  stage.hook("claude", { ...call, hook_event_name: "PreToolUse" });
  writeFileSync(file, "int y;\n");
  stage.hook("claude", { ...call, hook_event_name: "PostToolUse", tool_response: {} });
  stage.hook("claude", { session_id: "another", cwd: stage.repo, hook_event_name: "Stop" });
}

async function committed(stage) {
  const { client } = stage;
  workOfALivingOther(stage);
  const head = git(stage, "rev-parse", "HEAD");
  const { asked } = await stage.play(
    {
      main: [
        calls(client.shell("git add -A && git commit -qm all")),
        calls(client.shell("git add a.c && git commit -qm named")),
        calls(client.edit(stage, "b.c")),
        calls(client.shell("git reset -q && git add b.c && git commit -qm mine")),
        kDone,
      ],
    },
    kOption,
  );
  assert.match(asked[1].news, /lockkeeper: .*git add -A/, "before it runs");
  assert.match(asked[2].news, /this commit was refused/, "inside git");
  assert.match(asked[2].news, /git restore --staged -- a\.c/);
  assert.equal(git(stage, "log", "--format=%s", `${head}..`), "mine", asked.at(-1).news);
  assert.equal(git(stage, "diff", "--name-only", head, "HEAD"), "b.c");
  assert.equal(stage.text("a.c"), "int y;\n");
}

// What a session that is over has left may be committed, on record.
async function left(stage) {
  await workOfAnother(stage);
  const { asked } = await stage.play(
    { main: [calls(stage.client.shell("git add -A && git commit -qm all")), kDone] },
    kOption,
  );
  assert.match(asked[1].news, /left uncommitted by .*, whose session is over/);
  assert.equal(git(stage, "status", "--porcelain", "a.c"), "");
  assert.ok(stage.log("a.c").some((each) => each.event === "warned"), "on record");
}

async function wiped(stage) {
  const { client } = stage;
  await workOfAnother(stage);
  const { asked } = await stage.play(
    {
      main: [
        calls(client.shell("git reset -q --hard")),
        calls(client.shell("python3 -c 'import os; os.remove(\"a.c\")'")),
        kDone,
      ],
    },
    kOption,
  );
  assert.match(asked[1].news, /lockkeeper: .*git reset -q --hard/);
  assert.match(asked[1].news, /a\.c/);
  assert.equal(stage.text("a.c"), undefined, "nobody can see that coming");
  const { lost } = JSON.parse(stage.ok("recover", "--json"));
  assert.equal(lost[0].file, "a.c");
  assert.equal(lost[0].written_by.agent, client.agent);
  assert.notEqual(lost[0].written_by.session, lost[0].changed_by.session);
  stage.ok("recover", "restore", "a.c");
  assert.equal(stage.text("a.c"), "int y;\n");
}

const only = ["claude", "codex"];
export const gitScenes = {
  committed: { play: committed, only },
  left: { play: left, only },
  wiped: { play: wiped, only },
};
