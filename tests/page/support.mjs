// What the programs here share: a repository with a hub, agents that use the real command line, and
// Debian's browsers.
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join, relative, resolve } from "node:path";

export { assert };

export const program = process.env.LOCKKEEPER_TEST_PROGRAM;
const npmFolder = process.env.LOCKKEEPER_PAGE_NPM;
const kSkipped = 77;

export function skip(why) {
  console.log(`skipped: ${why}`);
  process.exit(kSkipped);
}

if (!program || !existsSync(program)) {
  console.log(`LOCKKEEPER_TEST_PROGRAM names no program: ${program}`);
  process.exit(1);
}
if (!npmFolder || !existsSync(join(npmFolder, "node_modules/playwright-core"))) {
  skip(`playwright-core is not in "${npmFolder}"; tests/mcp/npm/install --page FOLDER`);
}

// Pictures of a test do not belong into the sources.
export function folderForPictures(folder) {
  const root = resolve(import.meta.dirname, "../..");
  const inside = relative(root, resolve(folder));
  if (!inside.startsWith("..") && !inside.startsWith("build/")) {
    console.log(`--pictures ${folder}: this lies in the sources; put them into build/ or /tmp`);
    process.exit(1);
  }
  return folder;
}

// Packages are in the build folder, not above this file.
export const load = createRequire(join(npmFolder, "package.json"));
export const axeFile = load.resolve("axe-core/axe.min.js");

const kBrowsers = { chromium: "/usr/bin/chromium", firefox: "/usr/bin/firefox-esr" };

export async function openBrowser(name) {
  const path = kBrowsers[name];
  if (!existsSync(path)) skip(`${path} is not installed`);
  // Playwright's protocol for Firefox needs Playwright's own build. Debian's is driven by WebDriver
  // BiDi; versions after 1.55 want commands of it that Firefox 140 does not have.
  const playwright = load("playwright-core");
  const kind = name === "firefox" ? playwright._bidiFirefox : playwright.chromium;
  const args = name === "chromium" ? ["--no-sandbox", "--disable-dev-shm-usage"] : [];
  return kind.launch({ executablePath: path, args, headless: true });
}

// What ./dev test fetches; a hub keeps the locks there, or two hubs together.
const kEtcd = process.env.LOCKKEEPER_ETCD ?? resolve(import.meta.dirname, "../../build/etcd/usr/bin");
export const hasEtcd = existsSync(join(kEtcd, "etcd"));

async function freePort() {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address();
  server.close();
  return port;
}

export const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

// --- a repository with a hub ----------------------------------------------------------------------

export class Scene {
  constructor() {
    this.folder = mkdtempSync(join(tmpdir(), "lockkeeper-page-"));
    this.repository = join(this.folder, "app");
    mkdirSync(this.repository, { recursive: true });
    this.environment = {
      PATH: process.env.PATH,
      HOME: this.folder,
      LANG: "C.UTF-8",
      TZ: process.env.TZ ?? "UTC",
      XDG_CONFIG_HOME: join(this.folder, "config"),
      XDG_STATE_HOME: join(this.folder, "state"),
    };
    this.processes = [];
    spawnSync("git", ["init", "-q", this.repository], { env: this.environment });
  }

  file(...names) {
    for (const name of names) {
      mkdirSync(join(this.repository, dirname(name)), { recursive: true });
      writeFileSync(join(this.repository, name), "");
    }
  }

  run(agent, ...words) {
    const done = spawnSync(program, [...words, "--agent", agent, "--json"], {
      cwd: this.repository,
      env: this.environment,
      encoding: "utf8",
    });
    return {
      status: done.status,
      json: done.stdout ? JSON.parse(done.stdout.split("\n")[0]) : null,
    };
  }

  // A command that goes on: one that waits, or `run`.
  start(agent, verb, ...words) {
    const child = spawn(program, [verb, "--agent", agent, ...words], {
      cwd: this.repository,
      env: this.environment,
      stdio: "ignore",
    });
    this.processes.push(child);
    return child;
  }

