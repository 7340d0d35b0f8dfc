#!/usr/bin/env node
// A hook that writes down what it was given, and answers as it is told.
//   record.mjs FOLDER LABEL
// FOLDER gets one file for each process. FOLDER/answers.json is a list of rules; the first that fits
// is followed: { label?, tool?, id?, match?, once?, stdout?, stderr?, exit?, sleep?, signal? }.
// `match` is a piece of the raw payload; `sleep` is in milliseconds; `json` is printed as JSON.
import { existsSync, readFileSync, readlinkSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const [folder, label, ...more] = process.argv.slice(2);
const started = Date.now();
const order = process.hrtime.bigint().toString();

function status(pid, file) {
  try {
    return readFileSync(`/proc/${pid}/${file}`, "utf8");
  } catch {
    return "";
  }
}

function exeOf(pid) {
  try {
    return readlinkSync(`/proc/${pid}/exe`);
  } catch {
    return "?";
  }
}

// From the parent up to whoever started the client.
function ancestors() {
  const found = [];
  let pid = process.ppid;
  while (pid > 1 && found.length < 12) {
    const stat = status(pid, "stat");
    const words = status(pid, "cmdline").split("\0").filter(Boolean).join(" ").slice(0, 160);
    found.push({ pid, exe: exeOf(pid), comm: status(pid, "comm").trim(), cmdline: words });
    pid = Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]);
  }
  return found;
}

const kTelling =
  /CLAUDE|CODEX|GEMINI|COPILOT|OPENCODE|CURSOR|AGENT|SESSION|THREAD|PID|^PWD$|HOOK|PROJECT/;
const kSecret = /TOKEN|KEY|SECRET|SOCKET|PASSWORD/;
const env = Object.fromEntries(
  Object.entries(process.env)
    .filter(([name]) => kTelling.test(name))
    .map(([name, value]) => [name, kSecret.test(name) ? "(set)" : value]),
);

let stdin = "";
try {
  stdin = readFileSync(0, "utf8");
} catch (error) {
  stdin = `(unreadable: ${error.code})`;
}
let payload;
try {
  payload = JSON.parse(stdin);
} catch {
  payload = undefined;
}

const stat = status("self", "stat");
const session = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
const file = join(folder, `${order}-${process.pid}.json`);
const record = {
  kind: "hook",
  label,
  at: started,
  pid: process.pid,
  ppid: process.ppid,
  pgrp: Number(session[2]),
  sid: Number(session[3]),
  cwd: process.cwd(),
  more,
  env,
  env_names: Object.keys(process.env).sort(),
  ancestors: ancestors(),
  payload,
  ...(payload === undefined && { stdin }),
};
const save = () => {
  writeFileSync(`${file}.new`, JSON.stringify(record, null, 1));
  renameSync(`${file}.new`, file);
};
save();

for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"]) {
  process.on(signal, () => {
    record.got_signal = { signal, at: Date.now() };
    save();
    process.exit(143);
  });
}

const idOf = (value) =>
  value?.tool_use_id ?? value?.tool_call_id ?? value?.toolCallId ?? value?.callID;
const toolOf = (value) => value?.tool_name ?? value?.toolName ?? value?.tool;
const answers = join(folder, "answers.json");
const rules = existsSync(answers) ? JSON.parse(readFileSync(answers, "utf8")) : [];
const fits = (rule) =>
  (!rule.label || rule.label === label) &&
  (!rule.tool || rule.tool === toolOf(payload)) &&
  (!rule.id || rule.id === idOf(payload)) &&
  (!rule.match || stdin.includes(rule.match)) &&
  (!rule.once || !existsSync(join(folder, `once-${rule.once}`)));
const rule = rules.find(fits) ?? {};
if (rule.once) writeFileSync(join(folder, `once-${rule.once}`), "");
record.rule = rule.name;

const end = () => {
  if (rule.signal) process.kill(process.pid, rule.signal);
  record.ended = Date.now();
  save();
  if (rule.stdout !== undefined) process.stdout.write(rule.stdout);
  if (rule.json !== undefined) process.stdout.write(JSON.stringify(rule.json));
  if (rule.stderr !== undefined) process.stderr.write(rule.stderr);
  process.exitCode = rule.exit ?? 0;
};
if (rule.sleep) setTimeout(end, rule.sleep);
else end();
