// Asks Codex's app server which hooks it knows and whether it trusts them, writes their hashes into
// config.toml as /hooks does, and runs once more without --dangerously-bypass-hook-trust.
import { spawn } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { agents } from "./agents.mjs";
import { calls, callText, say } from "./model.mjs";
import { run, told } from "./run.mjs";

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

const options = {
  words: [],
  odd: true,
  scripts: () => ({
    main: [
      calls(callText("apply_patch", "*** Begin Patch\n*** Add File: new.c\n+x\n*** End Patch\n")),
      say("done"),
    ],
  }),
  async prepareMore(scene) {
    const listed = await ask(scene, "hooks/list", { cwds: [scene.repo] });
    const hooks = listed.result?.data?.flatMap((each) => each.hooks) ?? [];
    console.log(JSON.stringify(listed.error ?? hooks.slice(0, 2), null, 1));
    const config = join(scene.home, ".codex/config.toml");
    const lines = hooks.map(
      (each) => `[hooks.state."${each.key}"]\ntrusted_hash = "${each.currentHash}"\n`,
    );
    writeFileSync(config, `${readFileSync(config, "utf8")}\n${lines.join("")}`);
    console.log(lines.slice(0, 1).join(""));
    const again = await ask(scene, "hooks/list", { cwds: [scene.repo] });
    console.log(
      JSON.stringify(
        again.result?.data?.[0].hooks.map((each) => [each.eventName, each.trustStatus]),
      ),
    );
  },
};
console.log(told(await run("codex", options)));
