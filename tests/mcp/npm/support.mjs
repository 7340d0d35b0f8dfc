// What the test programs share: the packages from npm, a repository to lock in, the shipped
// program, and checks that say what failed. A program is one ctest test: it prints one line for
// each check, and ends with 0, 1, or 77 for "skipped".
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync, chmodSync } from "node:fs";
import { createRequire } from "node:module";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

export { assert };

export const program = process.env.LOCKKEEPER_TEST_PROGRAM;
export const npmFolder = process.env.LOCKKEEPER_MCP_NPM;
export const kSkipped = 77;

export function skip(why) {
  console.log(`skipped: ${why}`);
  process.exit(kSkipped);
}

if (!program || !existsSync(program)) {
  console.log(`LOCKKEEPER_TEST_PROGRAM names no program: ${program}`);
  process.exit(1);
}

// Packages are in the build folder, not above this file.
export const load = createRequire(join(npmFolder, "package.json"));

export function versionOf(name) {
  const file = join(npmFolder, "node_modules", name, "package.json");
  return JSON.parse(readFileSync(file, "utf8")).version;
}

// --- checks ---------------------------------------------------------------------------------------

const checks = [];
export const check = (name, body) => checks.push({ name, body });

const kPatience = 60_000;

export const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

// Asks until the answer is true; what it said last is in the error.
export async function until(what, ask) {
  const end = Date.now() + kPatience;
  let last;
  while (Date.now() < end) {
    last = await ask();
    if (last === true) return;
    await sleep(50);
  }
  assert.fail(`never: ${what}; last: ${JSON.stringify(last)}`);
}

// What went wrong and where in the test, without the way through the packages.
function shortened(error) {
  const lines = `${error.stack ?? error}`.split("\n");
  return lines.filter((each) => !/^ +at .*(node_modules|node:)/.test(each)).join("\n");
}

export async function runChecks(title) {
  console.log(title);
  let failed = 0;
  for (const { name, body } of checks) {
    const scene = new Scene();
    try {
      await body(scene);
      console.log(`  ok      ${name}`);
    } catch (error) {
      failed += 1;
      console.log(`  FAILED  ${name}\n${shortened(error)}`);
    } finally {
      await scene.end();
    }
  }
  console.log(`${checks.length - failed} of ${checks.length} passed`);
  process.exit(failed === 0 ? 0 : 1);
}

// --- a place to work in ---------------------------------------------------------------------------

// A fresh repository with a home of its own. What is started in it ends with it.
export class Scene {
  #endings = [];

  constructor() {
    this.folder = mkdtempSync(join(tmpdir(), "lockkeeper-mcp-"));
    this.repo = join(this.folder, "repo");
    this.home = join(this.folder, "home");
    spawnSync("git", ["init", "-q", this.repo]);
    spawnSync("mkdir", ["-p", this.home]);
    for (const name of ["a.c", "b.c"]) writeFileSync(join(this.repo, name), "int x;\n");
  }

  env(agent) {
    const env = { HOME: this.home, PATH: "/usr/bin:/bin" };
    if (agent) env.LOCKKEEPER_AGENT = agent;
    return env;
  }

  atEnd(action) {
    this.#endings.push(action);
  }

  async end() {
    for (const action of this.#endings.reverse()) await action();
    rmSync(this.folder, { recursive: true, force: true });
  }

  // The shipped program, run to its end; its stdout as JSON, one object for each line.
  lines(agent, ...words) {
    const done = spawnSync(program, [...words, "--json"], {
      cwd: this.repo,
      env: this.env(agent),
      encoding: "utf8",
    });
    return done.stdout.split("\n").filter(Boolean).map((each) => JSON.parse(each));
  }

  cli(agent, ...words) {
    return this.lines(agent, ...words)[0];
  }

  // What a person sees.
  shown(...words) {
    return spawnSync(program, words, { cwd: this.repo, env: this.env(), encoding: "utf8" }).stdout;
  }

  log() {
    return this.lines("", "log");
  }

  start(command, words, options = {}) {
    const child = spawn(command, words, { cwd: this.repo, ...options });
    this.atEnd(async () => {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const ended = new Promise((done) => child.once("exit", done));
      child.kill("SIGTERM");
      await Promise.race([ended, sleep(5_000).then(() => child.kill("SIGKILL"))]);
    });
    return child;
  }

  // An HTTP server of this repository that is ready; `words` after `mcp --http`.
  async serveHttp({ command = program, before = ["mcp"], token = "secret-of-the-test" } = {}) {
    const port = await freePort();
    const file = join(this.folder, "token");
    const words = [...before, "--http", `127.0.0.1:${port}`];
    if (token) {
      writeFileSync(file, token, { mode: 0o600 });
      chmodSync(file, 0o600);
      words.push("--token-file", file);
    }
    let said = "";
    const child = this.start(command, words, {
      env: this.env(),
      stdio: ["ignore", "pipe", "pipe"],
    });
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (text) => (said += text));
    await until(`a server on port ${port}`, async () => {
      if (child.exitCode !== null) assert.fail(`the server ended: ${said}`);
      return listens(port);
    });
    return { url: `http://127.0.0.1:${port}/mcp`, port, token, pid: child.pid };
  }
}

export function freePort() {
  return new Promise((done) => {
    const server = createServer();
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => done(port));
    });
  });
}

function listens(port) {
  return new Promise((done) => {
    const socket = connect(port, "127.0.0.1");
    socket.once("connect", () => done((socket.destroy(), true)));
    socket.once("error", () => done(false));
  });
}
