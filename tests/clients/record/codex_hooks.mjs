// Codex's hooks as its app server lists them, and their trust as /hooks gives it.
import { spawn } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { agents } from "./agents.mjs";

async function ask(scene, method, params) {
  const [command, ...words] = agents.codex.command();
  const child = spawn(command, [...words, "app-server"], {
    cwd: scene.repo,
    env: { HOME: scene.home, PATH: "/usr/bin:/bin", FAKE_KEY: "x" },
    stdio: ["pipe", "pipe", "ignore"],
  });
  const send = (message) => child.stdin.write(`${JSON.stringify(message)}\n`);
  const answer = new Promise((done) => {
    createInterface({ input: child.stdout }).on("line", (line) => {
      const message = JSON.parse(line);
      if (message.id === 2) done(message);
    });
  });
  send({
    id: 1,
    method: "initialize",
    params: { clientInfo: { name: "t", title: "t", version: "1" } },
  });
  send({ method: "initialized" });
  send({ id: 2, method, params });
  const result = await answer;
  child.kill();
  return result;
}

// Each with key, currentHash, trustStatus and more.
export async function listHooks(scene) {
  const listed = await ask(scene, "hooks/list", { cwds: [scene.repo] });
  if (listed.error) throw new Error(`codex hooks/list: ${JSON.stringify(listed.error)}`);
  return listed.result.data.flatMap((each) => each.hooks);
}

// Writes their hashes into config.toml.
export function trustHooks(scene, hooks) {
  const config = join(scene.home, ".codex/config.toml");
  const lines = hooks.map(
    (each) => `[hooks.state."${each.key}"]\ntrusted_hash = "${each.currentHash}"\n`,
  );
  writeFileSync(config, `${readFileSync(config, "utf8")}\n${lines.join("")}`);
}
