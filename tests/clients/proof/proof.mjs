#!/usr/bin/env node
// Proof in the real clients: proof.mjs [CLIENT…] [SCENE…]. One line for each scene: "ok CLIENT
// SCENE" or "FAILED CLIENT SCENE: why". Ends with 1 if any failed.
//
// LOCKKEEPER_TEST_PROGRAM is the program, LOCKKEEPER_MCP_CLIENTS the folder with the clients.
// LOCKKEEPER_PROOF_TELL shows what the models saw, LOCKKEEPER_PROOF_KEEP keeps the folders.
import { existsSync } from "node:fs";
import { agents } from "../record/agents.mjs";
import { clients } from "./clients.mjs";
import { edits } from "./edits.mjs";
import { gitScenes } from "./git.mjs";
import { parts } from "./parts.mjs";
import { program, Stage } from "./stage.mjs";
import { troubles } from "./troubles.mjs";

const scenes = { ...edits, ...parts, ...troubles, ...gitScenes };
const asked = process.argv.slice(2);

function usage(why) {
  console.error(`proof.mjs: ${why}
  clients: ${Object.keys(clients).join(" ")}
  scenes:  ${Object.keys(scenes).join(" ")}`);
  process.exit(64);
}

for (const each of asked) {
  if (!(each in clients) && !(each in scenes)) usage(`'${each}' is neither a client nor a scene`);
}
if (!existsSync(program)) usage(`LOCKKEEPER_TEST_PROGRAM is not a program: '${program}'`);
const chosen = (all) => {
  const some = Object.keys(all).filter((each) => asked.includes(each));
  return some.length > 0 ? some : Object.keys(all);
};
for (const each of chosen(clients)) {
  const file = agents[each].command().at(-1);
  if (!existsSync(file)) usage(`${file} is missing; tests/mcp/npm/install --clients FOLDER`);
}

async function passes(client, name) {
  const { play = scenes[name], bare = false } = scenes[name];
  const stage = new Stage(client, clients[client]);
  try {
    stage.setUp();
    if (!bare) await stage.install();
    await play(stage);
    console.log(`ok ${client} ${name}`);
    return true;
  } catch (error) {
    const full = process.env.LOCKKEEPER_PROOF_TELL ? error.stack : error.message;
    console.log(`FAILED ${client} ${name}: ${full.replaceAll("\n", "\n  ")}`);
    return false;
  } finally {
    stage.end();
  }
}

let failures = 0;
for (const client of chosen(clients)) {
  for (const name of chosen(scenes)) {
    if (scenes[name].only && !scenes[name].only.includes(client)) continue;
    if (!(await passes(client, name))) failures += 1;
  }
}
// Patience that nobody needs any more is not waited for.
process.exit(failures > 0 ? 1 : 0);