  // What `lockkeeper open` gives to the browser: the address of a file.
  openPage() {
    const bin = join(this.folder, "bin");
    const given = join(this.folder, "given");
    mkdirSync(bin, { recursive: true });
    writeFileSync(join(bin, "xdg-open"), `#!/bin/sh\nprintf %s "$1" >${given}\n`, { mode: 0o700 });
    const done = spawnSync(program, ["open"], {
      cwd: this.repository,
      env: { ...this.environment, USER: "ana", PATH: `${bin}:${process.env.PATH}` },
      encoding: "utf8",
    });
    assert.equal(done.status, 0, done.stderr);
    return readFileSync(given, "utf8");
  }

  // A plan whose first agent works until the file `go` is there; the process that runs it.
  startPlan() {
    const wait = "while [ ! -e go ]; do sleep 0.05; done; echo x >out/a.txt";
    const agents = [
      ["api", "out/", `[sh, -c, "${wait}"]`],
      ["client", "out/", "[sh, -c, 'echo y >out/b.txt; sleep 1.2']"],
      ["lint", "lint/", "[sh, -c, 'sleep 1.5; exit 3']"],
    ];
    this.file("out/README", "lint/README");
    writeFileSync(
      join(this.repository, "users-by-page.yaml"),
      `agents:\n${agents
        .map(
          ([agent, folder, command]) =>
            `  - agent: ${agent}\n    directories: [${folder}]\n    command: ${command}\n`,
        )
        .join("")}`,
    );
    const child = spawn(program, ["workflow", "run", "users-by-page.yaml"], {
      cwd: this.repository,
      env: this.environment,
      stdio: "ignore",
    });
    this.processes.push(child);
    return child;
  }

  token(name, ...roles) {
    const words = ["token", "add", name, ...roles.flatMap((role) => ["--role", role])];
    const done = spawnSync(program, words, { env: this.environment, encoding: "utf8" });
    assert.equal(done.status, 0, done.stderr);
    return done.stdout.trim();
  }

  // The words that let a hub serve it: an etcd of one member.
  async startEtcd() {
    const [clients, peers] = [await freePort(), await freePort()];
    const urls = (port) => `http://127.0.0.1:${port}`;
    const words = ["--data-dir", join(this.folder, "etcd"), "--log-level", "error"];
    for (const [what, port] of [["client", clients], ["peer", peers]]) {
      words.push(`--listen-${what}-urls`, urls(port));
    }
    words.push("--advertise-client-urls", urls(clients));
    words.push("--initial-advertise-peer-urls", urls(peers));
    words.push("--initial-cluster", `default=${urls(peers)}`);
    const etcd = spawn(join(kEtcd, "etcd"), words, { stdio: "ignore" });
    this.processes.push(etcd);
    for (let tries = 0; tries < 600; ++tries) {
      const health = await fetch(`${urls(clients)}/health`).catch(() => null);
      if (health?.ok) return ["--store", `etcd://127.0.0.1:${clients}/app`];
      await sleep(50);
    }
    assert.fail("etcd did not start");
  }

  // On a machine of its own, if it has a home of its own.
  async serve(listen = "127.0.0.1:0", more = [], home = this.folder) {
    const words = ["serve", "--listen", listen, "--realm", `app=${this.repository}`, ...more];
    const hub = spawn(program, words, {
      cwd: this.repository,
      env: { ...this.environment, HOME: home, XDG_STATE_HOME: join(home, "state") },
      stdio: ["ignore", "ignore", "pipe"],
    });
    this.processes.push(hub);
    this.hub = hub;
    let text = "";
    for await (const piece of hub.stderr.iterator({ destroyOnReturn: false })) {
      text += piece;
      const address = /http:\/\/127\.0\.0\.1:(\d+)/.exec(text);
      if (!address) continue;
      hub.stderr.resume();
      this.port = Number(address[1]);
      this.url = `http://127.0.0.1:${this.port}/`;
      return;
    }
    assert.fail(`the hub did not start: ${text}`);
  }

  async ask(token, method, path, body) {
    const answer = await fetch(`http://127.0.0.1:${this.port}${path}`, {
      method,
      body: body === undefined ? undefined : JSON.stringify(body),
      headers: {
        Authorization: `Bearer ${token}`,
        "Lockkeeper-Agent": "tester",
        "Content-Type": "application/json",
      },
    });
    return answer.json();
  }

