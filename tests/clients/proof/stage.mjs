// A place for one scene: a fresh home, a fresh git repository, the shipped program, a real client
// and a model that follows a script.
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { agents } from "../record/agents.mjs";
import { startModel } from "../model.mjs";
import { endGroup, launch, sleep } from "../record/run.mjs";

export const program = process.env.LOCKKEEPER_TEST_PROGRAM ?? "";
// What is installed for everybody finds the program there.
const kPath = `${dirname(program)}:/usr/bin:/bin`;
const kPatience = 150_000;
export const kText = "int x;\n";

// A step that first looks at something; `see` gets what is new for the model, as text.
export const look = (see, step) => (news) => (see(news), step);

export function promised() {
  let keep;
  const promise = new Promise((done) => (keep = done));
  return { promise, keep };
}

export async function until(what, ask, ms = 60_000) {
  const end = Date.now() + ms;
  while (Date.now() < end) {
    const answer = await ask();
    if (answer) return answer;
    await sleep(50);
  }
  return assert.fail(`never: ${what}`);
}

const statOf = (pid) => {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "utf8");
    const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
    return { pid, state: fields[0], parent: Number(fields[1]), threads: Number(fields[17]) };
  } catch {
    return undefined;
  }
};
export const isStopped = (pid) => statOf(pid)?.state === "T";
// A process whose first thread alone has ended still runs.
export function isGone(pid) {
  const { state, threads } = statOf(pid) ?? {};
  return state === undefined || (state === "Z" && threads <= 1);
}

const childrenOf = (pid) =>
  readdirSync("/proc")
    .filter((each) => /^\d+$/.test(each))
    .map((each) => statOf(Number(each)))
    .filter((each) => each?.parent === pid)
    .map((each) => each.pid);

// Every file, folder and link below a folder, with what is in it.
export function treeOf(folder, below = "") {
  const found = {};
  for (const name of readdirSync(join(folder, below)).sort()) {
    const path = join(below, name);
    const info = lstatSync(join(folder, path));
    if (info.isDirectory()) Object.assign(found, { [`${path}/`]: "" }, treeOf(folder, path));
    else if (info.isSymbolicLink()) found[path] = `-> ${readlinkSync(join(folder, path))}`;
    else found[path] = readFileSync(join(folder, path), "latin1");
  }
  return found;
}

export class Stage {
  constructor(name, client) {
    this.name = name;
    this.client = client;
    this.options = {};
    this.folder = mkdtempSync(join(tmpdir(), `proof-${name}-`));
    this.repo = join(this.folder, "repo");
    this.home = join(this.folder, "home");
    this.installed = join(this.home, ".local/share/lockkeeper/bin/lockkeeper");
    for (const each of [this.repo, this.home]) mkdirSync(each, { recursive: true });
    const git = (...words) =>
      spawnSync("git", ["-c", "user.name=u", "-c", "user.email=u@u", ...words], { cwd: this.repo });
    git("init", "-q");
    for (const each of ["a.c", "b.c", "c.c"]) writeFileSync(this.at(each), kText);
    git("add", ".");
    git("commit", "-qm", "first");
    writeFileSync(this.at("go"), "");
  }

  at(name) {
    return join(this.repo, name);
  }
  text(name) {
    return existsSync(this.at(name)) ? readFileSync(this.at(name), "utf8") : undefined;
  }
  rewrite(file, from, to) {
    writeFileSync(file, readFileSync(file, "utf8").replace(from, to));
  }
  changedAt(name) {
    return statSync(this.at(name)).mtimeMs;
  }

  // --- the program ------------------------------------------------------------------------------

