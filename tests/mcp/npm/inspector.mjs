// The official inspector against the shipped program: inspector.mjs stdio|http
import { spawn } from "node:child_process";
import { join } from "node:path";
import { assert, check, npmFolder, program, runChecks, versionOf } from "./support.mjs";

const [transport] = process.argv.slice(2);
const kEras = ["legacy", "auto", "modern"];
const kInspector = join(npmFolder, "node_modules/.bin/mcp-inspector");

// One run of it; what it printed as JSON.
async function inspect(scene, era, ...words) {
  let target;
  if (transport === "stdio") {
    target = [program, "mcp", "--cwd", scene.repo];
  } else {
    scene.server ??= await scene.serveHttp();
    const authorization = `Authorization: Bearer ${scene.server.token}`;
    target = [scene.server.url, "--transport", "http", "--header", authorization];
  }
  const given = ["--cli", ...target, "--protocol-era", era, "--format", "json", "-q", ...words];
  const child = spawn(process.execPath, [kInspector, ...given], {
    cwd: scene.folder,
    env: { ...scene.env("ann"), MCP_CATALOG_PATH: join(scene.folder, "catalogue.json") },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let out = "";
  let err = "";
  child.stdout.on("data", (text) => (out += text));
  child.stderr.on("data", (text) => (err += text));
  const status = await new Promise((done) => child.once("close", done));
  return { status, out, err, json: () => JSON.parse(out) };
}

async function expectFine(scene, era, ...words) {
  const done = await inspect(scene, era, ...words);
  assert.equal(done.status, 0, `${words.join(" ")}: ${done.out}${done.err}`);
  return done.json();
}

for (const era of kEras) {
  check(`${era}: tools/list --strict`, async (scene) => {
    const { result } = await expectFine(scene, era, "--method", "tools/list", "--strict");
    assert.ok(result.tools.some((each) => each.name === "lock_acquire"));
  });
  check(`${era}: resources, templates, prompts`, async (scene) => {
    const resources = await expectFine(scene, era, "--method", "resources/list");
    assert.equal(resources.result.resources.length, 3);
    const templates = await expectFine(scene, era, "--method", "resources/templates/list");
    assert.equal(templates.result.resourceTemplates.length, 1);
    const leases = await expectFine(
      scene, era, "--method", "resources/read", "--uri", "lock://leases");
    assert.deepEqual(JSON.parse(leases.result.contents[0].text), { leases: [] });
    const prompts = await expectFine(scene, era, "--method", "prompts/list");
    assert.equal(prompts.result.prompts.length, 2);
    const plan = await expectFine(
      scene, era, "--method", "prompts/get", "--prompt-name", "plan_my_edits",
      "--prompt-args", "task=tidy");
    assert.match(plan.result.messages[0].content.text, /tidy/);
  });
  check(`${era}: calls`, async (scene) => {
    const call = (name, given) =>
      inspect(scene, era, "--method", "tools/call", "--tool-name", name,
        "--tool-args-json", JSON.stringify({ agent: "ann", ...given }));
    scene.cli("bob", "acquire", "b.c");
    const taken = await call("lock_acquire", { resources: ["a.c"] });
    assert.equal(taken.status, 0, taken.err);
    assert.equal(taken.json().result.structuredContent.outcome, "granted");
    const held = await call("lock_acquire", { resources: ["b.c"] });
    assert.equal(held.status, 0, held.err);
    assert.equal(held.json().result.structuredContent.outcome, "held");
    const wrong = await call("lock_acquire", { resources: [] });
    assert.equal(wrong.status, 5, "an error of the tool");
  });
  check(`${era}: --load, 2,000 calls, 16 at once`, async (scene) => {
    const report = await expectFine(
      scene, era, "--method", "tools/call", "--tool-name", "lock_status", "--load",
      "--load-requests", "2000", "--load-concurrency", "16");
    const { requests, ok, errors, toolErrors, throughput, latencyMs } = report.result ?? report;
    assert.deepEqual({ requests, ok, errors, toolErrors },
      { requests: 2000, ok: 2000, errors: 0, toolErrors: 0 });
    console.log(`          ${Math.round(throughput)} calls/s, p50 ${latencyMs.p50} ms, ` +
      `p99 ${latencyMs.p99} ms`);
  });
}

await runChecks(`inspector ${versionOf("@modelcontextprotocol/inspector")}, ${transport}`);
