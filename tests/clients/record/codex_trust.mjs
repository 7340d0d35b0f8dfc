// Asks Codex's app server which hooks it knows and whether it trusts them, writes their hashes into
// config.toml as /hooks does, and runs once more without --dangerously-bypass-hook-trust.
import { listHooks, trustHooks } from "./codex_hooks.mjs";
import { calls, callText, say } from "../model.mjs";
import { run, told } from "./run.mjs";

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
    const hooks = await listHooks(scene);
    console.log(JSON.stringify(hooks.slice(0, 2), null, 1));
    trustHooks(scene, hooks);
    const again = await listHooks(scene);
    console.log(JSON.stringify(again.map((each) => [each.eventName, each.trustStatus])));
  },
};
console.log(told(await run("codex", options)));
