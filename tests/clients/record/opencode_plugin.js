// An opencode plugin that writes down every hook call, and refuses what answers.json names:
// [{ "hook": "tool.execute.before", "match": "text", "throw": "why", "sleep": ms, "args": {…} }]
import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const folder = process.env.RECORDS;
let count = 0;

function keep(label, payload, more = {}) {
  const order = process.hrtime.bigint().toString();
  const record = {
    kind: "hook",
    label,
    at: Date.now(),
    ended: Date.now(),
    pid: process.pid,
    ppid: process.ppid,
    cwd: process.cwd(),
    payload,
    ...more,
  };
  count += 1;
  const file = join(folder, `${order}-${process.pid}${count}.json`);
  writeFileSync(`${file}.new`, JSON.stringify(record, null, 1));
  renameSync(`${file}.new`, file);
}

const rules = () => {
  const file = join(folder, "answers.json");
  return existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : [];
};

const plain = (value) => JSON.parse(JSON.stringify(value ?? null));
const kNames = [
  "chat.message",
  "chat.params",
  "chat.headers",
  "permission.ask",
  "command.execute.before",
  "tool.execute.before",
  "shell.env",
  "tool.execute.after",
  "experimental.chat.messages.transform",
  "experimental.chat.system.transform",
  "experimental.session.compacting",
  "experimental.text.complete",
  "tool.definition",
];
const kLoud = /chat\.params|chat\.headers|transform|text\.complete|tool\.definition/;

const kNoise =
  /^(plugin|catalog|integration|reference|session\.(updated|diff)|message\.(updated|part\.delta)|server|lsp|tui)/;

function hook(name) {
  return async (input, output) => {
    if (!kLoud.test(name)) {
      keep(name, { hook: name, tool: input?.tool, input: plain(input), output: plain(output) });
    }
    const text = JSON.stringify([input, output]);
    const rule = rules().find((each) => each.hook === name && text.includes(each.match));
    if (!rule) return;
    if (rule.sleep) await new Promise((done) => setTimeout(done, rule.sleep));
    if (rule.args) Object.assign(output.args, rule.args);
    if (rule.append) output.output += rule.append;
    if (rule.env) Object.assign(output.env, rule.env);
    if (rule.push)
      output.parts.push({
        ...output.parts[0],
        id: `prt_${Date.now()}`,
        text: rule.push,
        synthetic: true,
      });
    if (rule.status) output.status = rule.status;
    if (rule.throw) throw new Error(rule.throw);
  };
}

export const Recorder = async (context) => {
  keep("plugin.init", {
    keys: Object.keys(context),
    directory: context.directory,
    worktree: context.worktree,
    project: plain(context.project),
    serverUrl: String(context.serverUrl),
  });
  return {
    ...Object.fromEntries(kNames.map((name) => [name, hook(name)])),
    event: async ({ event }) => {
      if (
        kNoise.test(event.type) ||
        (event.type === "message.part.updated" && event.properties.part?.type !== "tool")
      )
        return;
      keep(`event-${event.type}`, plain(event));
    },
    config: async () => keep("config", {}),
    dispose: async () => keep("dispose", {}),
  };
};
