// A real coding agent, twice, in one repository: one holds a file, the other is told so, waits its
// turn, and gets it; over stdio, and over HTTP. clients.mjs claude|codex|gemini|copilot|opencode, and
// another one of these if the second is to be of another kind.
//
// The clients are real, their models are ours (tests/clients/model.mjs); nothing goes over a network.
import { spawn } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { assert, check, program, runChecks, skip } from "./support.mjs";
import { after, call, calls, startModel } from "../../clients/model.mjs";

const [first, second = first] = process.argv.slice(2);
const kFolder = process.env.LOCKKEEPER_MCP_CLIENTS ?? "";
const kModules = join(kFolder, "node_modules");
const kArchitecture = process.arch === "arm64" ? "arm64" : "x64";

function write(file, text) {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, typeof text === "string" ? text : JSON.stringify(text, null, 2));
}

const bearer = (http) => ({ Authorization: `Bearer ${http.token}` });

// How each is installed, told of our server (`http`: where it serves; else it is started) and of the
// model, and run once without asking anybody.
const clients = {
  claude: {
    package: "@anthropic-ai/claude-code",
    command: () => [join(kModules, `@anthropic-ai/claude-code-linux-${kArchitecture}/claude`)],
    prepare({ home, http }) {
      const server = http
        ? { type: "http", url: http.url, headers: bearer(http) }
        : { type: "stdio", command: program, args: ["mcp"] };
      write(join(home, "mcp.json"), { mcpServers: { lock: server } });
    },
    words: (prompt, home) => [
      "-p", prompt, "--output-format", "stream-json", "--verbose",
      "--mcp-config", join(home, "mcp.json"), "--strict-mcp-config",
      "--permission-mode", "dontAsk", "--allowedTools", "mcp__lock", "ToolSearch",
    ],
    env: (url) => ({
      ANTHROPIC_BASE_URL: url,
      ANTHROPIC_API_KEY: "dummy",
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
    }),
  },
  codex: {
    package: "@openai/codex",
    command: () => [process.execPath, join(kModules, "@openai/codex/bin/codex.js")],
    prepare({ home, url, repo, http }) {
      const server = http
        ? `url = "${http.url}"\nbearer_token_env_var = "LOCKKEEPER_TOKEN"`
        : `command = "${program}"\nargs = ["mcp"]`;
      write(join(home, ".codex/config.toml"), `
model_provider = "fake"
[model_providers.fake]
name = "fake"
base_url = "${url}/v1"
wire_api = "responses"
env_key = "FAKE_KEY"
[projects."${repo}"]
trust_level = "trusted"
[mcp_servers.lock]
${server}
`);
    },
    words: (prompt, home, repo) => ["exec", "--json", "-m", "gpt-5.5", "-C", repo, prompt],
    env: (url, http) => ({ FAKE_KEY: "dummy", ...(http && { LOCKKEEPER_TOKEN: http.token }) }),
  },
  gemini: {
    package: "@google/gemini-cli",
    command: () => [process.execPath, join(kModules, "@google/gemini-cli/bundle/gemini.js")],
    prepare({ home, http }) {
      const server = http
        ? { type: "http", url: http.url, headers: bearer(http) }
        : { command: program, args: ["mcp"] };
      write(join(home, ".gemini/settings.json"), {
        security: { auth: { selectedType: "gemini-api-key" } },
        mcpServers: { lock: { ...server, trust: true } },
      });
    },
    words: (prompt) => [
      "-m", "gemini-2.5-flash", "--skip-trust", "--output-format", "stream-json",
      "-p", prompt,
    ],
    env: (url) => ({ GEMINI_API_KEY: "dummy", GOOGLE_GEMINI_BASE_URL: url }),
  },
  copilot: {
    package: "@github/copilot",
    command: () => [join(kModules, `@github/copilot-linux-${kArchitecture}/copilot`)],
    prepare({ home, http }) {
      const server = http
        ? { type: "http", url: http.url, headers: bearer(http) }
        : { type: "local", command: program, args: ["mcp"] };
      const lock = { ...server, tools: ["*"] };
      write(join(home, ".copilot/mcp-config.json"), { mcpServers: { lock } });
    },
    words: (prompt) => ["-p", prompt, "--allow-tool", "lock"],
    env: (url) => ({
      COPILOT_PROVIDER_BASE_URL: url,
      COPILOT_PROVIDER_TYPE: "anthropic",
      COPILOT_PROVIDER_API_KEY: "dummy",
      COPILOT_MODEL: "claude-sonnet-4",
    }),
  },
  opencode: {
    package: `opencode-linux-${kArchitecture}`,
    command: () => [join(kModules, `opencode-linux-${kArchitecture}/bin/opencode`)],
    prepare({ home, url, http }) {
      const server = http
        ? { type: "remote", url: http.url, headers: bearer(http) }
        : { type: "local", command: [program, "mcp"] };
      write(join(home, ".config/opencode/opencode.json"), {
        provider: { anthropic: { options: { baseURL: `${url}/v1`, apiKey: "dummy" } } },
        model: "anthropic/claude-sonnet-4-5",
        mcp: { lock: { ...server, enabled: true } },
        autoupdate: false,
      });
    },
    words: (prompt) => ["run", "--print-logs", prompt],
    env: () => ({ OPENCODE_DISABLE_AUTOUPDATE: "1" }),
  },
};