  // Until the hub lists what is expected.
  async until(token, what, isSo) {
    let list;
    for (let tries = 0; tries < 600; ++tries) {
      list = await this.ask(token, "GET", "/v1/list");
      if (isSo(list)) return;
      await sleep(20);
    }
    assert.fail(`never ${what}: ${JSON.stringify(list)}`);
  }

  waiting = (token, count) =>
    this.until(token, `${count} waiters`, ({ waiters }) => waiters.length === count);
  holds = (token, agent) =>
    this.until(token, `held by ${agent}`, ({ leases }) =>
      leases.some((each) => each.agent === agent),
    );

  async end() {
    for (const child of this.processes.reverse()) {
      if (child.exitCode !== null || child.signalCode !== null) continue;
      const gone = new Promise((done) => child.once("exit", done));
      child.kill(child === this.hub ? "SIGTERM" : "SIGKILL");
      await gone;
    }
    rmSync(this.folder, { recursive: true, force: true });
  }
}

// A morning of a team: who holds what, who waits, what went wrong. All by the real command line.
export async function morning(scene) {
  scene.file(
    "src/auth/login.py",
    "src/auth/token.py",
    "src/api/routes.py",
    "src/api/users.py",
    "src/billing/invoice.py",
    "web/app.tsx",
    "web/theme.css",
    "docs/guide.md",
    "db/001.sql",
  );
  const admin = scene.token("ana", "read", "lock", "break", "admin");
  const guest = scene.token("gus", "read");
  await scene.serve();
  // What is over.
  scene.run("codex", "acquire", "src/billing/", "--reason", "rounding of invoices");
  scene.run("codex", "release", "--all");
  scene.run("claude-code", "acquire", "db/001.sql", "--reason", "users table");
  scene.run("ana", "break", "db/001.sql", "--reason", "went home");
  // A deadlock: each holds what the other wants.
  scene.run("mobile", "acquire", "src/ui/", "--reason", "new buttons");
  scene.run("design", "acquire", "src/icons/", "--reason", "icons in one file");
  const first = scene.start("mobile", "acquire", "src/icons/arrow.svg", "--wait=10m");
  await scene.waiting(admin, 1);
  scene.run("design", "acquire", "src/ui/button.tsx", "--wait=10m");
  first.kill("SIGINT");
  await scene.waiting(admin, 0);
  scene.run("mobile", "release", "--all");
  // What is held.
  scene.run(
    "backend",
    "acquire",
    "src/auth/",
    "--session",
    "4f2a",
    "--reason",
    "JWT refresh",
    "--ttl",
    "2h",
  );
  scene.run(
    "codex",
    "acquire",
    "src/api/routes.py",
    "src/api/users.py",
    "--reason",
    "users by page",
    "--ttl",
    "40m",
  );
  scene.start("claude-code", "run", "web/", "--reason", "dark mode", "--", "sleep", "3600");
  await scene.holds(admin, "claude-code");
  scene.run(
    "writer",
    "acquire",
    "docs/",
    "--mode",
    "shared",
    "--reason",
    "spelling",
    "--ttl",
    "none",
  );
  scene.run("reviewer", "acquire", "docs/guide.md", "--mode", "shared", "--ttl", "20m");
  scene.run("gemini", "acquire", "tests/**/*.py", "--reason", "flaky tests", "--ttl", "30m");
  scene.run("migrator", "acquire", "db:schema:users", "--reason", "add a column", "--ttl", "15m");
  // Who is refused, and who waits.
  scene.run("codex", "acquire", "src/auth/token.py");
  scene.run("gemini", "acquire", "web/theme.css");
  scene.start("frontend", "acquire", "src/auth/login.py", "--reason", "login form", "--wait=1h");
  await scene.waiting(admin, 1);
  scene.start("mobile", "acquire", "src/auth/token.py", "--wait=1h");
  await scene.waiting(admin, 2);
  scene.start("tester", "acquire", "web/app.tsx", "--reason", "screenshots", "--wait=1h");
  await scene.waiting(admin, 3);
  scene.start("backend", "acquire", "src/api/users.py", "--session", "4f2a", "--wait=1h");
  await scene.waiting(admin, 4);
  scene.run("backend", "message", "send", "frontend", "ten more minutes");
  return { admin, guest };
}
