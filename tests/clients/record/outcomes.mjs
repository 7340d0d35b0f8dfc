// Everything a hook can do wrong or right before an edit, one edit for each, in one run: did the edit
// happen, and what did the model see? `put(scene, file)` gives the call that creates a file.
import { calls, say } from "../model.mjs";

// What any client may meet; `json` and so on as in record.mjs.
export const kCommon = {
  empty: {},
  braces: { json: {} },
  garbage: { stdout: "this is not JSON" },
  broken: { stdout: '{"decision":' },
  array: { stdout: "[]" },
  exit1_silent: { exit: 1 },
  exit1: { exit: 1, stderr: "TEXT-exit1" },
  exit1_stdout: { exit: 1, stdout: "TEXT-exit1-stdout" },
  exit2: { exit: 2, stderr: "TEXT-exit2" },
  exit2_silent: { exit: 2 },
  exit2_stdout: { exit: 2, stdout: "TEXT-exit2-stdout" },
  exit3: { exit: 3, stderr: "TEXT-exit3" },
  exit69: { exit: 69, stderr: "TEXT-exit69" },
  segv: { signal: "SIGSEGV" },
  kill: { signal: "SIGKILL" },
  unknown_field: { json: { lockkeeper_says: "x" } },
  system_message: { json: { systemMessage: "TEXT-system" } },
  decision_block: { json: { decision: "block", reason: "TEXT-block" } },
  decision_deny: { json: { decision: "deny", reason: "TEXT-deny" } },
  flat_deny: { json: { permissionDecision: "deny", permissionDecisionReason: "TEXT-flat" } },
};

export function outcomes(label, put, table, more = {}) {
  const names = Object.keys(table);
  const fileOf = (index) => `o${index}.c`;
  return {
    odd: true,
    ...more,
    scripts: (scene) => ({
      main: [...names.map((_, index) => calls(put(scene, fileOf(index)))), say("done")],
    }),
    answers: [
      ...names.map((name, index) => ({ name, label, match: fileOf(index), ...table[name] })),
    ],
    look(result) {
      const lines = names.map((name, index) => {
        const happened = fileOf(index) in result.files ? "EDITED " : "refused";
        const news = result.timeline.find(
          (each) => each.kind === "model" && each.script === "main" && each.turn === index + 1,
        )?.news;
        const hooks = result.timeline
          .filter(
            (each) =>
              each.kind === "hook" &&
              each.payload &&
              JSON.stringify(each.payload).includes(fileOf(index)),
          )
          .map((each) => `${each.label}${each.got_signal ? `(${each.got_signal.signal})` : ""}`);
        const seen = news ? news.map((each) => JSON.stringify(each)).join(" ¦ ") : "(no request)";
        return `${name.padEnd(18)} ${happened} hooks=${hooks.join(",")}\n     ${seen.slice(0, 900)}`;
      });
      return `OUTCOMES\n${lines.join("\n")}\n`;
    },
  };
}