  command(words, more = {}) {
    const env = { HOME: this.home, PATH: kPath, ...more.env };
    return [program, words, { cwd: this.repo, encoding: "utf8", ...more, env }];
  }
  run(...words) {
    return spawnSync(...this.command(words));
  }
  // What a client's hook would be told of a session that is not played.
  hook(client, payload) {
    const done = spawnSync(...this.command(["hook", client], { input: JSON.stringify(payload) }));
    assert.equal(done.status, 0, done.stderr);
  }
  ok(...words) {
    const done = this.run(...words);
    assert.equal(done.status, 0, `lockkeeper ${words.join(" ")}: ${done.stderr}${done.stdout}`);
    return done.stdout;
  }
  // Another agent, which holds it on purpose.
  hold(...files) {
    this.ok("acquire", ...files, "--agent", "ann", "--reason", "parser rewrite");
  }
  // What edits have claimed: { file, agent, session, confirmed }.
  claims() {
    const { leases } = JSON.parse(this.ok("list", "--json"));
    return leases
      .filter((each) => each.edit)
      .flatMap(({ agent, session, edit, resources }) =>
        resources.map(({ key }) => ({ file: key, agent, session, confirmed: edit.confirmed })),
      );
  }
  claimed() {
    return this.claims()
      .map((each) => each.file)
      .sort();
  }
  log(file) {
    return this.ok("log", "--json")
      .split("\n")
      .filter(Boolean)
      .map((each) => JSON.parse(each))
      .filter((each) => each.agent !== "ann" && each.resources.includes(file));
  }

  // The agent's own settings, as they were before we came.
  setUp() {
    this.client.settings(this, "http://127.0.0.1:9");
  }
  // As a user does it: our installation, and what the agent then wants trusted.
  async install(...words) {
    this.ok("install", this.name, ...words);
    await this.client.trust?.(this);
  }

  // Puts a script in the place of the installed program, which becomes $0.real.
  replaceProgram(script) {
    renameSync(this.installed, `${this.installed}.real`);
    writeFileSync(this.installed, `#!/bin/bash\n${script}\n`);
    chmodSync(this.installed, 0o755);
  }

  // --- the client -------------------------------------------------------------------------------

  // Runs the client to its end against a model that follows the scripts. options: permits (a word
  // of client.permits), during({child, model, out}), terminal, input, prompt, words.
  async play(scripts, options = {}) {
    const model = await startModel(scripts);
    this.url = model.url;
    this.options = { permits: "edit", patience: kPatience, ...options };
    this.options.env = { PATH: kPath, ...options.env };
    this.client.settings(this, model.url);
    const { command, env } = agents[this.name];
    const words = (stage) => this.client.words(stage);
    const { child, ended, out } = launch({ command, env, words }, this);
    try {
      await this.options.during?.({ child, model, out });
      const end = await ended;
      if (process.env.LOCKKEEPER_PROOF_TELL) this.#tell(model, out());
      if (model.failures.length > 0) throw model.failures[0];
      const asked = model.seen.map(({ script, turn, news }) => ({
        script,
        turn,
        news: JSON.stringify(news),
      }));
      assert.ok(asked.length > 0, `the model was never asked: ${out().slice(-2000)}`);
      return { ...end, out: out(), asked };
    } finally {
      rmSync(this.at("go"), { force: true });
      endGroup(child);
      await model.close();
    }
  }

  // The process that runs the hooks: launchers come before it.
  clientPid(pid) {
    const command = (each) => readFileSync(`/proc/${each}/cmdline`, "latin1").split("\0");
    const isClient = (each) => this.client.isLaunched?.(command(each)) ?? false;
    const next = childrenOf(pid).find(isClient);
    return next ? this.clientPid(next) : pid;
  }

  start(words, more) {
    return spawn(...this.command(words, more));
  }

  #tell(model, out) {
    for (const { script, turn, news } of model.seen) {
      console.log(`  ${script}#${turn} ${turn > 0 ? JSON.stringify(news).slice(0, 1500) : ""}`);
    }
    console.log(out.slice(-3000));
    console.log(this.run("log").stdout, this.run("list").stdout);
  }

  end() {
    if (process.env.LOCKKEEPER_PROOF_KEEP) return console.log(`kept: ${this.folder}`);
    return rmSync(this.folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 250 });
  }
}
