// Scenes by name, and a player that runs those asked for and keeps what came of them.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { run, savePayloads, told } from "./run.mjs";

const scenes = new Map();
export const scene = (name, options) => scenes.set(name, options);

export async function play(client) {
  const asked = process.argv.slice(2);
  const runs = join(process.env.HOOK_RUNS ?? "runs", client);
  mkdirSync(runs, { recursive: true });
  for (const [name, options] of scenes) {
    if (asked.length > 0 && !asked.includes(name)) continue;
    const result = await run(client, options);
    const text = `--- ${client} ${name}\n${told(result, { length: 700 })}\n${options.look?.(result) ?? ""}`;
    console.log(text);
    writeFileSync(join(runs, `${name}.json`), JSON.stringify(result, null, 1));
    writeFileSync(join(runs, `${name}.txt`), text);
    if (process.env.HOOK_PAYLOADS && !options.odd) savePayloads(result, process.env.HOOK_PAYLOADS);
  }
}
