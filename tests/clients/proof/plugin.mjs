#!/usr/bin/env node
// The plugin in Claude Code, as it is shipped: LOCKKEEPER_PLUGIN is its folder. The scenes are those
// of an installation, with nothing installed; and one in which the plugin has lost its program.
import assert from "node:assert/strict";
import { cpSync, existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { calls, say } from "../model.mjs";
import { clients } from "./clients.mjs";
import { look, Stage } from "./stage.mjs";

const kDone = say("done");
const client = clients.claude;

function stageWith(plugin) {
  const stage = new Stage("claude", client);
  stage.setUp();
  // Of an installation the client takes these as well; here it has none.
  writeFileSync(join(stage.home, "mcp.json"), '{"mcpServers":{}}');
  mkdirSync(join(stage.home, ".claude"), { recursive: true });
  stage.words = ["--plugin-dir", plugin, ...client.permits.edit];
  return stage;
}

async function refused(stage) {
  stage.hold("a.c");
  const { asked } = await stage.play(
    { main: [calls(client.edit(stage, "a.c")), kDone] },
    { words: stage.words },
  );
  assert.equal(stage.text("a.c"), "int x;\n");
  assert.match(asked[1].news, /lockkeeper: a\.c is held by ann/);
}

async function claimed(stage) {
  let during;
  const { out } = await stage.play(
    { main: [calls(client.edit(stage, "a.c")), look(() => (during = stage.claimed()), kDone)] },
    { words: stage.words },
  );
  assert.equal(stage.text("a.c"), "int y;\n", out.slice(-2000));
  assert.deepEqual(during, ["a.c"]);
  assert.deepEqual(stage.claimed(), []);
  assert.match(out, /plugin[_:]lockkeeper[_:]lockkeeper/, "the MCP server is there");
  assert.match(out, /lockkeeper:locking/, "the skill is there");
}

async function withoutProgram(stage) {
  stage.hold("a.c");
  const { asked, out } = await stage.play(
    { main: [calls(client.edit(stage, "a.c")), calls(client.edit(stage, "b.c")), kDone] },
    { words: stage.words },
  );
  for (const file of ["a.c", "b.c"]) assert.equal(stage.text(file), "int y;\n", asked.at(-1).news);
  const said = out.split("\n").filter((line) => line.includes("has no program for this machine"));
  assert.equal(said.length, 1, said.join("\n"));
}

const plugin = process.env.LOCKKEEPER_PLUGIN ?? "";
assert.ok(existsSync(join(plugin, ".claude-plugin/plugin.json")), "LOCKKEEPER_PLUGIN is no plugin");
let failures = 0;
for (const play of [refused, claimed, withoutProgram]) {
  const stage = stageWith(plugin);
  try {
    if (play === withoutProgram) {
      const bare = join(stage.folder, "bare/lockkeeper");
      cpSync(plugin, bare, { recursive: true });
      for (const name of readdirSync(join(bare, "bin")))
        if (name !== "lockkeeper") rmSync(join(bare, "bin", name));
      stage.words[1] = bare;
    }
    await play(stage);
    console.log(`ok plugin ${play.name}`);
  } catch (error) {
    failures += 1;
    console.log(`FAILED plugin ${play.name}: ${error.stack}`);
  } finally {
    stage.end();
  }
}
process.exit(failures > 0 ? 1 : 0);
