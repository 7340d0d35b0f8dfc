// Everything that can be wrong with the hook. Nothing is let through, and the model is told.
import assert from "node:assert/strict";
import { closeSync, openSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { after, calls } from "../model.mjs";
import { kDone } from "./edits.mjs";
import { isStopped, kText, look, until } from "./stage.mjs";

// One edit of a free file; `before` makes the trouble, right before the model asks for the edit.
async function refused(stage, words, before, afterwards = () => {}) {
  const { client } = stage;
  const { asked } = await stage.play({
    main: [
      () => after(Promise.resolve().then(before), calls(client.edit(stage, "a.c"))),
      look(afterwards, kDone),
    ],
  });
  assert.equal(stage.text("a.c"), kText, "the edit was let through");
  assert.match(asked[1]?.news ?? "(the model was not asked again)", words);
}

const storeOf = (stage) => join(stage.repo, ".git/lockkeeper/data.mdb");

async function corrupt(stage) {
  stage.hold("z.c"); // so that there is a store
  await refused(stage, /lockkeeper cannot tell whether this file is free/, () => {
    const file = openSync(storeOf(stage), "r+");
    for (let page = 0; page < 64; ++page) writeSync(file, "garbage!".repeat(512), page * 4096);
    closeSync(file);
  });
}

// The hook's process is killed.
async function crashed(stage) {
  stage.replaceProgram("kill -9 $$");
  await refused(stage, /lockkeeper|hook/i, () => {});
}

// A process that is inside of the store was stopped by somebody.
async function busy(stage) {
  stage.hold("z.c");
  let blocker;
  const before = async () => {
    const env = { LOCKKEEPER_TEST_FAULT: "stop@4" };
    blocker = stage.start(["acquire", "y.c", "--agent", "bob"], { env, stdio: "ignore" });
    await until("a stopped process", () => isStopped(blocker.pid));
  };
  try {
    await refused(stage, /lockkeeper cannot tell whether this file is free/, before, () =>
      blocker.kill("SIGKILL"),
    );
  } finally {
    blocker?.kill("SIGKILL");
  }
}

// A hook that gets no further: it must have refused before the client loses patience, because most
// clients then let the edit pass.
async function slow(stage) {
  const flag = join(stage.folder, "slow");
  stage.replaceProgram(
    `if [ "$1" = hook ] && rm '${flag}' 2>/dev/null; then
  exec "$0.real" "$@" < <(exec sleep 60 2>&-)
fi
exec "$0.real" "$@"`,
  );
  await refused(stage, /lockkeeper/, () => writeFileSync(flag, ""));
}

// A hook that does not even answer at its own deadline, where the client refuses by itself.
async function asleep(stage) {
  const flag = join(stage.folder, "slow");
  stage.replaceProgram(
    `if [ "$1" = hook ] && rm '${flag}' 2>/dev/null; then exec sleep 60; fi
exec "$0.real" "$@"`,
  );
  await refused(stage, /timed out|did not answer/, () => writeFileSync(flag, ""));
}

export const troubles = {
  corrupt,
  crashed,
  busy,
  slow,
  asleep: { play: asleep, only: ["claude", "opencode"] },
};