const clientOf = { ann: clients[first], bob: clients[second] };
const manifestOf = (client) => join(kModules, client.package, "package.json");
for (const client of Object.values(clientOf)) {
  if (existsSync(manifestOf(client))) continue;
  skip(`${client.package} is not in "${kFolder}"; ` +
    "LOCKKEEPER_MCP_CLIENTS=1 ./dev test --long installs it");
}

// Runs it to its end as `agent`; what it printed.
function run(scene, model, agent, http) {
  const home = join(scene.folder, agent);
  mkdirSync(home);
  const { url } = model;
  const client = clientOf[agent];
  client.prepare({ home, url, repo: scene.repo, http });
  const [command, ...words] = client.command();
  const prompt = `SCRIPT=${agent}`;
  const child = scene.start(command, [...words, ...client.words(prompt, home, scene.repo)], {
    env: { HOME: home, PATH: "/usr/bin:/bin", TERM: "dumb", ...client.env(url, http) },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let out = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (text) => (out += text));
  return new Promise((done) => child.once("close", (status) => done({ status, out })));
}

const promised = () => {
  let keep;
  const promise = new Promise((done) => (keep = done));
  return { promise, keep };
};

// What its model saw of each tool's result, as text, in order. A step whose tool must be looked for
// is asked for again; only the first time is about the call before it.
function seenBy(model, agent) {
  const own = model.seen.filter((each) => each.script === agent);
  return own
    .filter(({ turn }, index) => turn > 0 && own.findIndex((each) => each.turn === turn) === index)
    .map(({ news }) => JSON.stringify(news));
}

// Both at once; `name` says who asks where the server cannot know it.
async function meet(scene, { http, name = () => ({}) } = {}) {
  const held = promised();
  const met = promised();
  const waits = promised();
  const [ann, bob] = [name("ann"), name("bob")];
  const acquire = (more) => calls(call("lock_acquire", { resources: ["a.c"], ...more }));
  const shown = waits.promise.then(() => console.log(scene.shown("list")));
  const model = await startModel({
    ann: [
      acquire({ reason: "parser rewrite", ...ann }),
      (seen) => (held.keep(seen), after(met.promise, calls(call("lock_status", ann)))),
      after(shown, calls(call("lock_release", { resources: ["a.c"], ...ann }))),
    ],
    bob: [
      after(held.promise, acquire(bob)),
      (seen) => (met.keep(seen), setTimeout(waits.keep, 1_000), acquire({ wait_s: 45, ...bob })),
      calls(call("lock_release", bob)),
    ],
  });
  scene.atEnd(() => model.close());
  const ended = await Promise.all(["ann", "bob"].map((each) => run(scene, model, each, http)));
  for (const agent of ["ann", "bob"]) {
    for (const seen of seenBy(model, agent)) console.log(`          ${agent}'s model saw: ${seen}`);
  }
  console.log(scene.shown("log"));
  assert.deepEqual(model.failures, []);
  for (const { status, out } of ended) assert.equal(status, 0, out);
  return model;
}

function checkWhatTheySaw(scene, model) {
  const [granted, listed, released] = seenBy(model, "ann");
  assert.match(granted, /Locked a\.c/);
  assert.match(listed, /a\.c/);
  assert.match(released, /Released a\.c/);
  const [refused, waited, given] = seenBy(model, "bob");
  // The whole message, whichever half the client shows: who, why, what next.
  assert.match(refused, / holds a\.c/);
  assert.match(refused, /parser rewrite/);
  assert.match(refused, /Next: /);
  assert.match(waited, /Locked a\.c/);
  assert.match(given, /Released a\.c/);
  const granting = scene.log().filter((each) => each.event === "granted");
  const owners = new Set(granting.map((each) => `${each.agent}/${each.session}`));
  assert.equal(owners.size, 2, "two sessions, two owners");
}

check("two agents meet over one file, stdio", async (scene) => {
  checkWhatTheySaw(scene, await meet(scene));
});

check("two agents meet over one file, HTTP", async (scene) => {
  const http = await scene.serveHttp();
  checkWhatTheySaw(scene, await meet(scene, { http, name: (agent) => ({ agent }) }));
});

const titleOf = (client) =>
  `${client.package} ${JSON.parse(readFileSync(manifestOf(client), "utf8")).version}`;
await runChecks([...new Set(Object.values(clientOf).map(titleOf))].join(", "));
